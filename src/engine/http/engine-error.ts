/**
 * Reason for a failed request.
 * `refused`: the engine rejected the request; `not-found` and `conflict`: it did so with status 404 or 409;
 * `refused-by-proxy`: a proxy in front of the engine rejected the request;
 * `unsupported`: the engine and this program have no API version in common;
 * `unreachable`: there was no response, or it was interrupted; `not-an-engine`: another server responded;
 * `late`: the response was not complete before the timeout; `too-big`: it is longer than the limit.
 */
export type EngineErrorCode =
  | 'refused'
  | 'not-found'
  | 'conflict'
  | 'refused-by-proxy'
  | 'unsupported'
  | 'unreachable'
  | 'not-an-engine'
  | 'late'
  | 'too-big';

export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;
  /** HTTP status of an error response; null for other errors. */
  readonly status: number | null;

  constructor(
    code: EngineErrorCode,
    message: string,
    { status = null, cause }: { status?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.status = status;
  }
}

/** Codes for responses with an error status. With any other code, the response is missing or invalid. */
export const rejectionCodes = ['refused', 'not-found', 'conflict', 'refused-by-proxy'] as const;

/** Returns the error or its cause, whichever is an EngineError; null if neither is. */
export function findEngineError(error: unknown): EngineError | null {
  const { cause } = Object(error) as { cause?: unknown };
  return [error, cause].find((each) => each instanceof EngineError) ?? null;
}

/** Creates a handler that returns null for errors with these codes, and rethrows all others. */
export const tolerateErrors =
  (...codes: readonly EngineErrorCode[]) =>
  (error: unknown): null => {
    const { code } = findEngineError(error) ?? {};
    if (code !== undefined && codes.includes(code)) return null;
    throw error;
  };

/** Error statuses that come from a proxy if the response has no body. */
const statusesOfDenial = [401, 403, 405, 407];
const codesOfStatus: Readonly<Record<number, EngineErrorCode>> = { 404: 'not-found', 409: 'conflict' };

/** @param call method and path of the request, such as `GET /version` */
export function createResponseError(call: string, answer: { status: number; body: Buffer }): EngineError {
  const { status } = answer;
  const said = errorMessageOf(answer);
  const isForeign =
    findEngineMessage(answer.body) === null && (answer.body.length > 0 || statusesOfDenial.includes(status));
  const place = call.replaceAll(/[0-9a-f]{64}/g, (id) => id.slice(0, 12));
  const failure = answer.body.length > 0 ? said : `${place} failed with ${said}`;
  if (!isForeign) return new EngineError(codesOfStatus[status] ?? 'refused', failure, { status });
  const words = said
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const shown = words.includes(String(status)) ? words : `${status} ${words}`.trim();
  const message = `a proxy in front of the engine blocks ${place} (${shown})`;
  return new EngineError('refused-by-proxy', message, { status });
}

/** Checks whether a response is from a proxy whose backend does not respond. */
export const isBackendMissing = ({ status, body }: { status: number; body: Buffer }): boolean =>
  [502, 503, 504].includes(status) && findEngineMessage(body) === null;

/** Returns the engine's message, or the first line of a body that is not from the engine. */
export const errorMessageOf = ({ status, body }: { status: number; body: Buffer }): string =>
  findEngineMessage(body) ?? (body.toString().trim().split('\n')[0]?.slice(0, 300) || `status ${status}`);

/** Returns the message in the engine's JSON; null if the body is not from the engine. */
function findEngineMessage(body: Buffer): string | null {
  try {
    const { message } = JSON.parse(body.toString());
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
