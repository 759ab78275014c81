import type { PartialRunResult } from './run-record.ts';

/** Thrown to end a run whose updater was not started. The instance is unchanged. */
export class UpdaterNotStartedError extends Error {
  override readonly name = 'UpdaterNotStartedError';
  readonly result: PartialRunResult;

  constructor(
    outcome: 'refused' | 'failed' | 'cancelled',
    message: string,
    { error, ...more }: Partial<PartialRunResult> & { error?: unknown } = {},
  ) {
    super(message, { cause: error });
    this.result = { ...more, outcome, message };
  }
}
