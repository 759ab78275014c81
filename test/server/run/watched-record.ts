import { RunRecord } from '../../../src/server/run/run-record.ts';

/** Counts the callers that wait for a change. */
export class WatchedRecord extends RunRecord {
  waiting = 0;
  override async waitForChange(changes: number, signal: AbortSignal): Promise<void> {
    this.waiting++;
    await super.waitForChange(changes, signal);
    this.waiting--;
  }
}
