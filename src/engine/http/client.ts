import { Readable } from 'node:stream';
import { isUnsupportedVersionResponse, negotiateApiVersion, toVersionedPath } from './api-version.ts';
import type { EngineConnection } from './engine-connection.ts';
import { createResponseError, EngineError } from './engine-error.ts';
import { requireJsonObject } from './lines.ts';
import {
  awaitWithDeadline,
  type EngineRequest,
  type EngineResponse,
  type EngineStream,
  openStream,
  readResponseBody,
  requestNameOf,
  sendEngineRequest,
} from './request.ts';

const versionPath = '/version';

/** Limits for an error response: the first 64 KiB are enough to recognize a proxy's error page. */
const errorBodyLimits = { limit: 64 * 1024, cut: true };

/**
 * Client for the engine's API. The first request selects the newest API version that the engine and this program
 * support. All methods throw EngineError, or the signal's reason.
 */
export class EngineClient {
  /** Latest response to `GET /version`; null before the first response. */
  versionResponse: Record<string, unknown> | null = null;
  /** API version of the last response; empty if the engine does not report it. */
  apiVersion = '';
  readonly #targetOf: () => EngineConnection;
  readonly #deadlineMs: number;
  /** API version for requests. Reset after a failed request, because another engine may respond next. */
  #version: Promise<string | null> | null = null;

  /** @param deadlineMs - time limit in milliseconds for `GET /version` */
  constructor(targetOf: () => EngineConnection, deadlineMs: number) {
    this.#targetOf = targetOf;
    this.#deadlineMs = deadlineMs;
  }

  /** Sends a request and returns the response, whatever its status. */
  sendRequest(question: EngineRequest): Promise<EngineResponse> {
    return this.#versioned(question, async (requested) => {
      const response = await sendEngineRequest(this.#targetOf(), requested);
      if (question.path === versionPath && response.status === 200)
        this.#version = Promise.resolve(this.#learn(response));
      return response;
    });
  }

  /** Opens a streamed response. Fails after an error status, or if nothing arrives for `silenceMs` milliseconds. */
  async openStream(question: EngineRequest, silenceMs: number): Promise<EngineStream> {
    const opened = await this.#versioned(question, async (requested) => {
      const stream = await openStream(this.#targetOf(), requested, silenceMs);
      const isRefusal = stream.status >= 300;
      const refusal = isRefusal
        ? await readResponseBody(stream, { ...requested, ...errorBodyLimits }, requested.deadlineMs)
        : null;
      return { ...stream, body: refusal ?? Buffer.alloc(0) };
    });
    if (opened.status >= 300) throw createResponseError(requestNameOf(question), opened);
    return opened;
  }

  /**
   * Sends a request with the API version in its path. Like the docker command, omits the version from `HEAD` requests.
   */
  async #versioned<T extends EngineResponse>(
    question: EngineRequest,
    send: (requested: EngineRequest) => Promise<T>,
  ): Promise<T> {
    const { deadlineMs, method, path, body } = question;
    const endsAt = performance.now() + deadlineMs;
    question.signal?.throwIfAborted();
    for (let isFirst = true; ; isFirst = false) {
      const left = () => Math.max(1, endsAt - performance.now());
      try {
        const isPlain = path === versionPath || method === 'HEAD';
        const version = isPlain ? null : await awaitWithDeadline(this.#agree(), left(), question);
        const response = await send({
          ...question,
          path: toVersionedPath(version, path),
          deadlineMs: left(),
        });
        if (!isFirst || body instanceof Readable || !isUnsupportedVersionResponse(response)) {
          const { apiVersion } = response;
          if (!isPlain) this.apiVersion = version ?? apiVersion;
          return { ...response, apiVersion: version ?? apiVersion };
        }
        // Another engine has replaced the engine that reported its version, so request the version again.
        this.#version = null;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        this.#version = null;
        if (error.code !== 'late') throw error;
        const message = `the engine did not answer within ${deadlineMs / 1000} s (${requestNameOf(question)})`;
        throw new EngineError('late', message, { cause: error });
      }
    }
  }

  /**
   * Returns the API version for requests. Returns null if the engine does not report its version, or if a proxy blocks
   * `GET /version`: the engine then uses its newest version.
   */
  #agree(): Promise<string | null> {
    const requested = { method: 'GET', path: versionPath, deadlineMs: this.#deadlineMs } as const;
    this.#version ??= sendEngineRequest(this.#targetOf(), requested).then((response) =>
      response.status === 200 ? this.#learn(response) : null,
    );
    return this.#version;
  }

  #learn({ body }: EngineResponse): string | null {
    this.versionResponse = requireJsonObject(body.toString());
    return negotiateApiVersion(this.versionResponse);
  }
}
