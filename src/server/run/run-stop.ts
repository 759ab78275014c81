import type { Why } from './run-record.ts';

/** A run ends before its updater was started. The instance is unchanged. */
export class RunStop extends Error {
  override readonly name = 'RunStop';
  readonly outcome: 'refused' | 'failed' | 'cancelled';
  readonly why: Why;

  constructor(outcome: RunStop['outcome'], message: string, why: Why & { error?: unknown } = {}) {
    const { error, ...told } = why;
    super(message, { cause: error });
    this.outcome = outcome;
    this.why = told;
  }
}

/** Converts an error that was thrown before the updater was started. */
export function stopOf(error: unknown): RunStop {
  if (error instanceof RunStop) return error;
  return new RunStop('failed', 'the updater could not be started; nothing was changed', {
    code: 'launch-failed',
    advice: "Check the server's log, then run the update again.",
    error,
  });
}
