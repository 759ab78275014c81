import type {
  CancelCode,
  EndState,
  JobKind,
  PhaseWord,
  ReasonCode,
  RunState,
  UpToDateCode,
} from './codes.ts';

/** Work of the platform that an update would meet. */
export interface JobInTheWay {
  kind: JobKind;
  state: 'queued' | 'running';
  /** What people call it. */
  title: string | null;
  /** ISO 8601. */
  since: string | null;
  /** The platform says that it will not end by itself. */
  stuck: boolean;
}

/** Why an update may not start now. */
export interface Reason {
  code: ReasonCode;
  /** One sentence for people. */
  message: string;
  /** ISO 8601, where it is known. */
  since?: string | undefined;
  /** Every job that is in the way. */
  jobs?: JobInTheWay[] | undefined;
}

/** Why a run cannot be cancelled now. */
export interface CancelReason {
  code: CancelCode;
  /** One sentence for people. */
  message: string;
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

/** A state that a run was in. */
export interface RunStep {
  state: RunState;
  /** ISO 8601. */
  startedAt: string;
  /** Null while it lasts. */
  endedAt: string | null;
  /** The state's last sentence. */
  message: string;
}

/** A server elsewhere that builds for the platform. */
export interface BuildServer {
  name: string;
  version: string;
  /** It is older than what runs. */
  behind: boolean;
  /** What updates it, typed there. */
  command: string;
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
  /** Of a bad end: what went wrong, the last error before it. */
  cause: string | null;
  /** Of a bad end: why, as a word of a closed list of the updater's (`pull-unknown`). */
  code: string | null;
  /** Of a bad end: what a person does next. */
  advice: string | null;
  /** What the updater warned of. */
  warnings: string[];
  /** The states that it was in so far. */
  steps: RunStep[];
  /** What `waiting` waits for. */
  jobs: JobInTheWay[];
  /** When `waiting` gives up. */
  until: string | null;
  /** Who has asked that it stop. */
  cancelAskedBy: string | null;
  /** Seconds without an app, where the server that came back could tell. */
  away: number | null;
  /** The command that shows its log on the machine; null while there is no updater. */
  log: string | null;
  /** Who started it; null where it was started by hand. */
  by: string | null;
}

/** A run by itself, outside of a status. */
export interface ToldRun extends Run {
  /** The server's clock, from which ages are reckoned. */
  now: string;
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
  /** What the platform does before an update, in its words. */
  preparation: string | null;
  buildServers: BuildServer[];
  /** The commands that update this instance by hand. */
  manual: string[];
  run: Run | null;
  /** The server's clock, from which ages are reckoned. */
  now: string;
  /** Those after `version` up to `next` with their notes, newest first; only where they were asked for. */
  releases?: PublishedRelease[] | undefined;
}
