import * as codes from './codes.ts';
import {
  createBooleanField,
  createFieldWithDefault,
  createKeywordField,
  createListField,
  createNullableAmountField,
  createNullableField,
  createNullableTextField,
  createNumberField,
  createOptionalField,
  createPercentField,
  createRequiredField,
  createTextField,
  createTimeField,
  createUnionField,
  defineSchema,
  type TypeOf,
} from './response-fields.ts';

// Schemas of all responses. The response types, the parsers, the initial state of a run and the OpenAPI document are
// derived from the schemas. Export only schemas and types, because the OpenAPI document lists every exported value.

const channels = ['stable', 'canary'] as const;
const sentence = () => createTextField('Message for people');
const clock = () => createTimeField("The server's current time, for calculating ages");

export interface BlockingJob extends TypeOf<typeof blockingJobSchema> {}
export const blockingJobSchema = defineSchema('Job', 'A job of the application', {
  kind: createFieldWithDefault(createKeywordField(codes.jobKinds), () => 'job' as const),
  state: createFieldWithDefault(createKeywordField(codes.jobStates), () => 'running' as const),
  title: createNullableTextField('Display name'),
  since: createNullableField(createTimeField()),
  stuck: createBooleanField('The job will not finish on its own'),
});

export interface Reason extends TypeOf<typeof blockingReasonSchema> {}
export const blockingReasonSchema = defineSchema('Reason', 'Why an update cannot start now', {
  code: createKeywordField(codes.blockingReasonCodes),
  message: createFieldWithDefault(sentence(), ({ code }) => String(code)),
  since: createOptionalField(createTimeField(), 'Since when, if known'),
  jobs: createOptionalField(createListField(blockingJobSchema), 'All jobs that are blocking the update'),
  refusal: createOptionalField(
    createTextField(),
    'With `rollback-refused`: the refusal code of the updater, such as `modified-since`',
  ),
  advice: createOptionalField(createTextField(), 'Recommended next step, if any'),
});

export interface CancelReason extends TypeOf<typeof cancelRejectionReasonSchema> {}
export const cancelRejectionReasonSchema = defineSchema('CancelReason', 'Why a run cannot be cancelled now', {
  code: createKeywordField(codes.cancelRejectionCodes),
  message: sentence(),
});

export interface PublishedRelease extends TypeOf<typeof publishedReleaseSchema> {}
export const publishedReleaseSchema = defineSchema('Release', null, {
  version: createRequiredField(createTextField('Tag of the release: vX.Y.Z or vX.Y.Z-canary.N')),
  url: createNullableTextField(),
  notes: createNullableTextField(
    'Release notes in Markdown, only in `releases`. Sanitize them before rendering.',
  ),
  publishedAt: createNullableField(createTimeField()),
});

export interface AddedReleaseSetting extends TypeOf<typeof addedReleaseSettingSchema> {}
export const addedReleaseSettingSchema = defineSchema(
  'OfferedSetting',
  'A setting that is new in a release',
  {
    name: createRequiredField(createTextField('The name of the variable')),
    description: createTextField(),
    required: createBooleanField('Whether the update needs a value'),
    secret: createBooleanField('Whether the value must never be shown'),
    default: createNullableTextField('The value if none is given'),
    generated: createBooleanField('Whether the updater generates a value if none is given'),
    isSet: createBooleanField('Whether the app already has a value'),
  },
);

export interface NextRelease extends TypeOf<typeof nextReleaseSchema> {}
export const nextReleaseSchema = defineSchema(
  'Next',
  'The release that an update installs now: `latest` or a required intermediate release',
  {
    version: createRequiredField(createTextField()),
    major: createBooleanField('Whether the major version differs from the running version'),
    downloaded: createNullableField(
      createBooleanField(),
      'Whether its images are downloaded. Null if unknown',
    ),
    estimatedSeconds: createNullableAmountField('Estimated duration of the update in seconds'),
    upgradePath: createListField(
      createTextField(),
      'All steps up to `latest`, as far as known from the feed. The first is `version`.',
    ),
    settings: createListField(
      addedReleaseSettingSchema,
      'The new settings of the release, if its content is verified',
    ),
  },
);

