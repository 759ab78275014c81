import type { CancelReason, Reason, Rehearsal } from '../../wire/status.ts';
import type { RunRecord } from '../run/run-record.ts';

/** What is known from the log of a rehearsal. */
export interface RehearsalLog {
  record: Pick<RunRecord, 'run'>;
  readySeconds: number | null;
}

/** A rehearsal that was not started, or whose updater crashed, is inconclusive. */
export function describeRehearsal({ record, readySeconds }: RehearsalLog): Rehearsal {
  const { to, outcome, code, startedAt, endedAt, by, advice, log, ...last } = record.run;
  const isSuccess = outcome === 'unchanged' && readySeconds !== null;
  const result = code === 'rehearsal-failed' ? 'failed' : isSuccess ? 'succeeded' : 'inconclusive';
  const ended = outcome === 'cancelled' ? outcome : result;
  const state = outcome === null ? 'running' : ended;
  const message = last.cause ?? last.message;
  return { version: to ?? '', state, startedAt, endedAt, by, message, advice, readySeconds, log };
}

export const createRehearsalRunningReason = (version: string): Reason => ({
  code: 'rehearsal-running',
  message: `a rehearsal of ${version} is already running`,
});

export const noRehearsalReason: CancelReason = { code: 'not-running', message: 'no rehearsal is running' };
