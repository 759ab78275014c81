import { Readable } from 'node:stream';
import { apiVersion, inVersion, isVersionRefusal } from './api-version.ts';
import { EngineError, refusalError } from './engine-error.ts';
import { objectOf } from './lines.ts';
import {
  ask,
  bodyOf,
  type EngineAnswer,
  type EngineQuestion,
  type EngineStream,
  inTime,
  openStream,
  requestName,
} from './request.ts';
import type { EngineTarget } from './target.ts';

const whoAreYou = '/version';

/** Of a page that a proxy sends in place of an answer, so many bytes are enough to tell what it is. */
const ofRefusal = { limit: 64 * 1024, cut: true };

/**
 * The one client of the engine's API, for the updater and for the server library. Asks in the version of the API that both
 * know, which is part of the first question. All methods throw EngineError, and the reason of the signal.
 */
export class EngineClient {
  /** What the engine said of itself when it was asked last; null before. */
  about: Record<string, unknown> | null = null;
  /** The version of the API of the last answer; empty if the engine does not report it. */
  apiVersion = '';
  readonly #targetOf: () => EngineTarget;
  readonly #deadlineMs: number;
  /** Forgotten when no answer comes, as an engine may come back as another. */
  #version: Promise<string | null> | null = null;

  /** @param deadlineMs of the question for the version */
  constructor(targetOf: () => EngineTarget, deadlineMs: number) {
    this.#targetOf = targetOf;
    this.#deadlineMs = deadlineMs;
  }

  /** Gives any answer, also a refusal. */
  ask(question: EngineQuestion): Promise<EngineAnswer> {
    return this.#versioned(question, async (asked) => {
      const answer = await ask(this.#targetOf(), asked);
      if (question.path === whoAreYou && answer.status === 200)
        this.#version = Promise.resolve(this.#learn(answer));
      return answer;
    });
  }

  /** For an answer that goes on; a silence of more than `silenceMs` is a fault, and so is a refusal. */
  async open(question: EngineQuestion, silenceMs: number): Promise<EngineStream> {
    const opened = await this.#versioned(question, async (asked) => {
      const stream = await openStream(this.#targetOf(), asked, silenceMs);
      const isRefusal = stream.status >= 300;
      const refusal = isRefusal ? await bodyOf(stream, { ...asked, ...ofRefusal }, asked.deadlineMs) : null;
      return { ...stream, body: refusal ?? Buffer.alloc(0) };
    });
    if (opened.status >= 300) throw refusalError(requestName(question), opened);
    return opened;
  }

  /** `HEAD` is asked in no version, as the docker command does. */
  async #versioned<T extends EngineAnswer>(
    question: EngineQuestion,
    send: (asked: EngineQuestion) => Promise<T>,
  ): Promise<T> {
    const { deadlineMs, method, path, body } = question;
    const endsAt = performance.now() + deadlineMs;
    question.signal?.throwIfAborted();
    for (let isFirst = true; ; isFirst = false) {
      const left = () => Math.max(1, endsAt - performance.now());
      try {
        const isPlain = path === whoAreYou || method === 'HEAD';
        const version = isPlain ? null : await inTime(this.#agree(), left(), question);
        const answer = await send({ ...question, path: inVersion(version, path), deadlineMs: left() });
        if (!isFirst || body instanceof Readable || !isVersionRefusal(answer)) {
          const { apiVersion } = answer;
          if (!isPlain) this.apiVersion = version ?? apiVersion;
          return { ...answer, apiVersion: version ?? apiVersion };
        }
        // Another engine has taken the place of the one that was asked for its version.
        this.#version = null;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        this.#version = null;
        if (error.code !== 'late') throw error;
        const message = `the engine did not answer within ${deadlineMs / 1000} s (${requestName(question)})`;
        throw new EngineError('late', message, { cause: error });
      }
    }
  }

  /** Null if the engine does not report it, or a proxy blocks the request: the engine then uses its newest. */
  #agree(): Promise<string | null> {
    const asked = { method: 'GET', path: whoAreYou, deadlineMs: this.#deadlineMs } as const;
    this.#version ??= ask(this.#targetOf(), asked).then((answer) =>
      answer.status === 200 ? this.#learn(answer) : null,
    );
    return this.#version;
  }

  #learn({ body }: EngineAnswer): string | null {
    this.about = objectOf(body.toString());
    return apiVersion(this.about);
  }
}
