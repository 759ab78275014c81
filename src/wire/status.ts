import * as codes from './codes.ts';
import {
  either,
  flag,
  listField,
  needed,
  nullable,
  number,
  optional,
  or,
  percent,
  shape,
  type TypeOf,
  text,
  time,
  word,
} from './fields.ts';

// Schemas of the responses of all endpoints. Types, the readers of the client and the web page, new runs and OpenAPI
// are derived from this file. It exports only schemas, and OpenAPI lists all of them.

const channels = ['stable', 'canary'] as const;
const sentence = () => text('Message for people');
const clock = () => time("The server's current time, for calculating ages");

export interface BlockingJob extends TypeOf<typeof jobShape> {}
export const jobShape = shape('Job', 'A job of the host application', {
  kind: or(word(codes.jobKinds), () => 'job' as const),
  state: or(word(codes.jobStates), () => 'running' as const),
  title: nullable(text(), 'Display name'),
  since: nullable(time()),
  stuck: flag('The job will not finish on its own'),
});

export interface Reason extends TypeOf<typeof reasonShape> {}
export const reasonShape = shape('Reason', 'Why an update cannot start now', {
  code: word(codes.reasonCodes),
  message: or(sentence(), ({ code }) => String(code)),
  since: optional(time(), 'Since when, if known'),
  jobs: optional(listField(jobShape), 'All jobs that are blocking the update'),
  refusal: optional(
    text(),
    'With `rollback-refused`: the refusal code of the updater, such as `modified-since`',
  ),
  advice: optional(text(), 'Recommended next step, if any'),
});

export interface CancelReason extends TypeOf<typeof cancelReasonShape> {}
export const cancelReasonShape = shape('CancelReason', 'Why a run cannot be cancelled now', {
  code: word(codes.cancelCodes),
  message: sentence(),
});

export interface PublishedRelease extends TypeOf<typeof releaseShape> {}
export const releaseShape = shape('Release', null, {
  version: needed(text('Tag of the release: vX.Y.Z or vX.Y.Z-canary.N')),
  url: nullable(text()),
  notes: nullable(text(), 'Release notes in Markdown, only in `releases`. Sanitize them before rendering.'),
  publishedAt: nullable(time()),
});

export interface OfferedSetting extends TypeOf<typeof settingShape> {}
export const settingShape = shape('OfferedSetting', 'A setting that is new in a release', {
  name: needed(text('The name of the variable')),
  description: text(),
  required: flag('Whether the update needs a value'),
  secret: flag('Whether the value must never be shown'),
  default: nullable(text(), 'The value if none is given'),
  generated: flag('Whether the updater generates a value if none is given'),
  isSet: flag('Whether the app already has a value'),
});

export interface NextRelease extends TypeOf<typeof nextShape> {}
export const nextShape = shape(
  'Next',
  'The release that an update installs now: `latest` or a required intermediate release',
  {
    version: needed(text()),
    major: flag('Whether the major version differs from the running version'),
    downloaded: nullable(flag(), 'Whether its images are downloaded. Null if unknown'),
    estimatedSeconds: nullable(number({ minimum: 0 }), 'Estimated duration of the update in seconds'),
    upgradePath: listField(
      text(),
      'All steps up to `latest`, as far as known from the feed. The first is `version`.',
    ),
    settings: listField(settingShape, 'The new settings of the release, if its content is verified'),
  },
);

export interface Prefetch extends TypeOf<typeof prefetchShape> {}
export const prefetchShape = shape(
  'Prefetch',
  'Progress of downloading the images of `next` before an update',
  {
    state: or(word(codes.prefetchStates), () => 'waiting' as const),
    percent: nullable(percent()),
  },
);

export interface Skipped extends TypeOf<typeof skippedShape> {}
export const skippedShape = shape('Skipped', 'The newest release if an admin has skipped it', {
  version: needed(text()),
  since: nullable(time()),
});

export interface BlockedBy extends TypeOf<typeof blockedByShape> {}
export const blockedByShape = shape('BlockedBy', 'Why the available release is not installed automatically', {
  code: word(codes.blockedByCodes),
  message: or(sentence(), ({ code }) => String(code)),
  since: optional(time(), 'With `paused`: when the last update failed. With `stale`: `staleSince`'),
});

