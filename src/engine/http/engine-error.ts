/**
 * `refused`: the engine rejects the request; `not-found` and `conflict` are its statuses 404 and 409;
 * `refused-by-proxy`: a proxy in front of the engine rejects the request; `unsupported`: the engine supports no API version
 * of this program; `unreachable`: there is no response, or it was interrupted; `not-an-engine`: another server responds;
 * `late`: no response, or no more of it, in time; `too-big`: the response is longer than any that is expected.
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

/** A request to the engine failed. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;
  /** HTTP status; null if there was no response, or no complete one. */
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

/** The codes of a response that is a refusal. */
export const rejections = ['refused', 'not-found', 'conflict', 'refused-by-proxy'] as const;

/** The engine's error, or the one that caused this error; null if there is none. */
export function engineErrorIn(error: unknown): EngineError | null {
  const { cause } = Object(error) as { cause?: unknown };
  return [error, cause].find((each) => each instanceof EngineError) ?? null;
}

/** A handler for the named failures of a request, which the caller tolerates. Other errors are thrown again. */
export const unless =
  (...codes: readonly EngineErrorCode[]) =>
  (error: unknown): null => {
    const { code } = engineErrorIn(error) ?? {};
    if (code !== undefined && codes.includes(code)) return null;
    throw error;
  };

/** A proxy may give these without a body. */
const statusesOfDenial = [401, 403, 405, 407];
const codesOfStatus: Readonly<Record<number, EngineErrorCode>> = { 404: 'not-found', 409: 'conflict' };

/** A response that is a refusal, as an error. @param call `GET /version` */
export function refusalError(call: string, answer: { status: number; body: Buffer }): EngineError {
  const { status } = answer;
  const said = refusal(answer);
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

/** The status of a proxy whose backend does not answer. */
export const isAbsence = ({ status, body }: { status: number; body: Buffer }): boolean =>
  [502, 503, 504].includes(status) && wordsOf(body) === null;

/** The engine's own words for why it refuses; those of a proxy where the body is not the engine's. */
export const refusal = ({ status, body }: { status: number; body: Buffer }): string =>
  wordsOf(body) ?? (body.toString().trim().split('\n')[0]?.slice(0, 300) || `status ${status}`);

/** What the engine says in its JSON; null if the body is not its own. */
function wordsOf(body: Buffer): string | null {
  try {
    const { message } = JSON.parse(body.toString());
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
