import * as z from 'zod/mini';
import { phases } from '../../progress/event.ts';
import { channels, isTarget } from '../../release/channel.ts';
import {
  cancelCodes,
  endStates,
  jobKinds,
  phaseWords,
  reasonCodes,
  runStates,
  upToDateCodes,
} from '../../wire/codes.ts';
import type {
  BuildServer,
  CancelReason,
  FeedProblem,
  JobInTheWay,
  NextRelease,
  PublishedRelease,
  Reason,
  Run,
  RunStep,
  Status,
  UpToDate,
} from '../../wire/status.ts';

/** What OpenAPI says of a schema. */
interface About {
  /** The name of the component. */
  id?: string;
  description?: string;
  examples?: readonly unknown[];
}

/** A registry of our own, as the host may use zod as well. */
export const abouts = z.registry<About>();

export const about = <T extends z.ZodMiniType>(schema: T, told: About | string): T => {
  abouts.add(schema, typeof told === 'string' ? { description: told } : told);
  return schema;
};

const time = about(z.iso.datetime(), 'UTC, ISO 8601');
/** Not the one above: what is told of a schema is told wherever it is used. */
export const clock = about(z.iso.datetime(), "The server's clock, from which ages are reckoned");
const percent = () => z.int().check(z.minimum(0), z.maximum(100));

export const jobSchema = about(
  z.object({
    kind: z.enum(jobKinds),
    state: z.enum(['queued', 'running']),
    title: about(z.nullable(z.string()), 'What people call it'),
    since: z.nullable(time),
    stuck: about(z.boolean(), 'It will not end by itself'),
  }),
  { id: 'Job', description: 'Work of the platform that an update would meet' },
) satisfies z.ZodMiniType<JobInTheWay>;

export const reasonSchema = about(
  z.object({
    code: z.enum(reasonCodes),
    message: about(z.string(), 'One sentence for people'),
    since: about(z.optional(time), 'Since when, where that is known'),
    jobs: about(z.optional(z.array(jobSchema)), 'Every job that is in the way'),
  }),
  { id: 'Reason', description: 'Why an update may not start now' },
) satisfies z.ZodMiniType<Reason>;

export const releaseSchema = about(
  z.object({
    version: about(z.string(), 'The tag: vX.Y.Z or vX.Y.Z-canary.N'),
    url: z.nullable(z.string()),
    notes: about(
      z.nullable(z.string()),
      'Markdown of the publisher, in `releases` alone: not to be trusted as HTML',
    ),
    publishedAt: z.nullable(time),
  }),
  { id: 'Release' },
) satisfies z.ZodMiniType<PublishedRelease>;

export const nextSchema = about(
  z.object({
    version: z.string(),
    major: about(z.boolean(), 'The first number is another than that of what runs'),
  }),
  {
    id: 'Next',
    description: 'What an update goes to now: `latest`, or the stepping release that has to come before it',
  },
) satisfies z.ZodMiniType<NextRelease>;

export const upToDateSchema = about(
  z.object({
    code: z.enum(upToDateCodes),
    message: about(z.string(), 'One sentence for people'),
  }),
  { id: 'UpToDate', description: 'Why nothing is offered' },
) satisfies z.ZodMiniType<UpToDate>;

export const feedErrorSchema = about(
  z.object({
    message: z.string(),
    nextCheckAt: about(z.iso.datetime(), 'UTC, ISO 8601: when the releases are read again'),
  }),
  {
    id: 'FeedError',
    description: 'Why the releases could not be read the last time; what was read before stays',
  },
) satisfies z.ZodMiniType<FeedProblem>;

export const stepSchema = about(
  z.object({
    state: z.enum(runStates),
    startedAt: time,
    endedAt: about(z.nullable(time), 'Null while it lasts'),
    message: about(z.string(), "The state's last sentence"),
  }),
  { id: 'Step', description: 'A state that a run was in' },
) satisfies z.ZodMiniType<RunStep>;

