/** Reasons why an update cannot start now, in the order in which they are checked. */
export const blockingReasonCodes = [
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
  /** The release is not signed by a trusted publisher. */
  'unproven',
  /** The publisher has recalled the release. */
  'recalled',
  /** The release needs values for new settings. */
  'settings-missing',
  'no-restore-point',
  /** The updater has refused the rollback. */
  'rollback-refused',
  /** Another rehearsal is running. Only for requests to start a rehearsal. */
  'rehearsal-running',
] as const;
export type ReasonCode = (typeof blockingReasonCodes)[number];

/** Reasons why a run cannot be cancelled now. */
export const cancelRejectionCodes = ['not-running', 'too-late'] as const;
export type CancelCode = (typeof cancelRejectionCodes)[number];

/** Kinds of jobs that block an update. */
export const jobKinds = ['deployment', 'backup', 'cron', 'cleanup', 'job'] as const;
export type JobKind = (typeof jobKinds)[number];
export const jobStates = ['queued', 'running'] as const;

export const prefetchStates = ['waiting', 'downloading', 'downloaded'] as const;

/** States of a rehearsal. `inconclusive`: it had no result, so it says nothing about the new version. */
export const rehearsalStates = ['running', 'succeeded', 'failed', 'inconclusive', 'cancelled'] as const;
export type RehearsalState = (typeof rehearsalStates)[number];

/** Value of the field `by` for runs that were started automatically. */
export const automaticCaller = 'automatic';

export const clockTimePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** In ISO 8601 order. */
export const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type DayName = (typeof dayNames)[number];

/** Reasons why an available release is not installed automatically, in the order in which they are checked. */
export const automaticUpdateBlockingCodes = [
  /** The last update was broken or crashed, and no update has succeeded since. */
  'paused',
  /** The publisher's channel file has expired. */
  'stale',
  /** An earlier update to this release failed. */
  'failed',
  /** An admin rolled back from this release. */
  'rolled-back',
  'skipped',
  'major',
  'settings-missing',
  /** The publication date is unknown. */
  'age-unknown',
  /**
   * The release has not been rolled out to this instance. It is available only because an admin checked for updates.
   */
  'rolling-out',
  /** The release did not become ready on a copy of the data. */
  'rehearsal-failed',
  /** The last rehearsal was cancelled, or it had no result and updates save no restore point. */
  'rehearsal-inconclusive',
] as const;
export type AutomaticUpdateBlockingCode = (typeof automaticUpdateBlockingCodes)[number];

export const runKinds = ['update', 'rollback'] as const;
export type RunKind = (typeof runKinds)[number];

/** Outcomes of a run. */
export const runOutcomes = [
  'updated',
  'unchanged',
  'refused',
  'failed',
  'broken',
  'cancelled',
  'crashed',
] as const;
export type EndState = (typeof runOutcomes)[number];

/** Whether an outcome means that the target version is running and nothing remains to be done. */
export const isSuccessfulOutcome = (outcome: string | null): boolean =>
  outcome === 'updated' || outcome === 'unchanged';

/** Phases in the updater's log. */
export const phaseNames = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify'] as const;
export type PhaseName = (typeof phaseNames)[number];

/** States of a run before the updater is started. */
export const launchStates = ['waiting', 'preparing', 'launching'] as const;

/** States of a run, in order. A run can return only to `waiting`, and only if new jobs have started. */
export const runStates = [...launchStates, ...phaseNames, ...runOutcomes] as const;
export type RunState = (typeof runStates)[number];

/** Reasons why no update is available. */
export const upToDateCodes = [
  /** The newest release on the channel is running. */
  'newest',
  /** The running version is newer than the newest release on the channel. */
  'ahead',
  /** The releases have not been read yet. */
  'unread',
  /** The release feed is disabled. */
  'off',
  /** The channel has no releases. */
  'none',
  /** The image tag that the instance uses does not point to the new release yet. */
  'tag-lags',
  /** The running version is not a release. */
  'unknown-version',
  /** No upgrade path to a required intermediate release is known. */
  'upgrade-step',
  /** The newest release has not been rolled out to this instance yet. */
  'rolling-out',
] as const;
export type UpToDateCode = (typeof upToDateCodes)[number];

/** Ignores inherited properties, because a newer server may send any code, even `constructor`. */
export const lookUpByCode = <T>(table: Readonly<Record<string, T>>, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined;
