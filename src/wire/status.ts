import * as codes from './codes.ts';
import {
  booleanField,
  eitherField,
  fieldWithDefault,
  keywordField,
  listField,
  nullableField,
  numberField,
  objectSchema,
  optionalField,
  percentField,
  requiredField,
  type TypeOf,
  textField,
  timeField,
} from './fields.ts';

// Schemas of the responses of all endpoints. The types, the readers of the client and the web page, new runs, and
// OpenAPI are derived from this file. It exports only schemas and their types, and OpenAPI lists all schemas.

const channels = ['stable', 'canary'] as const;
const sentence = () => textField('Message for people');
const clock = () => timeField("The server's current time, for calculating ages");

export interface BlockingJob extends TypeOf<typeof jobSchema> {}
export const jobSchema = objectSchema('Job', 'A job of the host application', {
  kind: fieldWithDefault(keywordField(codes.jobKinds), () => 'job' as const),
  state: fieldWithDefault(keywordField(codes.jobStates), () => 'running' as const),
  title: nullableField(textField(), 'Display name'),
  since: nullableField(timeField()),
  stuck: booleanField('The job will not finish on its own'),
});

export interface Reason extends TypeOf<typeof reasonSchema> {}
export const reasonSchema = objectSchema('Reason', 'Why an update cannot start now', {
  code: keywordField(codes.reasonCodes),
  message: fieldWithDefault(sentence(), ({ code }) => String(code)),
  since: optionalField(timeField(), 'Since when, if known'),
  jobs: optionalField(listField(jobSchema), 'All jobs that are blocking the update'),
  refusal: optionalField(
    textField(),
    'With `rollback-refused`: the refusal code of the updater, such as `modified-since`',
  ),
  advice: optionalField(textField(), 'Recommended next step, if any'),
});

export interface CancelReason extends TypeOf<typeof cancelReasonSchema> {}
export const cancelReasonSchema = objectSchema('CancelReason', 'Why a run cannot be cancelled now', {
  code: keywordField(codes.cancelCodes),
  message: sentence(),
});

export interface PublishedRelease extends TypeOf<typeof publishedReleaseSchema> {}
export const publishedReleaseSchema = objectSchema('Release', null, {
  version: requiredField(textField('Tag of the release: vX.Y.Z or vX.Y.Z-canary.N')),
  url: nullableField(textField()),
  notes: nullableField(
    textField(),
    'Release notes in Markdown, only in `releases`. Sanitize them before rendering.',
  ),
  publishedAt: nullableField(timeField()),
});

export interface OfferedSetting extends TypeOf<typeof offeredSettingSchema> {}
export const offeredSettingSchema = objectSchema('OfferedSetting', 'A setting that is new in a release', {
  name: requiredField(textField('The name of the variable')),
  description: textField(),
  required: booleanField('Whether the update needs a value'),
  secret: booleanField('Whether the value must never be shown'),
  default: nullableField(textField(), 'The value if none is given'),
  generated: booleanField('Whether the updater generates a value if none is given'),
  isSet: booleanField('Whether the app already has a value'),
});

export interface NextRelease extends TypeOf<typeof nextReleaseSchema> {}
export const nextReleaseSchema = objectSchema(
  'Next',
  'The release that an update installs now: `latest` or a required intermediate release',
  {
    version: requiredField(textField()),
    major: booleanField('Whether the major version differs from the running version'),
    downloaded: nullableField(booleanField(), 'Whether its images are downloaded. Null if unknown'),
    estimatedSeconds: nullableField(
      numberField({ minimum: 0 }),
      'Estimated duration of the update in seconds',
    ),
    upgradePath: listField(
      textField(),
      'All steps up to `latest`, as far as known from the feed. The first is `version`.',
    ),
    settings: listField(offeredSettingSchema, 'The new settings of the release, if its content is verified'),
  },
);

export interface Prefetch extends TypeOf<typeof prefetchSchema> {}
export const prefetchSchema = objectSchema(
  'Prefetch',
  'Progress of downloading the images of `next` before an update',
  {
    state: fieldWithDefault(keywordField(codes.prefetchStates), () => 'waiting' as const),
    percent: nullableField(percentField()),
  },
);

export interface Skipped extends TypeOf<typeof skippedReleaseSchema> {}
export const skippedReleaseSchema = objectSchema('Skipped', 'The newest release if an admin has skipped it', {
  version: requiredField(textField()),
  since: nullableField(timeField()),
});

export interface BlockedBy extends TypeOf<typeof blockedBySchema> {}
export const blockedBySchema = objectSchema(
  'BlockedBy',
  'Why the available release is not installed automatically',
  {
    code: keywordField(codes.blockedByCodes),
    message: fieldWithDefault(sentence(), ({ code }) => String(code)),
    since: optionalField(
      timeField(),
      'With `paused`: when the last update failed. With `stale`: `staleSince`',
    ),
  },
);