export const runSchema = about(
  z.object({
    id: z.string(),
    state: z.enum(runStates),
    phase: about(z.nullable(z.enum(phaseWords)), 'The last phase that the updater was in'),
    percent: about(z.nullable(percent()), 'Of the phase, where known'),
    from: about(z.nullable(z.string()), 'The version that ran before, where known'),
    to: about(z.nullable(z.string()), 'The release to reach, where known'),
    startedAt: time,
    endedAt: z.nullable(time),
    outcome: z.nullable(z.enum(endStates)),
    message: about(
      z.string(),
      "How the instance stands, by the last line of the updater's log or what stands in its place",
    ),
    cause: about(z.nullable(z.string()), 'What went wrong: the last error before a bad end'),
    code: about(z.nullable(z.string()), 'Why a run ended that did not succeed, such as pull-unknown'),
    advice: about(z.nullable(z.string()), 'What a person does next, where a run did not succeed'),
    warnings: about(z.array(z.string()), 'What the updater warned of'),
    steps: about(z.array(stepSchema), 'The states that it was in so far'),
    jobs: about(z.array(jobSchema), 'What `waiting` waits for'),
    until: about(z.nullable(time), 'When `waiting` gives up'),
    cancelAskedBy: about(z.nullable(z.string()), 'Who has asked that it stop'),
    away: about(
      z.nullable(z.number().check(z.minimum(0))),
      'Seconds without an app, where the server that came back could tell',
    ),
    log: about(z.nullable(z.string()), 'The command that shows its log on the machine'),
    by: about(z.nullable(z.string()), 'Who started it; null where it was started by hand'),
  }),
  { id: 'Run', description: 'The current update, or the last one' },
) satisfies z.ZodMiniType<Run>;

export const buildServerSchema = about(
  z.object({
    name: z.string(),
    version: z.string(),
    behind: about(z.boolean(), 'It is older than what runs'),
    command: about(z.string(), 'What updates it, typed there'),
  }),
  { id: 'BuildServer', description: 'A server elsewhere that an update does not reach' },
) satisfies z.ZodMiniType<BuildServer>;

export const statusSchema = about(
  z.object({
    version: about(z.string(), 'What runs'),
    channel: z.enum(channels),
    latest: about(z.nullable(releaseSchema), 'The newest release of the channel, where one is known'),
    next: z.nullable(nextSchema),
    upToDate: about(z.nullable(upToDateSchema), 'Null where there is a `next`'),
    updateAvailable: about(z.boolean(), 'Whether there is a `next`'),
    canUpdate: about(z.boolean(), 'Whether an update may start now'),
    reason: about(z.nullable(reasonSchema), 'Why it may not'),
    checkedAt: about(z.nullable(time), 'When the releases were last read'),
    feedError: z.nullable(feedErrorSchema),
    preparation: about(z.nullable(z.string()), 'What the platform does before an update, in its words'),
    buildServers: z.array(buildServerSchema),
    manual: about(z.array(z.string()), 'The commands that update this instance by hand'),
    run: z.nullable(runSchema),
    now: clock,
    releases: about(
      z.optional(z.array(releaseSchema)),
      'With `notes=1`: those after `version` up to `next`, newest first, with their notes',
    ),
  }),
  { id: 'Status' },
) satisfies z.ZodMiniType<Status>;

/** All that somebody who is no admin is told. */
export const versionSchema = about(
  z.object({ version: z.string(), updating: about(z.boolean(), 'Whether an update is on') }),
  { id: 'Version' },
);

/** One line of the updater's log. */
export const lineSchema = about(
  z.object({
    time: z.string(),
    level: z.enum(['info', 'warn', 'error']),
    phase: z.enum(phases),
    percent: z.optional(percent()),
    message: z.string(),
  }),
  { id: 'Line', description: "One line of the updater's log" },
);

const target = about(
  z.string().check(
    z.refine(isTarget, {
      message: 'must be vX.Y.Z, vX.Y.Z-canary.N or canary',
    }),
  ),
  { examples: ['v1.5.0', 'canary'] },
);

export const startSchema = about(
  z.strictObject({
    target: about(
      z.optional(target),
      'vX.Y.Z or canary; a vX.Y.Z-canary.N means canary. Left out: `next` of the status',
    ),
    when: about(z.optional(z.enum(['now', 'idle'])), '`idle`: once running jobs have ended'),
    force: about(z.optional(z.boolean()), 'Running jobs are cut short'),
  }),
  { id: 'Start' },
);

export const channelSchema = about(z.strictObject({ channel: z.enum(channels) }), { id: 'ChannelChoice' });

export const cancelReasonSchema = about(
  z.object({ code: z.enum(cancelCodes), message: about(z.string(), 'One sentence for people') }),
  { id: 'CancelReason', description: 'Why a run cannot be cancelled now' },
) satisfies z.ZodMiniType<CancelReason>;

/** RFC 9457. */
export const problemSchema = about(
  z.object({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    detail: z.optional(z.string()),
    reason: about(z.optional(z.union([reasonSchema, cancelReasonSchema])), 'With 409'),
  }),
  { id: 'Problem' },
);
export type Problem = z.infer<typeof problemSchema>;
