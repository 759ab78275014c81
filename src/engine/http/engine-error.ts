/**
 * Reason for a failed request. `refused`: the engine rejects the request; `not-found` and `conflict` are its statuses
 * 404 and 409; `refused-by-proxy`: a proxy in front of the engine rejects the request; `unsupported`: the engine
 * supports no API version of this program; `unreachable`: there was no response, or it was interrupted;
 * `not-an-engine`: another server responded; `late`: the response, or the rest of it, did not arrive in time;
 * `too-big`: the response is longer than expected.
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
  /** HTTP status; null if there was no response or an incomplete response. */
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

/** Error codes for a response with an error status, as opposed to a missing or invalid response. */
export const rejectionCodes = ['refused', 'not-found', 'conflict', 'refused-by-proxy'] as const;

/** Returns the error itself or its cause, whichever is an EngineError; null if neither is. */
export function findEngineError(error: unknown): EngineError | null {
  const { cause } = Object(error) as { cause?: unknown };
  return [error, cause].find((each) => each instanceof EngineError) ?? null;
}

/** Creates an error handler that returns null for errors with these codes and rethrows other errors. */
export const tolerateErrors =
  (...codes: readonly EngineErrorCode[]) =>
  (error: unknown): null => {
    const { code } = findEngineError(error) ?? {};
    if (code !== undefined && codes.includes(code)) return null;
    throw error;
  };

/** Error statuses of a response without a body that show that a proxy has responded. */
const statusesOfDenial = [401, 403, 405, 407];
const codesOfStatus: Readonly<Record<number, EngineErrorCode>> = { 404: 'not-found', 409: 'conflict' };

/** Converts an error response to an EngineError. @param call method and path of the request, such as `GET /version` */
export function createResponseError(call: string, answer: { status: number; body: Buffer }): EngineError {
  const { status } = answer;
  const said = errorMessageOf(answer);
  const isForeign =
    wordsOf(answer.body) === null && (answer.body.length > 0 || statusesOfDenial.includes(status));
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
  [502, 503, 504].includes(status) && wordsOf(body) === null;

/**
 * Returns the engine's message in an error response. If the body is not from the engine, returns the first line of the
 * body.
 */
export const errorMessageOf = ({ status, body }: { status: number; body: Buffer }): string =>
  wordsOf(body) ?? (body.toString().trim().split('\n')[0]?.slice(0, 300) || `status ${status}`);

/** Returns the message in the engine's JSON; null if the body is not from the engine. */
function wordsOf(body: Buffer): string | null {
  try {
    const { message } = JSON.parse(body.toString());
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