export interface Prefetch extends TypeOf<typeof prefetchSchema> {}
export const prefetchSchema = defineSchema(
  'Prefetch',
  'Progress of downloading the images of `next` before an update',
  {
    state: createFieldWithDefault(createKeywordField(codes.prefetchStates), () => 'waiting' as const),
    percent: createNullableField(createPercentField()),
  },
);

export interface Rehearsal extends TypeOf<typeof rehearsalSchema> {}
export const rehearsalSchema = defineSchema('Rehearsal', 'A trial of an update on a copy of the data', {
  version: createRequiredField(createTextField('The rehearsed version')),
  state: createFieldWithDefault(createKeywordField(codes.rehearsalStates), () => 'running' as const),
  startedAt: createTimeField(),
  endedAt: createNullableField(createTimeField(), 'Null while the rehearsal is running'),
  by: createNullableTextField('Who started it; `automatic` for automatic updates'),
  message: createTextField('Progress; after the end, the result or the error'),
  advice: createNullableTextField('Recommended next step if the rehearsal did not succeed'),
  readySeconds: createNullableAmountField('Seconds until it was ready'),
  log: createNullableTextField('Command that shows the log on the host'),
});

export interface Skipped extends TypeOf<typeof skippedReleaseSchema> {}
export const skippedReleaseSchema = defineSchema('Skipped', 'The newest release if an admin has skipped it', {
  version: createRequiredField(createTextField()),
  since: createNullableField(createTimeField()),
});

export interface BlockedBy extends TypeOf<typeof automaticBlockingReasonSchema> {}
export const automaticBlockingReasonSchema = defineSchema(
  'BlockedBy',
  'Why the available release is not installed automatically',
  {
    code: createKeywordField(codes.automaticUpdateBlockingCodes),
    message: createFieldWithDefault(sentence(), ({ code }) => String(code)),
    since: createOptionalField(
      createTimeField(),
      'With `paused`: when the last update failed. With `stale`: `staleSince`',
    ),
  },
);

export interface Automatic extends TypeOf<typeof automaticUpdatesSchema> {}
export const automaticUpdatesSchema = defineSchema('Automatic', 'Settings and state of automatic updates', {
  enabled: createBooleanField(),
  from: createTextField('Start of the time window in `timeZone`: `02:00`'),
  to: createTextField('End of the time window'),
  timeZone: createTextField('IANA time zone: `Europe/Berlin`'),
  days: createListField(
    createKeywordField(codes.dayNames),
    'Days on which a window starts; an empty list means every day',
  ),
  minAgeHours: createNumberField({ minimum: 0, description: 'Minimum age of a release in hours' }),
  includeMajors: createBooleanField('Whether major versions are also installed automatically'),
  rehearse: createBooleanField('Whether each release is rehearsed before its update'),
  nextAt: createNullableField(createTimeField(), 'When the next automatic update can start'),
  blockedBy: createNullableField(
    automaticBlockingReasonSchema,
    'Null if no release is available or it will be installed automatically',
  ),
});

export interface PendingStep extends TypeOf<typeof pendingUpgradeStepSchema> {}
export const pendingUpgradeStepSchema = defineSchema(
  'PendingStep',
  'The next step of an upgrade path, before it starts',
  {
    to: createRequiredField(createTextField('The release that the next step installs')),
    reason: createNullableTextField('Why the application is not ready yet, in its own words'),
    since: createTimeField('UTC, ISO 8601: when the previous step finished'),
    until: createTimeField('UTC, ISO 8601: when the upgrade path is abandoned'),
  },
);

export interface UpToDate extends TypeOf<typeof upToDateReasonSchema> {}
export const upToDateReasonSchema = defineSchema('UpToDate', 'Why no update is available', {
  code: createKeywordField(codes.upToDateCodes),
  message: createFieldWithDefault(sentence(), ({ code }) => `No update is available: ${code}.`),
});

export interface FeedProblem extends TypeOf<typeof feedProblemSchema> {}
export const feedProblemSchema = defineSchema(
  'FeedError',
  'Why the last check for releases failed. The releases from the last successful check remain available.',
  {
    message: createRequiredField(createTextField()),
    nextCheckAt: createTimeField('UTC, ISO 8601: time of the next check'),
    staleSince: createOptionalField(createTimeField(), "When the publisher's channel file expired"),
  },
);