export interface Automatic extends TypeOf<typeof automaticShape> {}
export const automaticShape = shape('Automatic', 'Settings and state of automatic updates', {
  enabled: flag(),
  from: text('Start of the time window in `timeZone`: `02:00`'),
  to: text('End of the time window'),
  timeZone: text('IANA time zone: `Europe/Berlin`'),
  days: listField(word(codes.dayWords), 'Days on which a window starts; an empty list means every day'),
  minAgeHours: number({ minimum: 0, description: 'Minimum age of a release in hours' }),
  includeMajors: flag('Whether major versions are also installed automatically'),
  nextAt: nullable(time(), 'When the next automatic update can start'),
  blockedBy: nullable(
    blockedByShape,
    'Null if no release is available or it will be installed automatically',
  ),
});

export interface PendingStep extends TypeOf<typeof pendingStepShape> {}
export const pendingStepShape = shape('PendingStep', 'The next step of an upgrade path, before it starts', {
  to: needed(text('The release that the next step installs')),
  reason: nullable(text(), 'Why the host application is not ready yet, in its own words'),
  since: time('UTC, ISO 8601: when the previous step finished'),
  until: time('UTC, ISO 8601: when the upgrade path is abandoned'),
});

export interface UpToDate extends TypeOf<typeof upToDateShape> {}
export const upToDateShape = shape('UpToDate', 'Why no update is available', {
  code: word(codes.upToDateCodes),
  message: or(sentence(), ({ code }) => `No update is available: ${code}.`),
});

export interface FeedProblem extends TypeOf<typeof feedErrorShape> {}
export const feedErrorShape = shape(
  'FeedError',
  'Why the last check for releases failed. The releases read before remain available.',
  {
    message: needed(text()),
    nextCheckAt: time('UTC, ISO 8601: time of the next check'),
    staleSince: optional(time(), "When the publisher's channel file expired"),
  },
);

export interface Recalled extends TypeOf<typeof recalledShape> {}
export const recalledShape = shape('Recalled', 'The recall of the running version by its publisher', {
  version: needed(text()),
  why: text('The reason, for people'),
  url: nullable(text(), 'Page with more information'),
});

export interface Urgent extends TypeOf<typeof urgentShape> {}
export const urgentShape = shape('Urgent', 'A security update that the running version needs', {
  below: needed(text('All older versions need the update')),
  why: text('The reason, for people'),
});

export interface BuildServer extends TypeOf<typeof buildServerShape> {}
export const buildServerShape = shape('BuildServer', 'A build server that must be updated separately', {
  name: needed(text()),
  version: needed(text()),
  outdated: flag('Whether it is older than the running version'),
  command: text('Command that updates it, run on that server'),
});

export interface RestorePoint extends TypeOf<typeof pointShape> {}
export const pointShape = shape('RestorePoint', 'Data saved by a run. A rollback restores it.', {
  at: needed(time('UTC, ISO 8601: the time of the data')),
  version: needed(text('The version that was running then')),
  bytes: nullable(number({ minimum: 0 }), 'Size of the saved data in bytes'),
  downtimeSeconds: nullable(
    number({ minimum: 0 }),
    'Downtime of the product and its data services in seconds',
  ),
});

export interface RolledBack extends TypeOf<typeof rolledBackShape> {}
export const rolledBackShape = shape('RolledBack', 'The result of an automatic rollback', {
  version: needed(text()),
  at: needed(time('UTC, ISO 8601: the time of the restored data')),
});

/** Effects of a rollback. */
export interface RollbackOffer extends TypeOf<typeof rollbackOfferShape> {}
export const rollbackOfferShape = shape(
  'RollbackOffer',
  'The effects of a rollback to the last restore point',
  {
    from: nullable(text(), 'The running version'),
    to: needed(text('The version that the rollback restores')),
    at: needed(time('UTC, ISO 8601: the time of the data that the rollback restores')),
    since: optional(time(), 'Changes after this time are lost. Absent if it equals `at`.'),
    downtimeSeconds: nullable(number({ minimum: 0 }), 'Expected downtime in seconds'),
  },
);

export interface RunStep extends TypeOf<typeof stepShape> {}
export const stepShape = shape('Step', 'A state of a run', {
  state: word(codes.runStates),
  startedAt: needed(time()),
  endedAt: nullable(time(), 'Null during the step'),
  message: text('The last message of this step'),
});

