import * as z from 'zod/mini';

const parsedJson = z.transform((text: string, { issues }): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    issues.push({ code: 'invalid_format', format: 'json', input: text });
    return z.NEVER;
  }
});

/** Creates a schema that accepts JSON text whose value matches the given schema. */
export const createJsonTextSchema = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(z.pipe(z.string(), parsedJson), schema);

/**
 * Compares the `format` number in a JSON object with the given number. Returns null if the numbers are equal or
 * `format` is missing. The text may be truncated.
 */
export function compareJsonFormat(text: string, format: number): 'older' | 'newer' | null {
  let found: unknown;
  try {
    found = Object(JSON.parse(text)).format;
  } catch {
    found = Number(/^\s*\{\s*"format"\s*:\s*(\d+)\s*,/.exec(text)?.[1]);
  }
  if (typeof found !== 'number' || Number.isNaN(found) || found === format) return null;
  return found < format ? 'older' : 'newer';
}

/** Describes the first mistake found by a schema: `point.state is not valid`. */
export function describeSchemaMistake({ issues: [issue] }: z.core.$ZodError): string {
  const path = issue?.path ?? [];
  if (issue?.code === 'unrecognized_keys')
    return `${[...path, ...issue.keys.slice(0, 1)].join('.')} is not a known field`;
  const isJson = issue?.code !== 'invalid_format' || issue.format !== 'json';
  return `${path.join('.') || 'it'} is not valid${isJson ? '' : ' JSON'}`;
}
