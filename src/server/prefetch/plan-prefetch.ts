import type { Container } from '../../engine/objects/container.ts';
import type { UpdateTarget } from '../available-update/choose-update.ts';
import {
  initialRunFactsOf,
  isUpdaterActive,
  prefetchAttemptsLabel,
} from '../deployment/updater-container.ts';

export interface PrefetchFacts {
  /**
   * Release to download, and the time at which the releases were read, in ms since 1970. `release` is null if no
   * release is available, for example after a recall. `offered` is null if the available release is unknown or skipped.
   */
  offered: { release: UpdateTarget | null; checkedAt: number } | null;
  /** Running version. */
  version: string;
  /** Prefetch container of this instance; null if there is none. */
  found: Container | null;
  /**
   * Whether this server has followed the container's log. If so, the container's release was the newest at that time,
   * so a different available release is newer.
   */
  isFollowed: boolean;
}

export type PrefetchStep =
  | { kind: 'leave' }
  | { kind: 'remove'; id: string }
  | { kind: 'follow'; container: Container }
  | { kind: 'tell'; state: 'waiting' | 'downloaded' }
  | { kind: 'launch'; tries: number };

const hourMs = 3_600_000;
/** Pause after a failed attempt: one hour after the first attempt, then twice as long each time, up to one day. */
const pauseMs = (tries: number): number => Math.min(24, 2 ** (tries - 1)) * hourMs;

/**
 * Plans the next step of the prefetch. Leaves the container alone if the server that created it may know of a newer
 * release than this server does.
 */
export function planPrefetch(
  { offered, version, found, isFollowed }: PrefetchFacts,
  now: number,
): PrefetchStep {
  if (found === null) return offered?.release ? { kind: 'launch', tries: 1 } : { kind: 'leave' };
  const { id, status, exitCode, createdAt, labels } = found;
  const { to } = initialRunFactsOf(found);
  if (to === version) return { kind: 'remove', id };
  if (offered === null) return { kind: 'leave' };
  // A container that was created after this server read the releases does not count as old: its release may be newer.
  const isOld = isFollowed || offered.checkedAt > Date.parse(createdAt);
  if (to !== offered.release?.to) return isOld ? { kind: 'remove', id } : { kind: 'leave' };
  if (isUpdaterActive(found, now)) return { kind: 'follow', container: found };
  if (status === 'exited' && exitCode === 0) return { kind: 'tell', state: 'downloaded' };
  const tries = Math.max(1, Number(labels[prefetchAttemptsLabel]) || 1);
  return now < exitTimeOf(found) + pauseMs(tries)
    ? { kind: 'tell', state: 'waiting' }
    : { kind: 'launch', tries: tries + 1 };
}

/** Returns the time at which the container exited, or its creation time if it could not be started. */
const exitTimeOf = ({ createdAt, finishedAt }: Container): number =>
  Date.parse(finishedAt) > 0 ? Date.parse(finishedAt) : Date.parse(createdAt);
