export type EngineErrorCode =
  /** The engine rejected the request with a status other than 404 and 409. */
  | 'refused'
  | 'not-found'
  | 'conflict'
  /** A proxy in front of the engine rejected the request. */
  | 'refused-by-proxy'
  /** The engine and this program have no API version in common. */
  | 'unsupported'
  /** There was no response, or the response was interrupted. */
  | 'unreachable'
  /** A server that is not an engine responded. */
  | 'not-an-engine'
  /** The response was not complete before the timeout. */
  | 'late'
  /** The response is longer than the limit. */
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

/** Codes for responses with an error status. All other codes mean that the response is missing or invalid. */
export const rejectionCodes = ['refused', 'not-found', 'conflict', 'refused-by-proxy'] as const;

/** Returns the error itself or its cause, whichever is an EngineError; null if neither is. */
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

/** Statuses with which proxies deny requests. If the body is empty, the response is not the engine's. */
const statusesOfDenial = [401, 403, 405, 407];
const codesOfStatus: Readonly<Record<number, EngineErrorCode>> = { 404: 'not-found', 409: 'conflict' };

/** @param call - method and path of the request, such as `GET /version` */
export function createResponseError(call: string, response: { status: number; body: Buffer }): EngineError {
  const { status } = response;
  const given = errorMessageOf(response);
  const isForeign =
    findEngineMessage(response.body) === null &&
    (response.body.length > 0 || statusesOfDenial.includes(status));
  const location = call.replaceAll(/[0-9a-f]{64}/g, (id) => id.slice(0, 12));
  const failure = response.body.length > 0 ? given : `${location} failed with ${given}`;
  if (!isForeign) return new EngineError(codesOfStatus[status] ?? 'refused', failure, { status });
  const words = given
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const shown = words.includes(String(status)) ? words : `${status} ${words}`.trim();
  const message = `a proxy in front of the engine blocks ${location} (${shown})`;
  return new EngineError('refused-by-proxy', message, { status });
}

/** Checks whether a response is from a proxy whose backend does not respond. */
export const isProxyBackendUnreachable = ({ status, body }: { status: number; body: Buffer }): boolean =>
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
