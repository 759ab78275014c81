import type { EndState, PhaseWord, ReasonCode, RunState, UpToDateCode } from './codes.ts';

/** Why an update may not start now. */
export interface Reason {
  code: ReasonCode;
  /** One sentence for people. */
  message: string;
  /** ISO 8601, where it is known. */
  since?: string | undefined;
}

/** A release as it crosses HTTP. */
export interface PublishedRelease {
  /** The tag: `vX.Y.Z` or `vX.Y.Z-canary.N`. */
  version: string;
  url: string | null;
  /** Markdown of the publisher: not to be trusted as HTML. */
  notes: string | null;
  /** ISO 8601. */
  publishedAt: string | null;
}

/** What an update goes to now. */
export interface NextRelease {
  version: string;
  /** The first number is another than that of what runs. */
  major: boolean;
}

/** Why nothing is offered. */
export interface UpToDate {
  code: UpToDateCode;
  /** One sentence for people. */
  message: string;
}

/** Why the last look at the releases failed. */
export interface FeedProblem {
  message: string;
  /** ISO 8601. */
  nextCheckAt: string;
}

/** The current update, or the last one. Times are ISO 8601 in UTC. */
export interface Run {
  id: string;
  state: RunState;
  /** The last phase that the updater was in. */
  phase: PhaseWord | null;
  /** 0 to 100, of the phase, where it is known. */
  percent: number | null;
  from: string | null;
  to: string | null;
  startedAt: string;
  endedAt: string | null;
  outcome: EndState | null;
  /** How the instance stands: of the last line of the updater's log, or what stands in its place. */
  message: string;
  /** Of a bad end: why, as a word of a closed list of the updater's (`pull-unknown`). */
  code: string | null;
  /** Of a bad end: what a person does next. */
  advice: string | null;
}

/** What runs, what is newer, and whether an update may start. */
export interface Status {
  version: string;
  channel: 'stable' | 'canary';
  latest: PublishedRelease | null;
  /** `latest`, or the stepping release that has to come before it. */
  next: NextRelease | null;
  /** Null where there is a `next`. */
  upToDate: UpToDate | null;
  updateAvailable: boolean;
  canUpdate: boolean;
  reason: Reason | null;
  /** When the releases were last read. */
  checkedAt: string | null;
  /** Null where the last look at them succeeded. */
  feedError: FeedProblem | null;
  run: Run | null;
}
