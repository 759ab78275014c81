import * as z from 'zod/mini';
import { phases } from '../../progress/event.ts';
import { channelOf, channels } from '../../release/channel.ts';
import { parseTarget } from '../../release/tag.ts';
import { endStates, phaseWords, reasonCodes, runStates, upToDateCodes } from '../../wire/codes.ts';
import type {
  FeedProblem,
  NextRelease,
  PublishedRelease,
  Reason,
  Run,
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

const about = <T extends z.ZodMiniType>(schema: T, told: About | string): T => {
  abouts.add(schema, typeof told === 'string' ? { description: told } : told);
  return schema;
};

const time = about(z.iso.datetime(), 'UTC, ISO 8601');
const percent = () => z.int().check(z.minimum(0), z.maximum(100));

export const reasonSchema = about(
  z.object({
    code: z.enum(reasonCodes),
    message: about(z.string(), 'One sentence for people'),
    since: about(z.optional(time), 'Since when, where that is known'),
  }),
  { id: 'Reason', description: 'Why an update may not start now' },
) satisfies z.ZodMiniType<Reason>;

export const releaseSchema = about(
  z.object({
    version: about(z.string(), 'The tag: vX.Y.Z or vX.Y.Z-canary.N'),
    url: z.nullable(z.string()),
    notes: about(z.nullable(z.string()), 'Markdown of the publisher: not to be trusted as HTML'),
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
    code: about(z.nullable(z.string()), 'Why a run ended that did not succeed, such as pull-unknown'),
    advice: about(z.nullable(z.string()), 'What a person does next, where a run did not succeed'),
  }),
  { id: 'Run', description: 'The current update, or the last one' },
) satisfies z.ZodMiniType<Run>;

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
    run: z.nullable(runSchema),
  }),
  { id: 'Status' },
) satisfies z.ZodMiniType<Status>;

/** All that somebody who is no admin is told. */
export const versionSchema = about(z.object({ version: z.string() }), { id: 'Version' });

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
    z.refine((text) => parseTarget(text) !== null || channelOf(text) === 'canary', {
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
  }),
  { id: 'Start' },
);

export const channelSchema = about(z.strictObject({ channel: z.enum(channels) }), { id: 'ChannelChoice' });

/** RFC 9457. */
export const problemSchema = about(
  z.object({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    detail: z.optional(z.string()),
    reason: about(z.optional(reasonSchema), 'With 409'),
  }),
  { id: 'Problem' },
);
export type Problem = z.infer<typeof problemSchema>;
