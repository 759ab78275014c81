import * as z from 'zod/mini';
import { channels, isTarget } from '../../release/channel.ts';

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
});

export const backSchema = z.strictObject({
  confirm: about(z.string(), 'The version to go back to, `to` of the offer', ['v1.4.2']),
  when,
  force,
});

export const skipSchema = z.strictObject({
  version: about(z.nullable(z.string()), '`latest` of the status; null: it is offered again', ['v1.5.0']),
});

export const channelSchema = z.strictObject({ channel: z.enum(channels) });
