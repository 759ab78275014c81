import { readResponseText } from '../../wire/read-response.ts';
import { retryWithBackoff } from '../application/retry-with-backoff.ts';
import type { Job, JobQueue } from '../contract/instance-options.ts';
import { UnavailableError } from '../run/update-api.ts';
import type { ServeSettings } from './serve-settings.ts';

/** Headers by which the product identifies a user. */
interface UserHeaders {
  cookie: string | null;
  authorization: string | null;
}

interface CallbackSettings extends Pick<ServeSettings, 'secret'> {
  callbacksUrl: string;
}

/** Time limits and intervals in milliseconds. */
const defaultWaits = {
  /** Time limit of one request. */
  request: 5_000,
  /** A failed callback is retried for this many ms. The library waits longer for a result: ten seconds. */
  attempts: 9_000,
  pause: 250,
  /** Interval at which the queue's state is sent again, because the product loses it when it restarts. */
  repeat: 10_000,
};

/** Client for the product's callbacks (docs/contract.md 8.46), which control its job queue and identify its users. */
export class ProductCallbackClient implements JobQueue {
  readonly #product: CallbackSettings;
  readonly #waits: typeof defaultWaits;
  readonly #repeating: NodeJS.Timeout;
  #wanted: 'hold' | 'release' | null = null;
  #last: Promise<void> = Promise.resolve();
  /** Callbacks whose last request failed. */
  readonly #failing = new Set<string>();

  constructor(product: CallbackSettings, waits = defaultWaits) {
    this.#product = product;
    this.#waits = waits;
    this.#repeating = setInterval(() => void this.#send().catch(() => {}), waits.repeat).unref();
  }

  close(): void {
    clearInterval(this.#repeating);
  }

  hold(): Promise<void> {
    this.#wanted = 'hold';
    return this.#retried('queue', () => this.#send());
  }

  resume(): Promise<void> {
    this.#wanted = 'release';
    return this.#retried('queue', () => this.#send());
  }

  /** Returns the jobs from the product. The library validates each job later. */
  jobs(): Promise<Job[]> {
    return this.#retried('jobs', async () => {
      const jobs = jsonOf(await this.#ask('GET', 'jobs'));
      if (!Array.isArray(jobs)) throw new Error('the response to GET jobs is not a list');
      return jobs;
    });
  }

  /** Returns the product's response without validation; null if the user is not logged in. @throws UnavailableError */
  async user({ cookie, authorization }: UserHeaders): Promise<unknown> {
    const headers = {
      ...(cookie !== null && { Cookie: cookie }),
      ...(authorization !== null && { 'X-Forwarded-Authorization': authorization }),
    };
    const unknown = (cause: unknown) => {
      if (cause instanceof ProductResponseError && cause.status === 401) return null;
      throw cause;
    };
    const requested = this.#ask('GET', 'user', headers).then(jsonOf).catch(unknown);
    return this.#reported('user', requested).catch((cause) => {
      throw new UnavailableError('the product did not identify the sender of a request', { cause });
    });
  }

  /** Sends the queue's wanted state, one request at a time, so that the newest state arrives last. */
  #send(): Promise<void> {
    const sent = this.#last.then(async () => {
      if (this.#wanted !== null) await this.#ask('POST', `queue/${this.#wanted}`);
    });
    this.#last = sent.catch(() => {});
    return sent;
  }

  async #retried<T>(name: string, attempt: () => Promise<T>): Promise<T> {
    let cause: unknown;
    const failed = (error: unknown) => {
      cause = error;
      return true;
    };
    const { pause, attempts } = this.#waits;
    const times = { retry: pause, longestRetry: 4 * pause };
    const result = await retryWithBackoff(
      async () => ({ value: await attempt() }),
      failed,
      times,
      AbortSignal.timeout(attempts),
    );
    return this.#reported(name, result === null ? Promise.reject(cause) : Promise.resolve(result.value));
  }

  /**
   * Returns a callback's result. Throws its first failure unchanged.
   * @throws RepeatedCallbackFailureError for each further failure until the callback succeeds
   */
  async #reported<T>(name: string, requested: Promise<T>): Promise<T> {
    try {
      const result = await requested;
      this.#failing.delete(name);
      return result;
    } catch (cause) {
      if (this.#failing.has(name))
        throw new RepeatedCallbackFailureError(`the callback ${name} is still failing`, { cause });
      this.#failing.add(name);
      throw cause;
    }
  }

  /** Returns the text of a successful response. @throws ProductResponseError, or any error from fetch */
  async #ask(method: 'GET' | 'POST', path: string, headers: Record<string, string> = {}): Promise<string> {
    const { callbacksUrl, secret } = this.#product;
    const response = await fetch(`${callbacksUrl.replace(/\/$/, '')}/${path}`, {
      method,
      headers: { ...headers, Authorization: `Bearer ${secret}` },
      redirect: 'error',
      signal: AbortSignal.timeout(this.#waits.request),
    });
    const text = await readResponseText(response);
    if (!response.ok) throw new ProductResponseError(`${method} ${path}`, response.status);
    if (text === null) throw new Error(`the response to ${method} ${path} is too large`);
    return text;
  }
}

/** Callback failure that is not logged, because the callback's first failure is already in the log. */
export class RepeatedCallbackFailureError extends Error {}

class ProductResponseError extends Error {
  readonly status: number;

  constructor(request: string, status: number) {
    super(`the product responded to ${request} with status ${status}`);
    this.status = status;
  }
}

// The callers validate the parsed value.
const jsonOf = (text: string) => JSON.parse(text);
