import type { CancelReason, Reason } from '../../wire/status.ts';

const titles = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

type ProblemStatus = keyof typeof titles;

export const commonResponseHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** Error that is sent to the client as the response. Its message is shown to users. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: ProblemStatus;
  readonly reason: Reason | CancelReason | undefined;
  readonly headers: Record<string, string>;

  constructor(
    status: ProblemStatus,
    detail: string,
    { reason, headers = {} }: { reason?: Reason | CancelReason; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

export function createJsonResponse(
  status: number,
  body: object,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...commonResponseHeaders, 'Content-Type': 'application/json', ...headers },
  });
}

/** Creates a response of type application/problem+json (RFC 9457). */
export function createProblemResponse({ status, message, reason, headers }: ProblemError): Response {
  const problem = {
    type: 'about:blank',
    title: titles[status],
    status,
    detail: message,
    ...(reason ? { reason } : {}),
  };
  return createJsonResponse(status, problem, { ...headers, 'Content-Type': 'application/problem+json' });
}

/** Creates a 503 error that asks the client to try again after 5 seconds. */
export const createRetryLaterError = (detail: string): ProblemError =>
  new ProblemError(503, detail, { headers: { 'Retry-After': '5' } });
