import { RunRecord } from '../../../src/server/run/run-record.ts';

/** Counts the callers that wait for a change. */
export class WatchedRecord extends RunRecord {
  waiting = 0;
  override async changeAfter(changes: number, signal: AbortSignal): Promise<void> {
    this.waiting++;
    await super.changeAfter(changes, signal);
    this.waiting--;
  }
}
