import { isAhead, type Release, releasesOn, targetFor } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/order.ts';
import type { Run } from '../../wire/status.ts';

/** An update that was refused, as its image can only be reached by way of another release. */
export interface RefusedStep {
  /** What it went to: a release, or `canary`. */
  version: string;
  /** The release that has to come first, by the label of the image. */
  first: string;
}

/** What a run was refused for, where another release has to come first. */
export const refusedStepOf = ({
  requiredRelease,
  to,
}: Pick<Run, 'requiredRelease' | 'to'>): RefusedStep | null =>
  requiredRelease === null || to === null ? null : { version: to, first: requiredRelease };

interface SteppingFacts {
  /** What runs, a release. */
  version: string;
  releases: readonly Release[];
  step: RefusedStep | null;
}

/**
 * The release to take next on the way to the newest one, which is ahead of what runs (docs/contract.md 8.17): itself, or
 * the stepping release that has to come before it. Null where the feed has no release that leads there.
 */
export function nextRelease(latest: Release, facts: SteppingFacts): Release | null {
  const { version, releases, step } = facts;
  const next = reachable(latest, facts);
  // What runs may have got there by hand meanwhile.
  if (next === null || step === null || !isAhead(step.first, version)) return next;
  // The stepping release itself was tried, and what the instance's tag leads to was refused: only a person can go on.
  if (step.version === step.first) return null;
  if (step.version !== next.version && step.version !== targetFor(next.version)) return next;
  const first = releases.find((release) => release.version === step.first);
  return first ? reachable(first, facts) : null;
}

/**
 * The highest release up to the goal that what runs can be updated to. On the way there are stable releases alone: a
 * canary build has no tag that leads to it once there is a newer one.
 */
function reachable(goal: Release, { version, releases }: SteppingFacts): Release | null {
  const isMet = ({ requires }: Release) => requires === undefined || !isAhead(requires, version);
  if (isMet(goal)) return goal;
  const isOnTheWay = (release: Release) =>
    compareVersions(release.version, goal.version) <= 0 && isAhead(release.version, version);
  return releasesOn('stable', releases).find((release) => isOnTheWay(release) && isMet(release)) ?? null;
}
