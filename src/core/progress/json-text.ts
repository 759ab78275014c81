import * as z from 'zod/mini';

const parsedJson = z.transform((text: string, { issues }): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    issues.push({ code: 'invalid_format', format: 'json', input: text });
    return z.NEVER;
  }
});

/** A value of a schema, as JSON in a text. */
export const jsonText = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(z.pipe(z.string(), parsedJson), schema);

/** The first thing that does not fit a schema: `point.state is not valid`. */
export function mistakeIn({ issues: [issue] }: z.core.$ZodError): string {
  const path = issue?.path ?? [];
  if (issue?.code === 'unrecognized_keys')
    return `${[...path, ...issue.keys.slice(0, 1)].join('.')} is not a known field`;
  const isJson = issue?.code !== 'invalid_format' || issue.format !== 'json';
  return `${path.join('.') || 'it'} is not valid${isJson ? '' : ' JSON'}`;
}
