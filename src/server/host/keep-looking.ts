import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { Listeners } from './listeners.ts';

interface Pace {
  /** Milliseconds between two checks. */
  pause: number;
  /** The event that triggers the next check at once. */
  wakenBy?: keyof UpdateEvents;
  listeners: Listeners;
  closing: AbortSignal;
}

/** Repeats a check until the server closes. `onFailure` is called with its errors. */
export async function keepLooking(
  look: () => Promise<void>,
  onFailure: (cause: Error) => void,
  { pause, wakenBy, listeners, closing }: Pace,
): Promise<void> {
  let news = new AbortController();
  if (wakenBy) listeners.on(wakenBy, () => news.abort());
  while (!closing.aborted) {
    news = new AbortController();
    await look().catch((cause: Error) => {
      if (!closing.aborted) onFailure(cause);
    });
    const signal = AbortSignal.any([closing, news.signal]);
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
  }
}