export interface Automatic extends TypeOf<typeof automaticUpdatesSchema> {}
export const automaticUpdatesSchema = objectSchema('Automatic', 'Settings and state of automatic updates', {
  enabled: booleanField(),
  from: textField('Start of the time window in `timeZone`: `02:00`'),
  to: textField('End of the time window'),
  timeZone: textField('IANA time zone: `Europe/Berlin`'),
  days: listField(
    keywordField(codes.dayNames),
    'Days on which a window starts; an empty list means every day',
  ),
  minAgeHours: numberField({ minimum: 0, description: 'Minimum age of a release in hours' }),
  includeMajors: booleanField('Whether major versions are also installed automatically'),
  nextAt: nullableField(timeField(), 'When the next automatic update can start'),
  blockedBy: nullableField(
    blockedBySchema,
    'Null if no release is available or it will be installed automatically',
  ),
});

export interface PendingStep extends TypeOf<typeof pendingStepSchema> {}
export const pendingStepSchema = objectSchema(
  'PendingStep',
  'The next step of an upgrade path, before it starts',
  {
    to: requiredField(textField('The release that the next step installs')),
    reason: nullableField(textField(), 'Why the host application is not ready yet, in its own words'),
    since: timeField('UTC, ISO 8601: when the previous step finished'),
    until: timeField('UTC, ISO 8601: when the upgrade path is abandoned'),
  },
);

export interface UpToDate extends TypeOf<typeof upToDateSchema> {}
export const upToDateSchema = objectSchema('UpToDate', 'Why no update is available', {
  code: keywordField(codes.upToDateCodes),
  message: fieldWithDefault(sentence(), ({ code }) => `No update is available: ${code}.`),
});

export interface FeedProblem extends TypeOf<typeof feedProblemSchema> {}
export const feedProblemSchema = objectSchema(
  'FeedError',
  'Why the last check for releases failed. The releases read before remain available.',
  {
    message: requiredField(textField()),
    nextCheckAt: timeField('UTC, ISO 8601: time of the next check'),
    staleSince: optionalField(timeField(), "When the publisher's channel file expired"),
  },
);

export interface Recalled extends TypeOf<typeof recalledSchema> {}
export const recalledSchema = objectSchema('Recalled', 'The recall of the running version by its publisher', {
  version: requiredField(textField()),
  why: textField('The reason, for people'),
  url: nullableField(textField(), 'Page with more information'),
});

export interface Urgent extends TypeOf<typeof urgentSchema> {}
export const urgentSchema = objectSchema('Urgent', 'A security update that the running version needs', {
  below: requiredField(textField('All older versions need the update')),
  why: textField('The reason, for people'),
});

export interface BuildServer extends TypeOf<typeof buildServerSchema> {}
export const buildServerSchema = objectSchema(
  'BuildServer',
  'A build server that must be updated separately',
  {
    name: requiredField(textField()),
    version: requiredField(textField()),
    outdated: booleanField('Whether it is older than the running version'),
    command: textField('Command that updates it, run on that server'),
  },
);

export interface RestorePoint extends TypeOf<typeof restorePointSchema> {}
export const restorePointSchema = objectSchema(
  'RestorePoint',
  'Data saved by a run. A rollback restores it.',
  {
    at: requiredField(timeField('UTC, ISO 8601: the time of the data')),
    version: requiredField(textField('The version that was running then')),
    bytes: nullableField(numberField({ minimum: 0 }), 'Size of the saved data in bytes'),
    downtimeSeconds: nullableField(
      numberField({ minimum: 0 }),
      'Downtime of the product and its data services in seconds',
    ),
  },
);

export interface RolledBack extends TypeOf<typeof rolledBackSchema> {}
export const rolledBackSchema = objectSchema('RolledBack', 'The result of an automatic rollback', {
  version: requiredField(textField()),
  at: requiredField(timeField('UTC, ISO 8601: the time of the restored data')),
});

/** Effects of a rollback. */
export interface RollbackOffer extends TypeOf<typeof rollbackOfferSchema> {}
export const rollbackOfferSchema = objectSchema(
  'RollbackOffer',
  'The effects of a rollback to the last restore point',
  {
    from: nullableField(textField(), 'The running version'),
    to: requiredField(textField('The version that the rollback restores')),
    at: requiredField(timeField('UTC, ISO 8601: the time of the data that the rollback restores')),
    since: optionalField(timeField(), 'Changes after this time are lost. Absent if it equals `at`.'),
    downtimeSeconds: nullableField(numberField({ minimum: 0 }), 'Expected downtime in seconds'),
  },
);

export interface RunStep extends TypeOf<typeof runStepSchema> {}
export const runStepSchema = objectSchema('Step', 'A state of a run', {
  state: keywordField(codes.runStates),
  startedAt: requiredField(timeField()),
  endedAt: nullableField(timeField(), 'Null during the step'),
  message: textField('The last message of this step'),
});

