import type * as z from 'zod/mini';
import { inHostTime } from '../host/ask-host.ts';
import { Refusal } from './problem.ts';

/** Bytes. */
export const bodyLimit = 16 * 1024;
/** Milliseconds that a body has to come, whole. */
const bodyMs = 10_000;

/** The body, which is JSON of that schema; undefined where it is empty. @throws Refusal 400, 408, 413, 415 */
export async function readBody<T>(request: Request, schema: z.ZodMiniType<T>): Promise<T | undefined> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new Refusal(415, 'The content type must be application/json.');
  const { data, error } = schema.safeParse(parseJson(bytes));
  if (error) throw new Refusal(400, `The body is not valid: ${error.issues.map(describe).join('; ')}.`);
  return data;
}

/** Counts the bytes itself: Content-Length may be absent, or a lie. */
async function readBytes({ body, bodyUsed }: Request): Promise<Uint8Array> {
  // Nobody knows any more what the body said: it must not count as a request without one.
  if (bodyUsed)
    throw new Error('the request body had already been read before the request reached the update endpoints');
  if (body === null) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  return inHostTime(collect(reader), bodyMs, () => {
    reader.cancel().catch(() => {});
    return new Refusal(408, `The request body did not arrive within ${bodyMs / 1000} s.`);
  });
}

async function collect(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Refusal(400, 'The body is incomplete.');
    });
    if (done) return Buffer.concat(chunks);
    length += value.length;
    if (length > bodyLimit) {
      // The cancelled body is not awaited: its sender may take its time.
      reader.cancel().catch(() => {});
      throw new Refusal(413, `The body is larger than ${bodyLimit} bytes.`);
    }
    chunks.push(value);
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'The body is not valid JSON in UTF-8.');
  }
}

/** In words of our own, as zod's may repeat what was sent. The path is made of names that the schema knows, and of those of settings. */
function describe(issue: z.core.$ZodIssue): string {
  const where = issue.path.length === 0 ? 'it' : issue.path.join('.');
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'object'
        ? `${where} must be an object`
        : `${where} must be a ${issue.expected}`;
    case 'invalid_value':
      return `${where} must be one of ${issue.values.join(', ')}`;
    case 'unrecognized_keys':
      return `${where} has an unknown key`;
    case 'custom':
      return `${where} ${issue.message}`;
    default:
      return `${where} is not valid`;
  }
}
