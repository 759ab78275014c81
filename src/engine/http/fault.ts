/**
 * `refused`: the engine answered, and not with what was asked for; `away`: nobody answers, or the answer breaks off;
 * `late`: no answer, or no more of it, in time; `too-big`: more of an answer than any question has.
 */
export type FaultKind = 'refused' | 'away' | 'late' | 'too-big';

/** The engine refused, or does not answer. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault';
  readonly kind: FaultKind;
  /** HTTP status of a refusal; null where there was no answer, or no whole one. */
  readonly status: number | null;

  constructor(
    kind: FaultKind,
    message: string,
    { status = null, cause }: { status?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.kind = kind;
    this.status = status;
  }
}

/** The engine's own words for why it refuses. */
export function refusal({ status, body }: { status: number; body: Buffer }): string {
  const text = body.toString().trim();
  try {
    const { message } = JSON.parse(text);
    if (typeof message === 'string') return message;
  } catch {
    // The body is not the engine's JSON; it may be a proxy's page.
  }
  return text.split('\n')[0]?.slice(0, 300) || `status ${status}`;
}
