type Description = string | null | undefined;

const addDescription = (schema: object, description: Description): object =>
  description ? { ...schema, description } : schema;

/**
 * Builds the JSON Schemas of response fields, for the OpenAPI document. Pages do not need them, so the bundle of the
 * elements does not contain this file.
 */
export const schemaOf = {
  text: (description: Description): object => addDescription({ type: 'string' }, description),
  time: (description: string): object => ({ type: 'string', format: 'date-time', description }),
  boolean: (description: Description): object => addDescription({ type: 'boolean' }, description),
  number: (limits: object): object => ({ type: 'number', ...limits }),
  percent: (): object => ({ type: 'integer', minimum: 0, maximum: 100 }),
  keyword: (words: readonly string[]): object => ({
    type: 'string',
    description: `One of ${words.map((one) => `\`${one}\``).join(', ')}; later versions may add values`,
    'x-extensible-enum': words,
  }),
  list: (items: object, description: Description): object =>
    addDescription({ type: 'array', items }, description),
  nullable: (schema: object, description: Description): object => {
    const isPlain = JSON.stringify(schema) === '{"type":"string"}';
    const either = isPlain ? { type: ['string', 'null'] } : { anyOf: [schema, { type: 'null' }] };
    return addDescription(either, description);
  },
  described: addDescription,
  union: (...anyOf: readonly object[]): object => ({ anyOf }),
  reference: (name: string): object => ({ $ref: `#/components/schemas/${name}` }),
  object: (
    fields: readonly (readonly [key: string, { schema: object; isOptional?: boolean }])[],
    description: Description,
  ): object => {
    const properties = Object.fromEntries(fields.map(([key, { schema }]) => [key, schema]));
    const required = fields.flatMap(([key, { isOptional }]) => (isOptional ? [] : key));
    return addDescription({ type: 'object', properties, required }, description);
  },
};
