import type * as z from 'zod/mini';
import { awaitUntilDeadline } from '../application/call-application.ts';
import { ProblemError } from './problem.ts';

export const maxBodyBytes = 16 * 1024;
/** Time limit for receiving a complete body, in milliseconds. */
const bodyMs = 10_000;

/** Reads and validates a JSON body; undefined if the body is empty. @throws ProblemError 400, 408, 413, 415 */
export async function readJsonBody<T>(request: Request, schema: z.ZodMiniType<T>): Promise<T | undefined> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new ProblemError(415, 'The content type must be application/json.');
  const { data, error } = schema.safeParse(parseJson(bytes));
  if (error) throw new ProblemError(400, `The body is not valid: ${error.issues.map(describe).join('; ')}.`);
  return data;
}

/** Reads the whole body. Counts the received bytes, because Content-Length may be missing or wrong. */
async function readBytes({ body, bodyUsed }: Request): Promise<Uint8Array> {
  // A body that was already read is lost. Without an error, the request would be handled as if it had no body.
  if (bodyUsed)
    throw new Error('the request body had already been read before the request reached the update endpoints');
  if (body === null) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  return awaitUntilDeadline(collect(reader), bodyMs, () => {
    reader.cancel().catch(() => {});
    return new ProblemError(408, `The request body did not arrive within ${bodyMs / 1000} s.`);
  });
}

async function collect(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new ProblemError(400, 'The body is incomplete.');
    });
    if (done) return Buffer.concat(chunks);
    length += value.length;
    if (length > maxBodyBytes) {
      // The cancellation is not awaited, because the client may be slow.
      reader.cancel().catch(() => {});
      throw new ProblemError(413, `The body is larger than ${maxBodyBytes} bytes.`);
    }
    chunks.push(value);
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ProblemError(400, 'The body is not valid JSON in UTF-8.');
  }
}

/**
 * Describes a validation error. Does not use zod's message, which may contain input values. `path` contains only names
 * of schema fields and settings.
 */
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
