import { type Channel, newestOn, type Release } from '../release/channel.ts';
import { FeedError, reasonOf } from './feed-error.ts';
import type { FeedOptions } from './follow.ts';
import { type FeedAnswer, readFeed } from './read-feed.ts';

export type { FeedOptions } from './follow.ts';

const minute = 60_000;
const interval = 10 * minute;
const longestPause = 240 * minute;

/** What is published, read every ten minutes and kept in memory (docs/contract.md 8.9). */
export interface Feed {
  /** What was read last; empty before that. */
  readonly releases: readonly Release[];
  /** When a check last succeeded; that nothing had changed is a success, too. */
  readonly checkedAt: Date | null;
  /** First check at once, then every ten minutes, with jitter. */
  start(): void;
  /** Why the last check failed, or what does not count, and when the next one is; null where all is well. */
  readonly failure: FeedFailure | null;
  /** Checks now; joins a check under way; does nothing while a rate limit forbids it. Never rejects. */
  check(): Promise<void>;
  /** Checks now where no release of that channel is known: the pages that have them may not have been asked for. */
  lookFor(channel: Channel): void;
  /** Ends the timer and a check under way. */
  close(): void;
}

/** As people are told of it. */
export interface FeedFailure {
  /** Half a sentence. */
  message: string;
  /** ISO 8601. */
  nextCheckAt: string;
}

/** A log entry. */
export interface LogEntry {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** The error, if any. */
  cause?: unknown;
}

/** What counts as published. */
export interface Judgement {
  releases: readonly Release[];
  /** What else the feed has, and why it does not count: a sentence without its end; null where all counts. */
  unproven: string | null;
}

/** What a feed asks of its owner. */
export interface FeedHost {
  /** Called after each check that succeeded. */
  onCheck?: () => void;
  /** The channel that releases are offered from. Default `stable`. */
  channel?: () => Channel;
  /** Says what counts as published of what the feed has. Default all of it. */
  judge?: ((releases: readonly Release[], signal: AbortSignal) => Promise<Judgement>) | undefined;
  /** Milliseconds of a monotonic clock, by which all waiting goes. */
  clock?: () => number;
}

/** The log hears of the first failure in a row, and of its end. */
export function createFeed(
  options: FeedOptions,
  log: (entry: LogEntry) => void,
  { onCheck = () => {}, channel = () => 'stable', judge, clock = () => performance.now() }: FeedHost = {},
): Feed {
  const { host } = new URL(options.url);
  const closing = new AbortController();
  let answer: FeedAnswer | null = null;
  let judged: Judgement = { releases: [], unproven: null };
  let checkedAt: Date | null = null;
  let failures = 0;
  let failure: string | null = null;
  /** By the clock, as is `due`. */
  let forbiddenUntil = Number.NEGATIVE_INFINITY;
  /** When the next check is. */
  let due: number | null = null;
  let underWay: Promise<void> | null = null;
  let started = false;
  let timer: NodeJS.Timeout | undefined;

  async function read(): Promise<void> {
    const { signal } = closing;
    const withAssets = judge !== undefined;
    let fresh: FeedAnswer;
    let now: Judgement;
    try {
      fresh = await readFeed(options, { known: answer, channel: channel(), withAssets, signal });
      now = judge ? await judge(fresh.releases, signal) : { releases: fresh.releases, unproven: null };
    } catch (error) {
      if (!closing.signal.aborted) fail(error);
      return;
    }
    if (closing.signal.aborted) return;
    answer = fresh;
    if (now.unproven !== null && now.unproven !== judged.unproven)
      log({ level: 'warn', message: `not offered: ${now.unproven}` });
    judged = now;
    checkedAt = new Date();
    const hadFailed = failures > 0;
    failures = 0;
    failure = null;
    if (hadFailed) log({ level: 'info', message: `the releases at ${host} can be read again` });
    onCheck();
  }

  function fail(error: unknown): void {
    failures++;
    const wait = error instanceof FeedError ? error.wait : null;
    if (wait) forbiddenUntil = clock() + wait;
    // Only the host of the address is told: a token may be in any other part of it.
    failure = `the releases at ${host} cannot be read: ${reasonOf(error)}`;
    if (failures > 1) return;
    const until = wait === null ? null : new Date(Date.now() + wait).toISOString();
    const message = until
      ? `${failure}; the server allows no request before ${until}. The releases read before remain available.`
      : `${failure}. The releases read before remain available.`;
    log({ level: 'warn', message });
  }

  const forbiddenFor = () => Math.max(forbiddenUntil - clock(), 0);

  function check(): Promise<void> {
    if (underWay) return underWay;
    if (closing.signal.aborted || forbiddenFor() > 0) return Promise.resolve();
    underWay = read()
      // Only `onCheck` can throw here, which is the host's code.
      .catch((cause) =>
        log({ level: 'error', message: 'an error occurred after the release feed was read', cause }),
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
    const delay = Math.max(pause, allowed);
    due = clock() + delay;
    clearTimeout(timer);
    timer = setTimeout(tick, delay);
    timer.unref();
  }

  function tick(): void {
    void check();
    // No check began: it is still forbidden.
    if (!underWay) schedule();
  }

  return {
    get releases() {
      return judged.releases;
    },
    get checkedAt() {
      return checkedAt;
    },
    get failure() {
      const message = failure ?? judged.unproven;
      if (message === null) return null;
      const nextCheckAt = new Date(Date.now() + Math.max((due ?? 0) - clock(), 0)).toISOString();
      return { message, nextCheckAt };
    },
    start() {
      if (started) return;
      started = true;
      tick();
    },
    check,
    lookFor(wanted) {
      const isKnown = newestOn(wanted, judged.releases) !== null;
      // Of a channel that nobody has followed nothing was judged.
      if (checkedAt !== null && (judge !== undefined || !isKnown)) void check();
    },
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
