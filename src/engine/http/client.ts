import { apiVersion, inVersion, isVersionRefusal } from './api-version.ts';
import { EngineFault, refusalFault } from './fault.ts';
import { objectOf } from './lines.ts';
import {
  ask,
  bodyOf,
  type EngineQuestion,
  type EngineStream,
  inTime,
  nameOf,
  openStream,
} from './request.ts';
import type { EngineTarget } from './target.ts';

/** Without a deadline of its own, it has the client's. */
type Question = Omit<EngineQuestion, 'deadlineMs'> & { deadlineMs?: number };

/** Of a page that a proxy sends in place of an answer, so many bytes are enough to tell what it is. */
const ofRefusal = { limit: 64 * 1024, cut: true };

/**
 * Asks an engine in the version of the API that both know, and takes no refusal for an answer. All methods throw
 * EngineFault, and the reason of the signal.
 */
export class EngineClient {
  readonly #target: EngineTarget;
  readonly #deadlineMs: number;
  /** Forgotten with every fault, as an engine may come back as another. */
  #version: Promise<string | null> | null = null;

  constructor(target: EngineTarget, deadlineMs: number) {
    this.#target = target;
    this.#deadlineMs = deadlineMs;
  }

  async get(path: string, more: Omit<Partial<Question>, 'method'> = {}): Promise<Record<string, unknown>> {
    return objectOf((await this.ask({ ...more, method: 'GET', path })).toString());
  }

  /** Gives the body of the answer. */
  ask(question: Question): Promise<Buffer> {
    return this.#versioned(question, async (asked) => {
      const answer = await ask(this.#target, asked);
      if (answer.status < 300) return answer.body;
      throw refusalFault(nameOf(question), answer);
    });
  }

  /** For an answer that goes on; a silence of more than `silenceMs` is a fault. */
  open(question: Question, silenceMs: number): Promise<EngineStream> {
    return this.#versioned(question, async (asked) => {
      const stream = await openStream(this.#target, asked, silenceMs);
      const { status, chunks } = stream;
      if (status < 300) return stream;
      const beginning = bodyOf(chunks, { ...asked, ...ofRefusal });
      const body = await inTime(beginning, asked.deadlineMs, asked).finally(() => stream.close());
      throw refusalFault(nameOf(question), { status, body });
    });
  }

  /** Finding the version counts as a part of the question. */
  async #versioned<T>(question: Question, send: (asked: EngineQuestion) => Promise<T>): Promise<T> {
    const { deadlineMs = this.#deadlineMs } = question;
    const endsAt = performance.now() + deadlineMs;
    question.signal?.throwIfAborted();
    for (let isFirst = true; ; isFirst = false) {
      const left = () => Math.max(1, endsAt - performance.now());
      try {
        this.#version ??= this.#negotiate();
        const version = await inTime(this.#version, left(), question);
        return await send({ ...question, path: inVersion(version, question.path), deadlineMs: left() });
      } catch (error) {
        if (!(error instanceof EngineFault)) throw error;
        const { kind, status, message: said } = error;
        if (kind !== 'refused' || status === null || status === 400 || status >= 500) this.#version = null;
        // Another engine has taken the place of the one that was asked for its version.
        if (isFirst && isVersionRefusal({ status, said })) continue;
        if (kind !== 'late') throw error;
        const message = `the engine did not answer within ${deadlineMs / 1000} s (${nameOf(question)})`;
        throw new EngineFault('late', message, { cause: error });
      }
    }
  }

  /** Null if the engine does not report it, or a proxy blocks the request: the engine then uses its newest. */
  async #negotiate(): Promise<string | null> {
    const asked = { method: 'GET', path: '/version', deadlineMs: this.#deadlineMs } as const;
    const { status, body } = await ask(this.#target, asked);
    return status === 200 ? apiVersion(objectOf(body.toString())) : null;
  }
}
