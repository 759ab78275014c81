import {
  type EngineCall,
  type EngineCallName,
  type EngineTimeouts,
  engineCalls,
  usualTimeouts,
} from './engine-calls.ts';
import { EngineClient } from './http/client.ts';
import { type EngineConnection, parseEngineConnection } from './http/engine-connection.ts';
import { createResponseError, EngineError } from './http/engine-error.ts';
import { parseObjectLines } from './http/lines.ts';
import type { EngineRequest, EngineResponse, EngineStream } from './http/request.ts';
import { type Json, toObject } from './objects/json.ts';
import { isPodman } from './objects/podman.ts';

/** Filters for a list or for events, such as `{ label: ['svc.role=worker'] }`. */
export type EngineFilters = Readonly<Record<string, readonly string[]>>;

export interface EngineRequestOptions {
  /** Values for the placeholders in the call's `path` and `purpose`. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  filters?: EngineFilters;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** Replaces the call's own deadline. */
  deadlineMs?: number;
  limit?: number;
  cut?: boolean;
  signal?: AbortSignal;
  /** Whether to omit the response from error messages, because it may repeat secrets from the request. */
  isSecret?: boolean;
}

/** Sends the calls in `engine-calls.ts` to an engine. The subclass `EngineApi` has a method for each call. */
export class EngineRequestSender {
  /** Path of the socket, or the engine's `tcp://` address. */
  readonly path: string;
  protected readonly client: EngineClient;
  protected readonly timeouts: EngineTimeouts;

  /**
   * @param location - path of a socket, or an address such as `unix://…` or `tcp://…`
   * @throws TypeError for any other address
   */
  constructor(location: string, more: { client?: EngineClient; timeouts?: Partial<EngineTimeouts> } = {}) {
    this.path = location.replace(/^unix:\/\//, '');
    this.timeouts = { ...usualTimeouts, ...more.timeouts };
    this.client = more.client ?? new EngineClient(targetAt(location), this.timeouts.query);
  }

  /** Whether the engine is Podman; false before the first call. */
  get isPodman(): boolean {
    return isPodman(this.client.versionResponse ?? {});
  }

  /** API version used for requests; empty if the engine does not report one. */
  get apiVersion(): string {
    return this.client.apiVersion;
  }

  /** @throws EngineError for a status that the call does not accept */
  async request(name: EngineCallName, options: EngineRequestOptions = {}): Promise<EngineResponse> {
    const call: EngineCall = engineCalls[name];
    const response = await this.exchange(call, this.#questionOf(call, options));
    if (response.status < 300) return response;
    const shown = options.isSecret ? { ...response, body: Buffer.alloc(0) } : response;
    const error = createResponseError(fillIn(call.call, options), shown);
    if (call.accepted?.includes(response.status) && error.code !== 'refused-by-proxy') return response;
    throw this.toCallerError(error, purposeOf(call, options));
  }

  /** Sends a request whose response is a stream. @throws EngineError */
  async open(name: EngineCallName, options: EngineRequestOptions, silenceMs: number): Promise<EngineStream> {
    return this.openStream(this.#questionOf(engineCalls[name], options), silenceMs);
  }

  protected openStream(question: EngineRequest, silenceMs: number): Promise<EngineStream> {
    return this.client.openStream(question, silenceMs);
  }

  protected exchange(_: EngineCall, question: EngineRequest): Promise<EngineResponse> {
    return this.client.sendRequest(question);
  }

  /**
   * Converts an EngineError to the error that callers receive. Subclasses override this method.
   * @param _purpose - action that the engine failed to perform; undefined if there was no usable response
   */
  protected toCallerError(error: EngineError, _purpose?: string): Error {
    return error;
  }

  /** @throws EngineError not-an-engine if the response has an unexpected form */
  protected parse<T, R>(raw: T, read: (raw: T) => R): R {
    try {
      return read(raw);
    } catch (cause) {
      const message = `the response is not from a container engine: ${(cause as Error).message}`;
      throw this.toCallerError(new EngineError('not-an-engine', message, { cause }));
    }
  }

  protected async readEvents(
    name: EngineCallName,
    options: EngineRequestOptions,
    silenceMs: number,
    onEvent: (event: Json) => void,
  ): Promise<void> {
    const { chunks } = await this.open(name, options, silenceMs);
    for await (const event of parseObjectLines(chunks)) {
      const error = event.error ?? toObject(event.errorDetail).message;
      if (typeof error === 'string') throw new EngineError('refused', error, { status: 500 });
      onEvent(event);
    }
  }

  protected async getJson(name: EngineCallName, options: EngineRequestOptions = {}): Promise<Json> {
    return this.parse((await this.request(name, options)).body, parseJsonBody);
  }

  #questionOf(
    call: EngineCall,
    { params = {}, query, filters, isSecret: _, ...more }: EngineRequestOptions,
  ): EngineRequest {
    const [method, filled] = fillIn(call.call, { params }).split(' ') as [EngineRequest['method'], string];
    const parameters = `${new URLSearchParams({ ...query, ...(filters && { filters: JSON.stringify(filters) }) })}`;
    const { deadline = 'query' } = call;
    const timeouts = { ...this.timeouts, none: Number.POSITIVE_INFINITY };
    const deadlineMs = typeof deadline === 'number' ? deadline : timeouts[deadline];
    return { method, path: filled + (parameters && `?${parameters}`), deadlineMs, ...more };
  }
}

const fillIn = (text: string, { params = {} }: EngineRequestOptions): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, key) => inPath(params[key] ?? ''));

const purposeOf = ({ call, purpose }: EngineCall, { params = {} }: EngineRequestOptions): string =>
  purpose?.replaceAll(/\{(\w+)\}/g, (_, key) =>
    (params[key] ?? '').replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, '$1'),
  ) ?? `answer (${fillIn(call, { params })})`;

function targetAt(location: string): () => EngineConnection {
  const target = parseEngineConnection(location.startsWith('/') ? `unix://${location}` : location);
  return () => target;
}

const inPath = (text: string): string => text.split('/').map(encodeURIComponent).join('/');
export const parseJsonBody = (body: Buffer): Json => {
  const value = JSON.parse(body.toString());
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('no object');
  return value;
};