export interface RecalledRelease extends TypeOf<typeof recalledReleaseSchema> {}
export const recalledReleaseSchema = defineSchema(
  'Recalled',
  'The recall of the running version by its publisher',
  {
    version: createRequiredField(createTextField()),
    why: createTextField('The reason, for people'),
    url: createNullableTextField('Page with more information'),
  },
);

export interface UrgentUpdate extends TypeOf<typeof urgentUpdateSchema> {}
export const urgentUpdateSchema = defineSchema('Urgent', 'A security update that the running version needs', {
  below: createRequiredField(createTextField('All older versions need the update')),
  why: createTextField('The reason, for people'),
});

export interface BuildServer extends TypeOf<typeof buildServerSchema> {}
export const buildServerSchema = defineSchema(
  'BuildServer',
  'A build server that must be updated separately',
  {
    name: createRequiredField(createTextField()),
    version: createRequiredField(createTextField()),
    outdated: createBooleanField('Whether it is older than the running version'),
    command: createTextField('Command that updates it, run on that server'),
  },
);

export interface RestorePoint extends TypeOf<typeof restorePointSchema> {}
export const restorePointSchema = defineSchema(
  'RestorePoint',
  'Data saved by a run. A rollback restores it.',
  {
    at: createRequiredField(createTimeField('UTC, ISO 8601: the time of the data')),
    version: createRequiredField(createTextField('The version that was running then')),
    bytes: createNullableAmountField('Size of the saved data in bytes'),
    downtimeSeconds: createNullableAmountField('Downtime of the product and its data services in seconds'),
  },
);

export interface RolledBack extends TypeOf<typeof automaticRollbackSchema> {}
export const automaticRollbackSchema = defineSchema('RolledBack', 'The result of an automatic rollback', {
  version: createRequiredField(createTextField()),
  at: createRequiredField(createTimeField('UTC, ISO 8601: the time of the restored data')),
});

/** Version and data that a rollback would restore, and the expected downtime. */
export interface RollbackOffer extends TypeOf<typeof rollbackOfferSchema> {}
export const rollbackOfferSchema = defineSchema(
  'RollbackOffer',
  'The effects of a rollback to the last restore point',
  {
    from: createNullableTextField('The running version'),
    to: createRequiredField(createTextField('The version that the rollback restores')),
    at: createRequiredField(
      createTimeField('UTC, ISO 8601: the time of the data that the rollback restores'),
    ),
    since: createOptionalField(
      createTimeField(),
      'Changes after this time are lost. Absent if it equals `at`.',
    ),
    downtimeSeconds: createNullableAmountField('Expected downtime in seconds'),
  },
);

export interface RunStep extends TypeOf<typeof runStepSchema> {}
export const runStepSchema = defineSchema('Step', 'A state of a run', {
  state: createKeywordField(codes.runStates),
  startedAt: createRequiredField(createTimeField()),
  endedAt: createNullableField(createTimeField(), 'Null during the step'),
  message: createTextField('The last message of this step'),
});

export interface Run extends TypeOf<typeof runSchema> {}
export const runSchema = defineSchema('Run', 'The current run or the last one', {
  id: createRequiredField(createTextField()),
  kind: createFieldWithDefault(createKeywordField(codes.runKinds), () => 'update' as const),
  state: createKeywordField(codes.runStates),
  phase: createNullableField(createKeywordField(codes.phaseNames), 'The last phase of the updater'),
  percent: createNullableField(createPercentField(), 'Progress of the phase, if known'),
  from: createNullableTextField('The version before the run, if known'),
  to: createNullableTextField('The target version, if known'),
  startedAt: createTimeField(),
  endedAt: createNullableField(createTimeField()),
  outcome: createNullableField(createKeywordField(codes.runOutcomes)),
  message: createTextField("State of the instance, usually from the last line of the updater's log"),
  cause: createNullableTextField('The last error before a run failed'),
  code: createNullableTextField('Error code of a run that did not succeed, such as pull-unknown'),
  advice: createNullableTextField('Recommended next step if a run did not succeed'),
  requiredRelease: createNullableTextField(
    'The release that must be installed first, if a run was refused for this reason',
  ),
  warnings: createListField(createTextField(), 'Warnings of the updater'),
  steps: createListField(runStepSchema, 'All states so far'),
  jobs: createListField(blockingJobSchema, 'The running jobs that `waiting` waits for'),
  until: createNullableField(createTimeField(), 'When `waiting` times out'),
  cancelRequestedBy: createNullableTextField('Who requested the cancellation'),
  downtimeSeconds: createNullableAmountField('Downtime of the app in seconds, if known'),
  log: createNullableTextField('Command that shows the log on the host'),
  by: createNullableTextField(
    'Who started the run. Null if it was started manually on the host, `automatic` for automatic updates',
  ),
  upgradePath: createListField(
    createTextField(),
    'All steps of the upgrade path that includes this run. Empty for a single update',
  ),
  restorePoint: createNullableField(
    restorePointSchema,
    'The restore point that the run saved before it replaced containers',
  ),
  rolledBack: createNullableField(
    automaticRollbackSchema,
    'If the new version failed: the restored version and data',
  ),
});

