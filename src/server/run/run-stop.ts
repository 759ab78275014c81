import type { KnownResult } from './run-record.ts';

/** Ends a run before its updater is started. The instance is unchanged. */
export class RunStop extends Error {
  override readonly name = 'RunStop';
  readonly result: KnownResult;

  constructor(
    outcome: 'refused' | 'failed' | 'cancelled',
    message: string,
    { error, ...more }: Partial<KnownResult> & { error?: unknown } = {},
  ) {
    super(message, { cause: error });
    this.result = { ...more, outcome, message };
  }
}
