import type { RowOfRun } from '../../wire/phase-rows.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { JobInTheWay, PublishedRelease, Reason, Run, Status } from '../../wire/status.ts';

/** What a dialog shows: one of these, and nothing else. Lengths of time are milliseconds. */
export type DialogView =
  | { kind: 'asking' }
  | { kind: 'users-only'; version: string }
  | { kind: 'logged-out'; isOn: boolean }
  /** A page has answered for a while that is none of svc's. */
  | { kind: 'other-page'; isOn: boolean }
  /** svc is replaced, as it should be. `log`: once it takes long. */
  | { kind: 'restarting'; run: Run; absent: number; log: string | null }
  /** There is no reason for it to be away. */
  | { kind: 'no-answer'; absent: number; isOn: boolean }
  | { kind: 'starting'; to: string | null }
  | { kind: 'not-started'; problem: Problem | null }
  | { kind: 'run-unknown'; run: Run; version: string | null }
  | RunView
  | EndView
  | { kind: 'nothing'; status: Status; checked: number | null; nextCheck: number | null }
  | { kind: 'not-possible'; status: Status; reason: Reason }
  | { kind: 'other-update'; reason: Reason; since: number | null }
  | { kind: 'jobs'; status: Status; to: string; jobs: JobAge[]; isStuck: boolean }
  /** A newer server has a reason that this page does not know. */
  | { kind: 'other-reason'; reason: Reason }
  | OfferView;

/** An open run. `waiting` to `updating` can be cancelled, `late` cannot any more, nor can what a newer server calls otherwise. */
export interface RunView {
  kind: 'waiting' | 'preparing' | 'updating' | 'cancelling' | 'late' | 'other-state';
  run: Run;
  rows: RowOfRun[];
  /** Since its begin. */
  elapsed: number | null;
  /** What `waiting` waits for. */
  jobs: JobAge[];
  cancelProblem: Problem | null;
}

export interface EndView {
  kind: 'updated' | 'unchanged' | 'failed' | 'cancelled' | 'broken' | 'other-end';
  run: Run;
  rows: RowOfRun[];
  /** What answers now. */
  version: string | null;
  /** `updated`: what runs is another version than was gone to, and no later run is the cause. */
  lags: boolean;
  /** It may be tried again: the version to go to. */
  again: string | null;
  behind: Status['buildServers'];
}

export interface OfferView {
  kind: 'available';
  status: Status;
  to: string;
  /** The release that it comes before, where it is a stepping release. */
  before: string | null;
  major: boolean;
  /** Its own page. */
  url: string | null;
  published: number | null;
  publishedAt: string | null;
  releases: readonly PublishedRelease[];
  /** Seconds that svc was away the last time. */
  lastAway: number | null;
}

export interface JobAge extends JobInTheWay {
  age: number | null;
}
