/** Why an update may not start now, in the order in which the reasons are looked for. */
export const reasonCodes = [
  'not-compose',
  'swarm',
  'no-engine',
  'no-directory',
  'store-unavailable',
  'update-running',
  'unrelated-container',
  'deployment-queued',
  'deployment-running',
  'backup-running',
  'cron-running',
  'cleanup-running',
  'job-running',
  'up-to-date',
  /** Nothing proves by whom it was published. */
  'unproven',
  /** Only of a rollback: there is no restore point, or the updater refuses. */
  'no-restore-point',
  'rollback-refused',
] as const;
export type ReasonCode = (typeof reasonCodes)[number];

/** Why a run cannot be cancelled now. */
export const cancelCodes = ['not-running', 'too-late'] as const;
export type CancelCode = (typeof cancelCodes)[number];

/** Work of a platform that an update must not meet. */
export const jobKinds = ['deployment', 'backup', 'cron', 'cleanup', 'job'] as const;
export type JobKind = (typeof jobKinds)[number];
export const jobStates = ['queued', 'running'] as const;

/** How far it is that images are fetched ahead of an update. */
export const prefetchStates = ['waiting', 'downloading', 'downloaded'] as const;

/** Who has started what starts by itself. */
export const byItself = 'automatic';

/** A time of a wall clock: `02:00`. */
export const clockForm = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** The days of a week, in the order of ISO 8601. */
export const dayWords = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type DayWord = (typeof dayWords)[number];

/** Why what is offered does not start by itself, in the order in which it is looked for. */
export const blockedByCodes = [
  /** An update has ended badly, and no person has brought one to a good end since. */
  'paused',
  /** A run to it has failed. */
  'failed',
  'skipped',
  'major',
  /** Nobody knows how old it is. */
  'age-unknown',
] as const;
export type BlockedByCode = (typeof blockedByCodes)[number];

/** A run installs a release, or rolls back to a restore point. */
export const runKinds = ['update', 'rollback'] as const;
export type RunKind = (typeof runKinds)[number];

/** How a run ends, in words. */
export const endStates = [
  'updated',
  'unchanged',
  'refused',
  'failed',
  'broken',
  'cancelled',
  'crashed',
] as const;
export type EndState = (typeof endStates)[number];

/** The release runs, and nothing is left to be done. */
export const isGoodEnd = (outcome: EndState | null): boolean =>
  outcome === 'updated' || outcome === 'unchanged';

/** The words of the updater's log for what it is doing. */
export const phaseWords = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify'] as const;
export type PhaseWord = (typeof phaseWords)[number];

/** What a run is in before there is an updater. */
export const launchStates = ['waiting', 'preparing', 'launching'] as const;

/** The states of a run, in order: it moves forward only, but for work that it meets, which it waits for again. */
export const runStates = [...launchStates, ...phaseWords, ...endStates] as const;
export type RunState = (typeof runStates)[number];

/** Why nothing is offered. */
export const upToDateCodes = [
  /** The newest release of the channel runs. */
  'newest',
  /** What runs is ahead of the channel. */
  'ahead',
  /** The releases have not been read yet. */
  'unread',
  /** Nobody asks for releases. */
  'off',
  /** Nothing is published on the channel. */
  'none',
  /** The tag that the instance follows has not moved to it yet. */
  'tag-lags',
  /** What runs is no release. */
  'unknown-version',
  /** Another release has to come first, and is not known. */
  'upgrade-step',
] as const;
export type UpToDateCode = (typeof upToDateCodes)[number];
