import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { LogEntry } from '../../../src/feed/create-feed.ts';
import type { Caller } from '../../../src/server/contract/instance-options.ts';
import type { ValidatedInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { createRequestHandler } from '../../../src/server/http/handler.ts';
import { openApi } from '../../../src/server/http/openapi.ts';
import type { UpdateApi } from '../../../src/server/run/update-api.ts';
import { secret } from './memory-service.ts';

export const path = '/api/v1/instance/update';
export const origin = 'https://svc.example.org';

interface ResponseObject {
  $ref?: string;
  headers?: Record<string, { $ref?: string; required?: boolean; schema?: object }>;
  content?: Record<string, { schema: object }>;
}
interface Document {
  [part: string]: unknown;
  paths: Record<string, Record<string, { responses: Record<string, ResponseObject> }>>;
  components: { responses: Record<string, ResponseObject>; headers: object };
}

/** The document as it is published. */
export const document = JSON.parse(JSON.stringify(openApi(path, '1.0.0'))) as Document;

/** Every response that a test has received, such as `GET /api/v1/instance/update 200 application/json`. */
export const seen = new Set<string>();

/** Every response that the document describes, in the same format. */
export const described = Object.entries(document.paths).flatMap(([where, operations]) =>
  Object.entries(operations).flatMap(([method, { responses }]) =>
    Object.entries(responses).flatMap(([status, response]) =>
      Object.keys(resolve(response).content ?? { '': {} }).map((type) =>
        `${method.toUpperCase()} ${where} ${status} ${type}`.trim(),
      ),
    ),
  ),
);

export interface Question {
  /** Default `admin`. */
  as?: Caller;
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is a string, bytes or a stream. */
  body?: unknown;
  /** Default: `application/json` if there is a body. */
  type?: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text if the type is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: its schema has been checked
  json: any;
  /** Its body has not been read yet if it is an event stream. */
  response: Response;
}

/** A handler that gets the caller from the request, and `ask`, which checks each response against the document. */
export function door(service: UpdateApi, settings: Partial<ValidatedInstanceOptions> = {}) {
  const logged: LogEntry[] = [];
  const handle = createRequestHandler(service, {
    path,
    authorize: ({ headers }) => JSON.parse(headers.get('x-caller') ?? 'null') as Caller,
    log: (entry) => logged.push(entry),
    ...settings,
  });

  async function ask(method: string, where = '', question: Question = {}): Promise<Answer> {
    const response = await handle(request(method, where, question));
    return check(method, new URL(`${origin}${path}${where}`).pathname, response);
  }

  return { ask, handle, logged };
}

export function request(method: string, where = '', { as = 'admin', headers, body, type }: Question = {}) {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;
  const contentType = type === undefined && body !== undefined ? 'application/json' : type;
  return new Request(`${origin}${path}${where}`, {
    method,
    headers: {
      ...(as ? { 'x-caller': JSON.stringify(as) } : {}),
      ...(contentType ? { 'content-type': contentType } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body), duplex: 'half' }),
  });
}

/** A body of unknown length. */
export const stream = (...chunks: Uint8Array[]) => ReadableStream.from(chunks);

/** Checks a response against the document. */
export async function check(method: string, where: string, response: Response): Promise<Answer> {
  const { status, headers } = response;
  const said = describedResponse(method, where, status);
  assert.ok(said !== undefined, `${method} ${where} ${status} is not described`);

  const type = method === 'HEAD' ? null : headers.get('content-type');
  seen.add(`${method} ${where} ${status} ${type ?? ''}`.trim());
  const text = type === 'text/event-stream' ? '' : await response.text();
  if (method === 'HEAD') assert.equal(text, '');
  else if (type === null) assert.deepEqual([text, said.content], ['', undefined]);
  else assert.ok(Object.hasOwn(said.content ?? {}, type), type);

  const json = type?.endsWith('json') ? JSON.parse(text) : undefined;
  if (json !== undefined) expectValid(said.content?.[type ?? '']?.schema ?? {}, json);
  if (type === 'application/problem+json') assert.equal(json.status, status);

  for (const [name, described] of Object.entries(said.headers ?? {})) {
    const { required, schema } = resolve(described);
    if (required) assert.ok(headers.has(name), name);
    if (headers.has(name)) expectValid(schema ?? {}, headers.get(name));
  }
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.ok(!(text + JSON.stringify([...headers])).includes(secret.split(' ')[0] ?? ''));
  return { status, headers, text, json, response };
}

function describedResponse(method: string, where: string, status: number): ResponseObject | undefined {
  const operations = document.paths[where];
  const { NotFound, MethodNotAllowed, ...others } = document.components.responses;
  // The caller is authorized before the path is checked.
  const before: Record<number, ResponseObject | undefined> = {
    401: others.Unauthorized,
    500: others.InternalError,
    503: others.Unavailable,
  };
  if (!operations) return status === 404 ? NotFound : before[status];
  const operation = Object.hasOwn(operations, method.toLowerCase())
    ? operations[method.toLowerCase()]
    : undefined;
  if (!operation) return status === 405 ? MethodNotAllowed : before[status];
  const response = operation.responses[status];
  return response && resolve(response);
}

function resolve<T extends { $ref?: string }>(object: T): T {
  if (object.$ref === undefined) return object;
  return object.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document) as T;
}

/** The document allows unknown members and values in responses. This server must only send those that are described. */
const closed = close(document) as Document;
function close(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(close);
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, close(one)]));
  const words = inner['x-extensible-enum'];
  const isObject = inner.type === 'object' && inner.properties !== undefined;
  return {
    ...inner,
    ...(words === undefined ? {} : { enum: words }),
    ...(isObject ? { additionalProperties: false } : {}),
  };
}

const ajv = new Ajv2020({ allErrors: true });
formats.default(ajv);
ajv.addVocabulary(['components', 'x-extensible-enum']);
const validators = new Map<string, ValidateFunction>();

/** Validates a value with a schema of the document, both as published and without unknown members. */
export function expectValid(schema: object, value: unknown): void {
  for (const { components } of [document, closed]) {
    const key = JSON.stringify([schema, components === closed.components]);
    const validate = validators.get(key) ?? ajv.compile({ allOf: [schema], components });
    validators.set(key, validate);
    assert.ok(validate(value), `${JSON.stringify(validate.errors)} of ${JSON.stringify(value)}`);
  }
}
