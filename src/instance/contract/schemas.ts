import { z } from 'zod';
import { phases } from '../../progress/event.ts';
import { channelOf, channels } from '../../release/channel.ts';
import { parseTarget } from '../../release/tag.ts';
import { endStates, phaseWords, reasonCodes, runStates } from '../../wire/codes.ts';
import type { PublishedRelease, Reason, Run, Status } from '../../wire/status.ts';

const time = z.iso.datetime().describe('UTC, ISO 8601');

export const reasonSchema = z
  .object({
    code: z.enum(reasonCodes),
    message: z.string().describe('One sentence for people'),
    since: time.optional().describe('Since when, where that is known'),
  })
  .meta({ id: 'Reason', description: 'Why an update may not start now' }) satisfies z.ZodType<Reason>;

export const releaseSchema = z
  .object({
    version: z.string().describe('The tag: vX.Y.Z or vX.Y.Z-canary.N'),
    url: z.string().nullable(),
    notes: z.string().nullable().describe('Markdown of the publisher: not to be trusted as HTML'),
    publishedAt: time.nullable(),
  })
  .meta({ id: 'Release' }) satisfies z.ZodType<PublishedRelease>;

export const runSchema = z
  .object({
    id: z.string(),
    state: z.enum(runStates),
    phase: z.enum(phaseWords).nullable().describe('The last phase that the updater was in'),
    percent: z.int().min(0).max(100).nullable().describe('Of the phase, where known'),
    from: z.string().nullable().describe('The version that ran before, where known'),
    to: z.string().nullable().describe('The release to reach, where known'),
    startedAt: time,
    endedAt: time.nullable(),
    outcome: z.enum(endStates).nullable(),
    message: z
      .string()
      .describe("How the instance stands, by the last line of the updater's log or what stands in its place"),
    code: z.string().nullable().describe('Why a run ended that did not succeed, such as pull-unknown'),
    advice: z.string().nullable().describe('What a person does next, where a run did not succeed'),
  })
  .meta({ id: 'Run', description: 'The current update, or the last one' }) satisfies z.ZodType<Run>;

export const statusSchema = z
  .object({
    version: z.string().describe('What runs'),
    channel: z.enum(channels),
    latest: releaseSchema.nullable().describe('The newest release of the channel, where one is known'),
    updateAvailable: z.boolean(),
    canUpdate: z.boolean().describe('Whether an update may start now'),
    reason: reasonSchema.nullable().describe('Why it may not'),
    checkedAt: time.nullable().describe('When the releases were last read'),
    run: runSchema.nullable(),
  })
  .meta({ id: 'Status' }) satisfies z.ZodType<Status>;

/** All that somebody who is no admin is told. */
export const versionSchema = z.object({ version: z.string() }).meta({ id: 'Version' });

/** One line of the updater's log. */
export const lineSchema = z
  .object({
    time: z.string(),
    level: z.enum(['info', 'warn', 'error']),
    phase: z.enum(phases),
    percent: z.int().min(0).max(100).optional(),
    message: z.string(),
  })
  .meta({ id: 'Line', description: "One line of the updater's log" });

export const startSchema = z
  .strictObject({
    target: z
      .string()
      .refine((text) => parseTarget(text) !== null || channelOf(text) === 'canary', {
        message: 'must be vX.Y.Z, vX.Y.Z-canary.N or canary',
      })
      .meta({ examples: ['v1.5.0', 'canary'] })
      .optional()
      .describe('vX.Y.Z or canary; a vX.Y.Z-canary.N means canary. Left out: the newest of the channel'),
  })
  .meta({ id: 'Start' });

export const channelSchema = z.strictObject({ channel: z.enum(channels) }).meta({ id: 'ChannelChoice' });

/** RFC 9457. */
export const problemSchema = z
  .object({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    reason: reasonSchema.optional().describe('With 409'),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;