export interface ToldRun extends TypeOf<typeof runWithServerTimeSchema> {}
export const runWithServerTimeSchema = defineSchema('ToldRun', 'A run with the current time of the server', {
  ...runSchema.fields,
  now: clock(),
});

export const restorePointPlanSchema = defineSchema(
  'Saving',
  'Set if each update saves a restore point first',
  {
    downtimeSeconds: createNullableAmountField(
      'Downtime in seconds of the last update that saved a restore point',
    ),
  },
);

/** Running version, newer releases, and whether an update can start. */
export interface Status extends TypeOf<typeof statusSchema> {}
export const statusSchema = defineSchema('Status', null, {
  version: createRequiredField(createTextField('The running version')),
  channel: createKeywordField(channels),
  latest: createNullableField(publishedReleaseSchema, 'The newest release on the channel, if known'),
  next: createNullableField(nextReleaseSchema),
  prefetch: createNullableField(prefetchSchema, 'Null if nothing is downloaded before an update'),
  rehearsal: createNullableField(rehearsalSchema, 'The running rehearsal, or the last result'),
  skipped: createNullableField(skippedReleaseSchema, 'Null as soon as a newer release is published'),
  automatic: createNullableField(automaticUpdatesSchema),
  pendingStep: createNullableField(
    pendingUpgradeStepSchema,
    'Null if no upgrade path is waiting for its next step',
  ),
  upToDate: createNullableField(upToDateReasonSchema, 'Null if `next` is set'),
  updateAvailable: createBooleanField('Whether `next` is set and not skipped'),
  canUpdate: createBooleanField('Whether an update can start now'),
  reason: createNullableField(blockingReasonSchema, 'Why no update can start. Null if it can'),
  checkedAt: createNullableField(createTimeField(), 'When the releases were last read'),
  feedError: createNullableField(feedProblemSchema),
  recalled: createNullableField(recalledReleaseSchema, 'Null if the running version is not recalled'),
  urgent: createNullableField(urgentUpdateSchema, 'Null if the running version needs no security update'),
  preparation: createNullableTextField('What the application does before an update'),
  restorePoint: createNullableField(restorePointPlanSchema, 'Null if updates save no restore point'),
  buildServers: createListField(buildServerSchema),
  manual: createListField(createTextField(), 'Commands for updating this instance manually'),
  run: createNullableField(runSchema),
  now: clock(),
  releases: createOptionalField(
    createListField(publishedReleaseSchema),
    'With `notes=1`: the releases after `version` up to `next`, newest first, with their notes',
  ),
});

/** Status for users who are not admins. */
export interface NonAdminStatus extends TypeOf<typeof nonAdminStatusSchema> {}
export const nonAdminStatusSchema = defineSchema('Version', null, {
  version: createRequiredField(createTextField()),
  // Required to recognize the server: other programs may report a version, but not this field.
  updating: createRequiredField(createBooleanField('Whether an update is in progress')),
});

/** Error response of an endpoint, RFC 9457. */
export interface Problem extends TypeOf<typeof problemSchema> {}
export const problemSchema = defineSchema('Problem', null, {
  type: createFieldWithDefault(createKeywordField(['about:blank']), () => undefined),
  title: createFieldWithDefault(createTextField(), () => undefined),
  status: createNumberField({ type: 'integer' }),
  detail: createFieldWithDefault(createOptionalField(createTextField()), ({ title, status }) =>
    String(title ?? `status ${status}`),
  ),
  reason: createOptionalField(
    createUnionField(blockingReasonSchema, cancelRejectionReasonSchema),
    'With 409',
  ),
});
