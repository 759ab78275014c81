import { setTimeout as sleep } from 'node:timers/promises';
import { sleepFor } from '../core/cancellation/wait-until.ts';
import { type NotificationAddress, parseNotificationAddress } from './address.ts';
import { createNotificationBody, type Notification } from './notification.ts';

const deadlineMs = 5_000;
const nothing = { version: null, from: null, outcome: null, code: null, url: null };

/** Posts notifications in the background (docs/contract.md 6.12). No method throws or rejects. */
export class Notifier {
  /** Addresses to which further notifications are posted. */
  addresses: readonly string[] = [];
  readonly #product: string;
  readonly #warn: (message: string) => void;
  readonly #pausesMs: readonly number[];
  readonly #over = new AbortController();
  readonly #posts = new Set<Promise<void>>();

  constructor(product: string, warn: (message: string) => void, pausesMs = [2_000, 10_000]) {
    this.#product = product;
    this.#warn = warn;
    this.#pausesMs = pausesMs;
  }

  send(facts: Pick<Notification, 'event' | 'message'> & Partial<Notification>): void {
    for (const address of this.addresses.map(parseNotificationAddress)) {
      if (address === null) continue;
      const post: Promise<void> = this.#post(address, { product: this.#product, ...nothing, ...facts })
        // The log function of the application may throw, but `send` must not.
        .catch(() => {})
        .finally(() => this.#posts.delete(post));
      this.#posts.add(post);
    }
  }

  /** Posts a notification that a run is about to change the instance. */
  announceRun(from: string, version: string): void {
    const message = `changing the version from ${from} to ${version}`;
    this.send({ event: 'started', from, version, message });
  }

  /**
   * Waits at most `graceMs`, then cancels the notifications that are still in progress. Returns whether all were posted
   * in time.
   */
  async close(graceMs: number): Promise<boolean> {
    const all = Promise.all(this.#posts).then(() => true);
    const { signal } = this.#over;
    const late = sleep(graceMs, false, { signal }).catch(() => false);
    const isDone = await Promise.race([all, late]);
    this.#over.abort();
    await all;
    return isDone;
  }

  async #post(address: NotificationAddress, notification: Notification): Promise<void> {
    const { signal } = this.#over;
    const body = JSON.stringify(createNotificationBody(notification, address));
    let failure = await postOnce(address, body, signal);
    for (const pauseMs of this.#pausesMs) {
      if (failure === null || signal.aborted) break;
      await sleepFor(pauseMs, signal, false);
      if (!signal.aborted) failure = await postOnce(address, body, signal);
    }
    if (failure === null) return;
    this.#warn(`cannot post the notification "${notification.event}" to ${address.url.host}: ${failure}`);
  }
}

/**
 * Returns why a post failed; null if the post succeeded. Error messages are not returned, because they may contain the
 * address.
 */
async function postOnce({ url, headers }: NotificationAddress, body: string, over: AbortSignal) {
  const signal = AbortSignal.any([over, AbortSignal.timeout(deadlineMs)]);
  try {
    const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal });
    await answer.body?.cancel();
    return answer.ok ? null : `HTTP status ${answer.status}`;
  } catch (error) {
    if (signal.aborted) return 'no response before the timeout';
    const { code, message = '' } = Object((error as Error).cause);
    // Return only an error code or a few lower-case words, because any other text may contain the address.
    return /^(?:\w+|[a-z ]+)$/.exec(code ?? message)?.[0] ?? 'the request failed';
  }
}
