import { type Channel, findNewestRelease, type Release } from '../core/release/channel.ts';
import { FeedError, innermostErrorMessageOf } from './feed-error.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { type FeedCheckResult, readFeed } from './read-feed.ts';

export type { FeedOptions } from './follow-redirects.ts';

const minute = 60_000;
const interval = 10 * minute;
const longestPause = 240 * minute;

/** Published releases, read every ten minutes and cached (docs/contract.md 8.9). */
export interface Feed {
  /** Installable releases from the last successful check; empty at first. */
  readonly releases: readonly Release[];
  /** Time of the last successful check, even if nothing had changed. */
  readonly checkedAt: Date | null;
  /** Starts the first check immediately, and further checks every ten minutes, with jitter. */
  start(): void;
  /** Time of the next check in ISO 8601. */
  readonly nextCheckAt: string;
  /** Why the last check failed, or why published files were not accepted; null if there is no problem. */
  readonly failure: FeedFailure | null;
  /** Checks now, or joins a running check. Does nothing during a rate limit. Never rejects. */
  check(): Promise<void>;
  /** Starts a check if releases of the channel may be missing or unverified. */
  checkForChannel(channel: Channel): void;
  /** Stops the timer and a running check. */
  close(): void;
}

interface FeedFailure {
  /** Message without a final period. */
  message: string;
  /** Time of the next check in ISO 8601. */
  nextCheckAt: string;
}

/** Entry of the log. */
export interface LogEntry {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** Error that led to this entry, if any. */
  cause?: unknown;
}

/** Releases that may be offered as updates. */
export interface InstallableReleases {
  releases: readonly Release[];
  /** Message about published files that are not accepted, with the reasons; null if there is no problem. */
  problem: string | null;
}

interface FeedCallbacks {
  /** Called after each successful check. */
  onCheck?: () => void;
  /** Channel of the available updates. Default: `stable`. */
  channel?: () => Channel;
  /** Selects the releases that may be offered as updates. Default: all releases. */
  judge?: ((releases: readonly Release[], signal: AbortSignal) => Promise<InstallableReleases>) | undefined;
  /** Monotonic clock for all waiting times, in milliseconds. */
  clock?: () => number;
}

/** Creates a feed that logs only the first of several failures in a row, and the recovery. */
export function createFeed(
  options: FeedOptions,
  log: (entry: LogEntry) => void,
  {
    onCheck = () => {},
    channel = () => 'stable',
    judge,
    clock = () => performance.now(),
  }: FeedCallbacks = {},
): Feed {
  const { host } = new URL(options.url);
  const closing = new AbortController();
  let response: FeedCheckResult | null = null;
  let judged: InstallableReleases = { releases: [], problem: null };
  let checkedAt: Date | null = null;
  let failures = 0;
  let failure: string | null = null;
  /** Time at which the rate limit ends, in milliseconds of `clock`. */
  let forbiddenUntil = Number.NEGATIVE_INFINITY;
  /** Scheduled time of the next check, in milliseconds of `clock`. */
  let due: number | null = null;
  let underWay: Promise<void> | null = null;
  let started = false;
  let timer: NodeJS.Timeout | undefined;

  async function read(): Promise<void> {
    const { signal } = closing;
    const withAssets = judge !== undefined;
    let fresh: FeedCheckResult;
    let now: InstallableReleases;
    try {
      fresh = await readFeed(options, { known: response, channel: channel(), withAssets, signal });
      now = judge ? await judge(fresh.releases, signal) : { releases: fresh.releases, problem: null };
    } catch (error) {
      if (!closing.signal.aborted) fail(error);
      return;
    }
    if (closing.signal.aborted) return;
    response = fresh;
    if (now.problem !== null && now.problem !== judged.problem) log({ level: 'warn', message: now.problem });
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
    // Only the host is reported, because other parts of the address may contain a token.
    failure = `the releases at ${host} cannot be read: ${innermostErrorMessageOf(error)}`;
    if (failures > 1) return;
    const until = wait === null ? null : new Date(Date.now() + wait).toISOString();
    const message = until
      ? `${failure}; the server allows no further requests before ${until}. The releases from the last successful check remain available.`
      : `${failure}. The releases from the last successful check remain available.`;
    log({ level: 'warn', message });
  }

  const forbiddenFor = () => Math.max(forbiddenUntil - clock(), 0);

  function check(): Promise<void> {
    if (underWay) return underWay;
    if (closing.signal.aborted || forbiddenFor() > 0) return Promise.resolve();
    underWay = read()
      // Only `onCheck` can cause this error: `read` handles all other errors of a check.
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
    // Add up to a minute, so that not all instances send requests in the same second.
    const allowed = forbiddenFor() + minute * Math.random();
    const delay = Math.max(pause, allowed);
    due = clock() + delay;
    clearTimeout(timer);
    timer = setTimeout(tick, delay);
    timer.unref();
  }

  function tick(): void {
    void check();
    // If a rate limit prevents the check, schedule the next one here; otherwise, the check schedules it.
    if (!underWay) schedule();
  }

  return {
    get releases() {
      return judged.releases;
    },
    get checkedAt() {
      return checkedAt;
    },
    get nextCheckAt() {
      return new Date(Date.now() + Math.max((due ?? 0) - clock(), 0)).toISOString();
    },
    get failure() {
      const message = failure ?? judged.problem;
      return message === null ? null : { message, nextCheckAt: this.nextCheckAt };
    },
    start() {
      if (started) return;
      started = true;
      tick();
    },
    check,
    checkForChannel(wanted) {
      const isKnown = findNewestRelease(wanted, judged.releases) !== null;
      // With `judge`, always check, because the releases of a newly selected channel are not verified yet.
      if (checkedAt !== null && (judge !== undefined || !isKnown)) void check();
    },
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
