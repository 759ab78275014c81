import * as codes from './codes.ts';
import {
  either,
  flag,
  list,
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

// What crosses HTTP as an answer. Types, the reader of client and web, what a run begins with, and OpenAPI come from here.

const channels = ['stable', 'canary'] as const;
const sentence = () => text('One sentence for people');
const clock = () => time("The server's clock, from which ages are reckoned");

export interface BlockingJob extends TypeOf<typeof jobShape> {}
export const jobShape = shape('Job', 'Work of the platform that an update would meet', {
  kind: or(word(codes.jobKinds), () => 'job' as const),
  state: or(word(codes.jobStates), () => 'running' as const),
  title: nullable(text(), 'What people call it'),
  since: nullable(time()),
  stuck: flag('It will not end by itself'),
});

export interface Reason extends TypeOf<typeof reasonShape> {}
export const reasonShape = shape('Reason', 'Why an update may not start now', {
  code: word(codes.reasonCodes),
  message: or(sentence(), ({ code }) => String(code)),
  since: optional(time(), 'Since when, where that is known'),
  jobs: optional(list(jobShape), 'Every job that is in the way'),
  refusal: optional(text(), 'With `rollback-refused`: the code of the updater, such as `modified-since`'),
  advice: optional(text(), 'What a person does next, where that is said'),
});

export interface CancelReason extends TypeOf<typeof cancelReasonShape> {}
export const cancelReasonShape = shape('CancelReason', 'Why a run cannot be cancelled now', {
  code: word(codes.cancelCodes),
  message: sentence(),
});

export interface PublishedRelease extends TypeOf<typeof releaseShape> {}
export const releaseShape = shape('Release', null, {
  version: needed(text('The tag: vX.Y.Z or vX.Y.Z-canary.N')),
  url: nullable(text()),
  notes: nullable(text(), 'Markdown of the publisher, in `releases` alone: not to be trusted as HTML'),
  publishedAt: nullable(time()),
});

export interface NextRelease extends TypeOf<typeof nextShape> {}
export const nextShape = shape(
  'Next',
  'What an update goes to now: `latest`, or the stepping release that has to come before it',
  {
    version: needed(text()),
    major: flag('The first number is another than that of what runs'),
    downloaded: nullable(flag(), 'Whether its images are here; null where that is not known'),
    estimatedSeconds: nullable(number({ minimum: 0 }), 'How long an update to it takes, about'),
    upgradePath: list(
      text(),
      'The releases up to `latest`, one update each, as far as the feed tells; the first is `version`',
    ),
  },
);

export interface Prefetch extends TypeOf<typeof prefetchShape> {}
export const prefetchShape = shape('Prefetch', 'How far it is that the images of `next` are fetched ahead', {
  state: or(word(codes.prefetchStates), () => 'waiting' as const),
  percent: nullable(percent()),
});

export interface Skipped extends TypeOf<typeof skippedShape> {}
export const skippedShape = shape('Skipped', 'The newest release, as an admin wants to hear nothing of it', {
  version: needed(text()),
  since: nullable(time()),
});

export interface BlockedBy extends TypeOf<typeof blockedByShape> {}
export const blockedByShape = shape('BlockedBy', 'Why what is offered does not start by itself', {
  code: word(codes.blockedByCodes),
  message: or(sentence(), ({ code }) => String(code)),
  since: optional(time(), 'With `paused`: when the update ended that ended badly'),
});

export interface Automatic extends TypeOf<typeof automaticShape> {}
export const automaticShape = shape('Automatic', 'Whether what is offered starts by itself, and when', {
  enabled: flag(),
  from: text('When its window begins, by the wall clock of `timeZone`: `02:00`'),
  to: text('When its window ends'),
  timeZone: text('`Europe/Berlin`'),
  days: list(word(codes.dayWords), 'On which a window begins; none: on every day'),
  minAgeHours: number({ minimum: 0 }),
  includeMajors: flag('Whether major versions start by themselves, too'),
  nextAt: nullable(time(), 'When the next update would start by itself'),
  blockedBy: nullable(blockedByShape, 'Null where what is offered starts by itself, or nothing is offered'),
});

export interface PendingStep extends TypeOf<typeof pendingStepShape> {}
export const pendingStepShape = shape(
  'PendingStep',
  'Two updates of a path: one has ended, the next is to begin',
  {
    to: needed(text('The release of the next one')),
    reason: nullable(text(), 'Why the platform is not ready for it yet, in its words'),
    since: time('UTC, ISO 8601: when the last one ended'),
    until: time('UTC, ISO 8601: when the path ends where it is not ready by then'),
  },
);

export interface UpToDate extends TypeOf<typeof upToDateShape> {}
export const upToDateShape = shape('UpToDate', 'Why nothing is offered', {
  code: word(codes.upToDateCodes),
  message: or(sentence(), ({ code }) => `Nothing is offered: ${code}.`),
});

export interface FeedProblem extends TypeOf<typeof feedErrorShape> {}
export const feedErrorShape = shape(
  'FeedError',
  'Why the releases could not be read the last time; what was read before stays',
  { message: needed(text()), nextCheckAt: time('UTC, ISO 8601: when the releases are read again') },
);

export interface BuildServer extends TypeOf<typeof buildServerShape> {}
export const buildServerShape = shape('BuildServer', 'A server elsewhere that an update does not reach', {
  name: needed(text()),
  version: needed(text()),
  outdated: flag('It is older than what runs'),
  command: text('What updates it, typed there'),
});

export interface RestorePoint extends TypeOf<typeof pointShape> {}
export const pointShape = shape(
  'RestorePoint',
  'The data that a run has saved, and that a rollback restores',
  {
    at: needed(time('UTC, ISO 8601: the time of the data')),
    version: needed(text('The version that ran then')),
    bytes: nullable(number({ minimum: 0 }), 'The size of the saved data'),
    downtimeSeconds: nullable(
      number({ minimum: 0 }),
      'How long the product and its data services were stopped for it, in seconds',
    ),
  },
);

export interface RolledBack extends TypeOf<typeof rolledBackShape> {}
export const rolledBackShape = shape('RolledBack', 'The state that an automatic rollback has restored', {
  version: needed(text()),
  at: needed(time('UTC, ISO 8601: the time of the restored data')),
});

/** The effects of a rollback. */
export interface RollbackOffer extends TypeOf<typeof rollbackOfferShape> {}
export const rollbackOfferShape = shape(
  'RollbackOffer',
  'The effects of a rollback to the last restore point',
  {
    from: nullable(text(), 'The running version'),
    to: needed(text('The version that the rollback restores')),
    at: needed(time('UTC, ISO 8601: the time of the data that the rollback restores')),
    since: optional(time(), 'The time from which on all changes are replaced, if it is not `at`'),
    downtimeSeconds: nullable(number({ minimum: 0 }), 'The expected downtime in seconds'),
  },
);

export interface RunStep extends TypeOf<typeof stepShape> {}
export const stepShape = shape('Step', 'A state that a run was in', {
  state: word(codes.runStates),
  startedAt: needed(time()),
  endedAt: nullable(time(), 'Null while it lasts'),
  message: text("The state's last sentence"),
});

export interface Run extends TypeOf<typeof runShape> {}
export const runShape = shape('Run', 'The current update, or the last one', {
  id: needed(text()),
  kind: or(word(codes.runKinds), () => 'update' as const),
  state: word(codes.runStates),
  phase: nullable(word(codes.phaseWords), 'The last phase that the updater was in'),
  percent: nullable(percent(), 'Of the phase, where known'),
  from: nullable(text(), 'The version that ran before, where known'),
  to: nullable(text(), 'The release to reach, where known'),
  startedAt: time(),
  endedAt: nullable(time()),
  outcome: nullable(word(codes.endStates)),
  message: text("How the instance stands, by the last line of the updater's log or what stands in its place"),
  cause: nullable(text(), 'What went wrong: the last error before a bad end'),
  code: nullable(text(), 'Why a run ended that did not succeed, such as pull-unknown'),
  advice: nullable(text(), 'What a person does next, where a run did not succeed'),
  requiredRelease: nullable(text(), 'The release that has to come first, where a run was refused for it'),
  warnings: list(text(), 'What the updater warned of'),
  steps: list(stepShape, 'The states that it was in so far'),
  jobs: list(jobShape, 'What `waiting` waits for'),
  until: nullable(time(), 'When `waiting` gives up'),
  cancelRequestedBy: nullable(text(), 'Who has asked that it stop'),
  downtimeSeconds: nullable(
    number({ minimum: 0 }),
    'Seconds without an app, where the server that came back could tell',
  ),
  log: nullable(text(), 'The command that shows its log on the machine'),
  by: nullable(text(), 'Who started it; null where it was started by hand, `automatic` where by itself'),
  upgradePath: list(
    text(),
    'The releases of the path that it is a part of, `to` among them; none where it is of none',
  ),
  restorePoint: nullable(pointShape, 'The restore point that it saved before it replaced anything'),
  rolledBack: nullable(
    rolledBackShape,
    'If the new version failed: the version and the data that were restored',
  ),
});

export interface ToldRun extends TypeOf<typeof toldRunShape> {}
export const toldRunShape = shape('ToldRun', 'A run by itself, outside of a status', {
  ...runShape.fields,
  now: clock(),
});

export const savingShape = shape('Saving', 'Each update saves a restore point first', {
  downtimeSeconds: nullable(
    number({ minimum: 0 }),
    'How long the product and its data services were stopped for the last restore point, in seconds',
  ),
});

/** What runs, what is newer, and whether an update may start. */
export interface Status extends TypeOf<typeof statusShape> {}
export const statusShape = shape('Status', null, {
  version: needed(text('What runs')),
  channel: word(channels),
  latest: nullable(releaseShape, 'The newest release of the channel, where one is known'),
  next: nullable(nextShape),
  prefetch: nullable(prefetchShape, 'Null where nothing is fetched ahead'),
  skipped: nullable(skippedShape, 'Null as soon as there is a newer one'),
  automatic: nullable(automaticShape),
  pendingStep: nullable(pendingStepShape, 'Null where no path waits for its next update'),
  upToDate: nullable(upToDateShape, 'Null where there is a `next`'),
  updateAvailable: flag('Whether there is a `next`, and nobody skips it'),
  canUpdate: flag('Whether an update may start now'),
  reason: nullable(reasonShape, 'Why it may not'),
  checkedAt: nullable(time(), 'When the releases were last read'),
  feedError: nullable(feedErrorShape),
  preparation: nullable(text(), 'What the platform does before an update, in its words'),
  restorePoint: nullable(savingShape, 'Null if updates save no restore point'),
  buildServers: list(buildServerShape),
  manual: list(text(), 'The commands that update this instance by hand'),
  run: nullable(runShape),
  now: clock(),
  releases: optional(
    list(releaseShape),
    'With `notes=1`: those after `version` up to `next`, newest first, with their notes',
  ),
});

/** What somebody who is no admin learns. */
export interface UserStatus extends TypeOf<typeof versionShape> {}
export const versionShape = shape('Version', null, {
  version: needed(text()),
  // Many a program has a version; only svc says whether it is being updated.
  updating: needed(flag('Whether an update is on')),
});

/** An error, RFC 9457. */
export interface Problem extends TypeOf<typeof problemShape> {}
export const problemShape = shape('Problem', null, {
  type: or(word(['about:blank']), () => undefined),
  title: or(text(), () => undefined),
  status: number({ type: 'integer' }),
  detail: or(optional(text()), ({ title, status }) => String(title ?? `status ${status}`)),
  reason: optional(either(reasonShape, cancelReasonShape), 'With 409'),
});

export const answers = [
  jobShape,
  reasonShape,
  releaseShape,
  nextShape,
  prefetchShape,
  skippedShape,
  blockedByShape,
  automaticShape,
  pendingStepShape,
  upToDateShape,
  feedErrorShape,
  stepShape,
  pointShape,
  rolledBackShape,
  runShape,
  rollbackOfferShape,
  savingShape,
  buildServerShape,
  statusShape,
  versionShape,
  cancelReasonShape,
  problemShape,
  toldRunShape,
];
