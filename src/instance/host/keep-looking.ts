import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { Listeners } from './listeners.ts';

/** A check that is repeated until the server closes. */
export interface RepeatedCheck {
  /** Milliseconds between two checks. */
  readonly pause: number;
  /** The event that triggers the next check at once. */
  readonly wakenBy?: keyof UpdateEvents;
  look(): Promise<void>;
  onFailure(cause: Error): void;
}

/** Repeats a check until the server closes. */
export async function keepLooking(
  check: RepeatedCheck,
  { listeners, closing }: { listeners: Listeners; closing: AbortSignal },
): Promise<void> {
  let news = new AbortController();
  if (check.wakenBy) listeners.on(check.wakenBy, () => news.abort());
  while (!closing.aborted) {
    news = new AbortController();
    await check.look().catch((cause: Error) => {
      if (!closing.aborted) check.onFailure(cause);
    });
    const signal = AbortSignal.any([closing, news.signal]);
    await sleep(check.pause, undefined, { signal, ref: false }).catch(() => {});
  }
}
