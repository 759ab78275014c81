import type * as z from 'zod/mini';

/** Parses and checks the bytes of a published JSON file. @throws Error if the file is not valid */
export function parseJsonFile<T>(bytes: Uint8Array, schema: z.ZodMiniType<T>, mostBytes: number): T {
  if (bytes.length > mostBytes) throw new Error(`it is larger than ${mostBytes / 1024} KiB`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Error('it is not valid JSON in UTF-8');
  }
  const { data, error } = schema.safeParse(value);
  if (error) {
    const [{ path, message } = { path: [], message: '' }] = error.issues;
    throw new Error(`${path.join('.') || 'it'} ${message}`);
  }
  return data;
}
