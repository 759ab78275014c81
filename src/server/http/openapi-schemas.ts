import * as z from 'zod/mini';
import { levels, phases } from '../../core/progress/event.ts';
import { optional, percent, shape, text, word } from '../../wire/fields.ts';
import { answers } from '../../wire/status.ts';
import {
  abouts,
  automaticSchema,
  channelSchema,
  rollbackSchema,
  skipSchema,
  startSchema,
} from '../contract/schemas.ts';

const lineShape = shape('Line', 'A line of the updater log', {
  time: text(),
  level: word(levels),
  phase: word(phases),
  percent: optional(percent()),
  message: text(),
});

/** The schemas of the document. Requests allow no unknown members; responses do. */
export const componentSchemas = (): object => ({
  ...Object.fromEntries([...answers, lineShape].map(({ name, component }) => [name, component])),
  Start: requestSchema(startSchema),
  Rollback: requestSchema(rollbackSchema),
  ChannelChoice: requestSchema(channelSchema),
  Skip: requestSchema(skipSchema),
  AutomaticChoice: requestSchema(automaticSchema),
});

function requestSchema(schema: z.ZodMiniType): object {
  const { $schema, ...component } = z.toJSONSchema(schema, { io: 'input', metadata: abouts });
  return component;
}
