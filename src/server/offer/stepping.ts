import { isAhead, type Release, releasesOn, targetFor } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/order.ts';
import type { Run } from '../../wire/status.ts';

interface SteppingFacts {
  /** What runs, a release. */
  version: string;
  releases: readonly Release[];
  /** The last run. It may have been refused because another release has to come first. */
  lastRun: Pick<Run, 'to' | 'requiredRelease'> | null;
}

/**
 * The release to take next on the way to the newest one, which is ahead of what runs (docs/contract.md 8.17): itself, or
 * the stepping release that has to come before it. Null where the feed has no release that leads there.
 */
export function nextRelease(latest: Release, facts: SteppingFacts): Release | null {
  const { version, releases, lastRun } = facts;
  const next = reachable(latest, facts);
  const { to: tried = null, requiredRelease: first = null } = lastRun ?? {};
  // What runs may have got there by hand meanwhile.
  if (next === null || tried === null || first === null || !isAhead(first, version)) return next;
  // The stepping release itself was tried, and what the instance's tag leads to was refused: only a person can go on.
  if (tried === first) return null;
  if (tried !== next.version && tried !== targetFor(next.version)) return next;
  const step = releases.find((release) => release.version === first);
  return step ? reachable(step, facts) : null;
}

/**
 * The highest release up to the goal that what runs can be updated to. On the way there are stable releases alone: a
 * canary build has no tag that leads to it once there is a newer one.
 */
function reachable(goal: Release, { version, releases }: Omit<SteppingFacts, 'lastRun'>): Release | null {
  const isMet = ({ requires }: Release) => requires === undefined || !isAhead(requires, version);
  if (isMet(goal)) return goal;
  const isOnTheWay = (release: Release) =>
    compareVersions(release.version, goal.version) <= 0 && isAhead(release.version, version);
  return releasesOn('stable', releases).find((release) => isOnTheWay(release) && isMet(release)) ?? null;
}