export interface Run extends TypeOf<typeof runShape> {}
export const runShape = shape('Run', 'The current run or the last one', {
  id: needed(text()),
  kind: or(word(codes.runKinds), () => 'update' as const),
  state: word(codes.runStates),
  phase: nullable(word(codes.phaseWords), 'The last phase of the updater'),
  percent: nullable(percent(), 'Progress of the phase, if known'),
  from: nullable(text(), 'The version before the run, if known'),
  to: nullable(text(), 'The target version, if known'),
  startedAt: time(),
  endedAt: nullable(time()),
  outcome: nullable(word(codes.endStates)),
  message: text("State of the instance, usually from the last line of the updater's log"),
  cause: nullable(text(), 'The last error before a run failed'),
  code: nullable(text(), 'Error code of a run that did not succeed, such as pull-unknown'),
  advice: nullable(text(), 'Recommended next step if a run did not succeed'),
  requiredRelease: nullable(
    text(),
    'The release that must be installed first, if a run was refused for this reason',
  ),
  warnings: listField(text(), 'Warnings of the updater'),
  steps: listField(stepShape, 'All states so far'),
  jobs: listField(jobShape, 'The running jobs that `waiting` waits for'),
  until: nullable(time(), 'When `waiting` times out'),
  cancelRequestedBy: nullable(text(), 'Who requested the cancellation'),
  downtimeSeconds: nullable(number({ minimum: 0 }), 'Downtime of the app in seconds, if known'),
  log: nullable(text(), 'Command that shows the log on the host'),
  by: nullable(
    text(),
    'Who started the run. Null if it was started manually on the host, `automatic` for automatic updates',
  ),
  upgradePath: listField(
    text(),
    'All steps of the upgrade path that includes this run. Empty for a single update',
  ),
  restorePoint: nullable(pointShape, 'The restore point that the run saved before it replaced containers'),
  rolledBack: nullable(rolledBackShape, 'If the new version failed: the restored version and data'),
});

export interface ToldRun extends TypeOf<typeof toldRunShape> {}
export const toldRunShape = shape('ToldRun', 'A run with the current time of the server', {
  ...runShape.fields,
  now: clock(),
});

export const savingShape = shape('Saving', 'Set if each update saves a restore point first', {
  downtimeSeconds: nullable(number({ minimum: 0 }), 'Downtime in seconds that the last restore point caused'),
});

/** Running version, newer releases, and whether an update can start. */
export interface Status extends TypeOf<typeof statusShape> {}
export const statusShape = shape('Status', null, {
  version: needed(text('The running version')),
  channel: word(channels),
  latest: nullable(releaseShape, 'The newest release on the channel, if known'),
  next: nullable(nextShape),
  prefetch: nullable(prefetchShape, 'Null if nothing is downloaded before an update'),
  skipped: nullable(skippedShape, 'Null as soon as a newer release is published'),
  automatic: nullable(automaticShape),
  pendingStep: nullable(pendingStepShape, 'Null if no upgrade path is waiting for its next step'),
  upToDate: nullable(upToDateShape, 'Null if `next` is set'),
  updateAvailable: flag('Whether `next` is set and not skipped'),
  canUpdate: flag('Whether an update can start now'),
  reason: nullable(reasonShape, 'Why no update can start. Null if it can'),
  checkedAt: nullable(time(), 'When the releases were last read'),
  feedError: nullable(feedErrorShape),
  recalled: nullable(recalledShape, 'Null if the running version is not recalled'),
  urgent: nullable(urgentShape, 'Null if the running version needs no security update'),
  preparation: nullable(text(), 'What the host application does before an update'),
  restorePoint: nullable(savingShape, 'Null if updates save no restore point'),
  buildServers: listField(buildServerShape),
  manual: listField(text(), 'Commands for updating this instance manually'),
  run: nullable(runShape),
  now: clock(),
  releases: optional(
    listField(releaseShape),
    'With `notes=1`: the releases after `version` up to `next`, newest first, with their notes',
  ),
});

/** Status for users who are not admins. */
export interface UserStatus extends TypeOf<typeof versionShape> {}
export const versionShape = shape('Version', null, {
  version: needed(text()),
  // Required: other programs also report a version, but only svc reports whether it is being updated.
  updating: needed(flag('Whether an update is in progress')),
});

/** An error response, RFC 9457. */
export interface Problem extends TypeOf<typeof problemShape> {}
export const problemShape = shape('Problem', null, {
  type: or(word(['about:blank']), () => undefined),
  title: or(text(), () => undefined),
  status: number({ type: 'integer' }),
  detail: or(optional(text()), ({ title, status }) => String(title ?? `status ${status}`)),
  reason: optional(either(reasonShape, cancelReasonShape), 'With 409'),
});
