/**
 * `refused`: the engine answered, and not with what was asked for; `away`: nothing answers, or the answer was interrupted;
 * `late`: no answer, or no more of it, in time; `too-big`: more of an answer than any question has.
 */
type FaultKind = 'refused' | 'away' | 'late' | 'too-big';

/** The engine refused, or does not answer. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault';
  readonly kind: FaultKind;
  /** HTTP status of a refusal; null if there was no answer, or no whole one. */
  readonly status: number | null;
  /** What answered is no engine: a proxy before it, or another server in its place. */
  readonly isForeign: boolean;

  constructor(
    kind: FaultKind,
    message: string,
    {
      status = null,
      isForeign = false,
      cause,
    }: { status?: number | null; isForeign?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.kind = kind;
    this.status = status;
    this.isForeign = isForeign;
  }
}

/** A proxy may give these without a body. */
const statusesOfDenial = [401, 403, 405, 407];

/** An answer that is a refusal, as a fault: the engine's, or of what stands before it. @param call `GET /version` */
export function refusalFault(call: string, answer: { status: number; body: Buffer }): EngineFault {
  const { status } = answer;
  const said = refusal(answer);
  const isForeign =
    wordsOf(answer.body) === null && (answer.body.length > 0 || statusesOfDenial.includes(status));
  const place = call.replaceAll(/[0-9a-f]{64}/g, (id) => id.slice(0, 12));
  const failure = answer.body.length > 0 ? said : `${place} failed with ${said}`;
  if (!isForeign) return new EngineFault('refused', failure, { status });
  const words = said
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const shown = words.includes(String(status)) ? words : `${status} ${words}`.trim();
  const message = `a proxy in front of the engine blocks ${place} (${shown})`;
  return new EngineFault('refused', message, { status, isForeign });
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
