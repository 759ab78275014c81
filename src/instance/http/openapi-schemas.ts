import * as z from 'zod/mini';
import { abouts } from '../contract/schemas.ts';
// It has a schema of its own.
import './told-run.ts';

/** What is sent, by the ids that the schemas have; all others are answers. */
const requests = ['Start', 'ChannelChoice'];

/** The schemas of the document: requests as they are, closed; answers open, as later versions say more. */
export function componentSchemas(): object {
  const sent = convert('input');
  const answers = Object.entries(convert('output')).filter(([id]) => !requests.includes(id));
  return { ...Object.fromEntries(answers), ...Object.fromEntries(requests.map((id) => [id, sent[id]])) };
}

/** `input`: what may be sent, before defaults; `output`: what is there afterwards. */
function convert(io: 'input' | 'output'): Record<string, object> {
  const converted = z.toJSONSchema(abouts, {
    target: 'draft-2020-12',
    io,
    metadata: abouts,
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // zod adds a pattern of 300 characters that says the same as the format.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (io === 'output') open(jsonSchema);
    },
  });
  return Object.fromEntries(
    Object.entries(converted.schemas).map(([id, { $schema, $id, ...component }]) => [id, component]),
  );
}

/**
 * Lets what a server of today says be more tomorrow: a client that was made from the document must not break over a new
 * member or a new word. The words of today are in `x-extensible-enum`, as generators of clients know it.
 */
function open(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  const words = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (!words) return;
  delete schema.enum;
  delete schema.const;
  schema.type = 'string';
  const told = `One of ${words.map((word) => `\`${word}\``).join(', ')}; more may come`;
  schema.description = schema.description === undefined ? told : `${schema.description}. ${told}`;
  schema['x-extensible-enum'] = words;
}
