import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { Listeners } from './listeners.ts';

interface Pace {
  /** Milliseconds between two looks. */
  pause: number;
  /** What has the next look come at once. */
  wakenBy?: keyof UpdateEvents;
  listeners: Listeners;
  closing: AbortSignal;
}

/** Looks again and again until the server closes. `onFailure` is told of a look that failed before that. */
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