export interface Run extends TypeOf<typeof runSchema> {}
export const runSchema = objectSchema('Run', 'The current run or the last one', {
  id: requiredField(textField()),
  kind: fieldWithDefault(keywordField(codes.runKinds), () => 'update' as const),
  state: keywordField(codes.runStates),
  phase: nullableField(keywordField(codes.phaseNames), 'The last phase of the updater'),
  percent: nullableField(percentField(), 'Progress of the phase, if known'),
  from: nullableField(textField(), 'The version before the run, if known'),
  to: nullableField(textField(), 'The target version, if known'),
  startedAt: timeField(),
  endedAt: nullableField(timeField()),
  outcome: nullableField(keywordField(codes.endStates)),
  message: textField("State of the instance, usually from the last line of the updater's log"),
  cause: nullableField(textField(), 'The last error before a run failed'),
  code: nullableField(textField(), 'Error code of a run that did not succeed, such as pull-unknown'),
  advice: nullableField(textField(), 'Recommended next step if a run did not succeed'),
  requiredRelease: nullableField(
    textField(),
    'The release that must be installed first, if a run was refused for this reason',
  ),
  warnings: listField(textField(), 'Warnings of the updater'),
  steps: listField(runStepSchema, 'All states so far'),
  jobs: listField(jobSchema, 'The running jobs that `waiting` waits for'),
  until: nullableField(timeField(), 'When `waiting` times out'),
  cancelRequestedBy: nullableField(textField(), 'Who requested the cancellation'),
  downtimeSeconds: nullableField(numberField({ minimum: 0 }), 'Downtime of the app in seconds, if known'),
  log: nullableField(textField(), 'Command that shows the log on the host'),
  by: nullableField(
    textField(),
    'Who started the run. Null if it was started manually on the host, `automatic` for automatic updates',
  ),
  upgradePath: listField(
    textField(),
    'All steps of the upgrade path that includes this run. Empty for a single update',
  ),
  restorePoint: nullableField(
    restorePointSchema,
    'The restore point that the run saved before it replaced containers',
  ),
  rolledBack: nullableField(rolledBackSchema, 'If the new version failed: the restored version and data'),
});

export interface ToldRun extends TypeOf<typeof toldRunSchema> {}
export const toldRunSchema = objectSchema('ToldRun', 'A run with the current time of the server', {
  ...runSchema.fields,
  now: clock(),
});

export const savingSchema = objectSchema('Saving', 'Set if each update saves a restore point first', {
  downtimeSeconds: nullableField(
    numberField({ minimum: 0 }),
    'Downtime in seconds that the last restore point caused',
  ),
});

/** Running version, newer releases, and whether an update can start. */
export interface Status extends TypeOf<typeof statusSchema> {}
export const statusSchema = objectSchema('Status', null, {
  version: requiredField(textField('The running version')),
  channel: keywordField(channels),
  latest: nullableField(publishedReleaseSchema, 'The newest release on the channel, if known'),
  next: nullableField(nextReleaseSchema),
  prefetch: nullableField(prefetchSchema, 'Null if nothing is downloaded before an update'),
  skipped: nullableField(skippedReleaseSchema, 'Null as soon as a newer release is published'),
  automatic: nullableField(automaticUpdatesSchema),
  pendingStep: nullableField(pendingStepSchema, 'Null if no upgrade path is waiting for its next step'),
  upToDate: nullableField(upToDateSchema, 'Null if `next` is set'),
  updateAvailable: booleanField('Whether `next` is set and not skipped'),
  canUpdate: booleanField('Whether an update can start now'),
  reason: nullableField(reasonSchema, 'Why no update can start. Null if it can'),
  checkedAt: nullableField(timeField(), 'When the releases were last read'),
  feedError: nullableField(feedProblemSchema),
  recalled: nullableField(recalledSchema, 'Null if the running version is not recalled'),
  urgent: nullableField(urgentSchema, 'Null if the running version needs no security update'),
  preparation: nullableField(textField(), 'What the host application does before an update'),
  restorePoint: nullableField(savingSchema, 'Null if updates save no restore point'),
  buildServers: listField(buildServerSchema),
  manual: listField(textField(), 'Commands for updating this instance manually'),
  run: nullableField(runSchema),
  now: clock(),
  releases: optionalField(
    listField(publishedReleaseSchema),
    'With `notes=1`: the releases after `version` up to `next`, newest first, with their notes',
  ),
});

/** Status for users who are not admins. */
export interface UserStatus extends TypeOf<typeof userStatusSchema> {}
export const userStatusSchema = objectSchema('Version', null, {
  version: requiredField(textField()),
  // This field is required to recognize the server: other programs also report a version, but not whether they are
  // being updated.
  updating: requiredField(booleanField('Whether an update is in progress')),
});

/** Error response of an endpoint, RFC 9457. */
export interface Problem extends TypeOf<typeof problemSchema> {}
export const problemSchema = objectSchema('Problem', null, {
  type: fieldWithDefault(keywordField(['about:blank']), () => undefined),
  title: fieldWithDefault(textField(), () => undefined),
  status: numberField({ type: 'integer' }),
  detail: fieldWithDefault(optionalField(textField()), ({ title, status }) =>
    String(title ?? `status ${status}`),
  ),
  reason: optionalField(eitherField(reasonSchema, cancelReasonSchema), 'With 409'),
});
