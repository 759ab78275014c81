import * as z from 'zod/mini';
import { channels, isTarget } from '../../release/channel.ts';
import { clockForm, dayWords } from '../../wire/codes.ts';
import { isTimeZone } from './automatic.ts';

/** What OpenAPI says of what may be sent. A registry of our own, as the host may use zod as well. */
export const abouts = z.registry<{ description: string; examples?: readonly string[] }>();

const about = <T extends z.ZodMiniType>(schema: T, description: string, examples?: readonly string[]): T => {
  abouts.add(schema, examples ? { description, examples } : { description });
  return schema;
};

const target = z.string().check(
  z.refine(isTarget, {
    message: 'must be vX.Y.Z, vX.Y.Z-canary.N or canary',
  }),
);

const when = about(z.optional(z.enum(['now', 'idle'])), '`idle`: once running jobs have ended');
const force = about(z.optional(z.boolean()), 'Running jobs are cut short');

export const startSchema = z.strictObject({
  target: about(
    z.optional(target),
    'vX.Y.Z or canary; a vX.Y.Z-canary.N means canary. Left out: `next` of the status',
    ['v1.5.0', 'canary'],
  ),
  when,
  force,
  allSteps: about(
    z.optional(z.boolean()),
    'All the way: the releases that have to come before the target, or before `latest`, and then it',
  ),
});

export const rollbackSchema = z.strictObject({
  confirm: about(z.string(), 'The version to roll back to, `to` of the offer', ['v1.4.2']),
  when,
  force,
});

export const skipSchema = z.strictObject({
  version: about(z.nullable(z.string()), '`latest` of the status; null: it is offered again', ['v1.5.0']),
});

/** Of a wall clock. */
export const clock = z.string().check(z.regex(clockForm, 'must be a time such as 02:00'));
const timeZone = z.string().check(z.refine(isTimeZone, 'must be a time zone such as Europe/Berlin'));

export const automaticFields = {
  enabled: about(z.optional(z.boolean()), 'Whether what is offered starts by itself'),
  from: about(z.optional(clock), 'When its window begins, by the wall clock of the time zone', ['02:00']),
  to: about(z.optional(clock), 'When its window ends; where that is as it begins, a day later', ['05:00']),
  timeZone: about(z.optional(timeZone), "At first the server's own", ['Europe/Berlin']),
  days: about(z.optional(z.array(z.enum(dayWords))), 'On which a window begins; none: on every day'),
  minAgeHours: about(
    z.optional(z.number().check(z.gte(0), z.lte(8760))),
    'Hours that a release has been published before it starts by itself',
  ),
  includeMajors: about(z.optional(z.boolean()), 'Whether major versions start by themselves, too'),
};

/** What is left out stays. */
export const automaticSchema = z.strictObject(automaticFields);

export const channelSchema = z.strictObject({ channel: z.enum(channels) });
