import type { PartialRunResult } from './run-record.ts';

/** Ends a run before its updater is started. The instance is unchanged. */
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
