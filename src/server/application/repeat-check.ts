import { sleepFor } from '../../core/cancellation/wait-until.ts';
import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { UpdateEventListeners } from './listeners.ts';

export interface RepeatedCheck {
  /** Milliseconds between two checks. */
  readonly pauseMs: number;
  /** Event that triggers the next check immediately. */
  readonly wakenBy?: keyof UpdateEvents;
  check(): Promise<void>;
  onFailure(cause: Error): Promise<void>;
}

/** Repeats a check until the server closes. Resolves after the first check. */
export function repeatCheck(
  check: RepeatedCheck,
  { listeners, closing }: { listeners: UpdateEventListeners; closing: AbortSignal },
): Promise<void> {
  let news = new AbortController();
  if (check.wakenBy) listeners.on(check.wakenBy, () => news.abort());
  const look = async () => {
    if (closing.aborted) return;
    news = new AbortController();
    try {
      await check.check();
    } catch (cause) {
      // Ignore errors from `onFailure`, because the check is repeated anyway.
      if (!closing.aborted) await check.onFailure(cause as Error).catch(() => {});
    }
  };
  const repeat = async () => {
    while (!closing.aborted) {
      const signal = AbortSignal.any([closing, news.signal]);
      await sleepFor(check.pauseMs, signal, false);
      await look();
    }
  };
  return look().then(() => void repeat());
}
