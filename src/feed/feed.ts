import type { Release } from '../release/channel.ts';
import { type FeedAnswer, readFeed } from './feed-check.ts';
import { FeedError, reasonOf } from './feed-error.ts';
import type { FeedOptions, LogEntry } from './feed-options.ts';

const minute = 60_000;
const interval = 10 * minute;
const longestPause = 240 * minute;
const longestWait = 24 * 60 * minute;

/** What is published, read every ten minutes and kept in memory (docs/contract.md 8.9). */
export interface Feed {
  /** What was read last; empty before that. */
  readonly releases: readonly Release[];
  /** When a check last succeeded; that nothing had changed is a success, too. */
  readonly checkedAt: Date | null;
  /** First check at once, then every ten minutes, with jitter. */
  start(): void;
  /** Checks now; joins a check under way; does nothing while a rate limit forbids it. Never rejects. */
  check(): Promise<void>;
  /** Ends the timer and a check under way. */
  close(): void;
}

/** `onCheck` is called after each check that succeeded. The log hears of the first failure in a row, and of its end. */
export function createFeed(
  options: FeedOptions,
  log: (entry: LogEntry) => void,
  onCheck: () => void = () => {},
): Feed {
  const { host } = new URL(options.url);
  const closing = new AbortController();
  let answer: FeedAnswer | null = null;
  let checkedAt: Date | null = null;
  let failures = 0;
  let forbiddenUntil = 0;
  let underWay: Promise<void> | null = null;
  let started = false;
  let timer: NodeJS.Timeout | undefined;

  async function read(): Promise<void> {
    let fresh: FeedAnswer | null;
    try {
      fresh = await readFeed(options, answer?.validators ?? null, closing.signal);
    } catch (error) {
      if (!closing.signal.aborted) fail(error);
      return;
    }
    if (closing.signal.aborted) return;
    answer = fresh ?? answer;
    checkedAt = new Date();
    const mended = failures > 0;
    failures = 0;
    if (mended) log({ level: 'info', message: `The releases at ${host} can be read again.` });
    onCheck();
  }

  function fail(error: unknown): void {
    failures++;
    const wait = error instanceof FeedError ? error.wait : null;
    if (wait) forbiddenUntil = Date.now() + wait;
    if (failures > 1) return;
    const until = wait ? `, and wants no request before ${new Date(forbiddenUntil).toISOString()}` : '';
    // Only the host of the address is told: a token may be in any other part of it.
    const message = `The releases at ${host} cannot be read: ${reasonOf(error)}${until}. What was read last stays.`;
    log({ level: 'warn', message });
  }

  /** A clock that was set back must not make a wait longer than any that is given. */
  function forbiddenFor(): number {
    const rest = forbiddenUntil - Date.now();
    return rest > longestWait ? 0 : rest;
  }

  function check(): Promise<void> {
    if (underWay) return underWay;
    if (closing.signal.aborted || forbiddenFor() > 0) return Promise.resolve();
    underWay = read()
      // Only `onCheck` can throw here, which is the host's code.
      .catch((cause) =>
        log({ level: 'error', message: 'What follows a check of the releases failed.', cause }),
      )
      .catch(() => {})
      .finally(() => {
        underWay = null;
        schedule();
      });
    return underWay;
  }

  function schedule(): void {
    if (!started || closing.signal.aborted) return;
    const pause =
      Math.min(interval * 2 ** Math.max(failures - 1, 0), longestPause) * (0.9 + 0.2 * Math.random());
    // The check comes a little later than the forge allows, so that not all instances ask in the same second.
    const allowed = forbiddenFor() + minute * Math.random();
    clearTimeout(timer);
    timer = setTimeout(tick, Math.max(pause, allowed));
    timer.unref();
  }

  function tick(): void {
    void check();
    // No check began: it is still forbidden, for example because the clock was set back.
    if (!underWay) schedule();
  }

  return {
    get releases() {
      return answer?.releases ?? [];
    },
    get checkedAt() {
      return checkedAt;
    },
    start() {
      if (started) return;
      started = true;
      tick();
    },
    check,
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
