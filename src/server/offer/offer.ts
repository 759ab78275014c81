import {
  type Channel,
  channelOf,
  isAhead,
  newestOn,
  type Release,
  releasesOn,
  targetFor,
} from '../../core/release/channel.ts';
import { compareVersions, isMajorChange } from '../../core/release/order.ts';
import type { ReleaseFile } from '../../provenance/release-file.ts';
import type { UpToDateCode } from '../../wire/codes.ts';
import type {
  NextRelease,
  PublishedRelease,
  Reason,
  Run,
  Skipped,
  Status,
  UpToDate,
} from '../../wire/status.ts';
import type { StartOrder } from '../contract/instance-updates.ts';
import type { Proof } from './proven-releases.ts';
import { type PublisherWord, recalledReason } from './publisher-word.ts';

/** The facts for an offer. */
export interface OfferFacts {
  /** The running version. */
  version: string;
  channel: Channel;
  /** Releases in the feed that may be offered; null without a feed. */
  releases: readonly Release[] | null;
  /** When the feed was last read. */
  checkedAt: Date | null;
  /** A release to which the tag of the instance does not point yet. */
  lag: { version: string; reference: string } | null;
  lastRun: Run | null;
  /** The skipped release. */
  skipped: Skipped | null;
  /** Signed contents of newer releases; null if signatures are not required. */
  proofs: ReadonlyMap<string, Proof> | null;
  word: PublisherWord;
  /** The same releases with the one that is not rolled out to this instance; null if none is left out. */
  withHeld: readonly Release[] | null;
}

/** The available release, or why there is none, as the status contains it. Notes are left out, because they may be long. */
export type Offer = Pick<Status, 'latest' | 'updateAvailable' | 'skipped'> &
  ({ next: NextRelease; upToDate: null } | { next: null; upToDate: UpToDate });

/** The target of an update. */
export interface Destination {
  /** The release if known, otherwise `canary`. */
  to: string;
  /** All steps, if `to` is a step of an upgrade path. */
  path?: readonly string[] | undefined;
  /** The signed content that the updater must find, if signatures are required. */
  proof?: ReleaseFile | undefined;
}

/** Chooses the available release (docs/contract.md 8.5, 8.17 and 8.40). Its new settings are not filled in. */
export function chooseOffer(known: OfferFacts): Offer {
  const offered = chooseAmong(known);
  const { withHeld, word } = known;
  if (offered.next || !withHeld || !chooseAmong({ ...known, releases: withHeld }).next) return offered;
  const { version, percent = 0 } = word.held ?? {};
  const message = `${version} is being rolled out to ${percent} % of all instances, and not yet to this one; check again to install it now`;
  return { ...offered, next: null, upToDate: { code: 'rolling-out', message } };
}

function chooseAmong(known: OfferFacts): Offer {
  const { version, channel, releases, checkedAt, lag, lastRun, skipped } = known;
  const latest = releases === null ? null : newestOn(channel, releases);
  // A newer release ends the skip.
  const isSkipped = latest !== null && latest.version === skipped?.version;
  const shown = {
    latest: latest && published({ ...latest, notes: null }),
    skipped: isSkipped ? skipped : null,
  };
  const none = (code: UpToDateCode, message: string): Offer => ({
    ...shown,
    next: null,
    upToDate: { code, message },
    updateAvailable: false,
  });
  if (releases === null) return none('off', 'no releases are known because the release feed is disabled');
  if (checkedAt === null)
    return none('unread', 'no releases are known because the release feed has not been read yet');
  if (latest === null) return none('none', `no release is available on the ${channel} channel`);
  if (channelOf(version) === null)
    return none('unknown-version', `${version} is not a release, so no newer release can be determined`);
  if (latest.version === version)
    return none('newest', `${version} is the newest release on the ${channel} channel`);
  if (!isAhead(latest.version, version))
    return none(
      'ahead',
      `${version} is newer than ${latest.version}, the newest release on the ${channel} channel`,
    );
  const next = nextRelease(latest, { version, releases, lastRun });
  if (next === null) {
    const first = lastRun?.requiredRelease ?? latest.requires ?? 'another release';
    return none(
      'upgrade-step',
      `${first} must be installed before ${latest.version}, but no upgrade path to ${first} is known`,
    );
  }
  if (lag?.version === next.version)
    return none('tag-lags', `${lag.version} is published, but ${lag.reference} does not point to it yet`);
  return {
    ...shown,
    next: {
      version: next.version,
      major: isMajorChange(version, next.version),
      downloaded: null,
      estimatedSeconds: null,
      upgradePath: pathTo(latest.version, known),
      settings: [],
    },
    upToDate: null,
    updateAvailable: !isSkipped,
  };
}

type StepFacts = Pick<OfferFacts, 'version' | 'lastRun'> & { releases: readonly Release[] };

/**
 * The release to take next on the way to the newest one, which is ahead of what runs (docs/contract.md 8.17): itself, or
 * the stepping release that has to come before it. Null where the feed has no release that leads there.
 */
function nextRelease(latest: Release, facts: StepFacts): Release | null {
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
function reachable(goal: Release, { version, releases }: StepFacts): Release | null {
  const isMet = ({ requires }: Release) => requires === undefined || !isAhead(requires, version);
  if (isMet(goal)) return goal;
  const isOnTheWay = (release: Release) =>
    compareVersions(release.version, goal.version) <= 0 && isAhead(release.version, version);
  return releasesOn('stable', releases).find((release) => isOnTheWay(release) && isMet(release)) ?? null;
}

const mostReleases = 20;

/** All steps up to a goal, as far as known from the feed, up to a maximum. */
function pathTo(goal: string, { version, releases, lastRun }: OfferFacts): string[] {
  const last = releases?.find((release) => release.version === goal);
  const path: string[] = [];
  for (let at = version; last && releases && at !== goal && path.length < mostReleases; ) {
    const next = nextRelease(last, { version: at, releases, lastRun });
    if (next === null || !isAhead(next.version, at)) break;
    at = next.version;
    path.push(at);
  }
  return path;
}

const longestNotes = 64 * 1024;

/** The releases that an update includes, newest first, with their notes. */
export function releasesBetween(
  { next }: Offer,
  { version, channel, releases }: OfferFacts,
): PublishedRelease[] {
  if (next === null) return [];
  return releasesOn(channel, releases ?? [])
    .filter((one) => isAhead(one.version, version) && !isAhead(one.version, next.version))
    .slice(0, mostReleases)
    .map(published);
}

const published = ({ version, url, notes, publishedAt }: Release): PublishedRelease => {
  return { version, url, notes: notes?.slice(0, longestNotes) ?? null, publishedAt };
};

const notNewer = (message: string): { reason: Reason } => ({ reason: { code: 'up-to-date', message } });

/**
 * The target of an update: the given version, otherwise the available release. The running version and older ones are refused.
 */
export function destinationOf(named: string | null, known: OfferFacts): Destination | { reason: Reason } {
  if (named === null) {
    const { next, upToDate } = chooseOffer(known);
    return next === null ? notNewer(upToDate.message) : { to: next.version };
  }
  if (named === 'canary') return { to: newestOn('canary', known.releases ?? [])?.version ?? named };
  const { lastRun } = known;
  // After a broken update the running version is unknown. The updater checks and repairs it.
  const isBroken = lastRun?.outcome === 'broken' || lastRun?.outcome === 'crashed';
  if (isBroken && lastRun.kind === 'update' && named === lastRun.to) return { to: named };
  if (named === known.version) return notNewer(`${named} is already running`);
  if (channelOf(known.version) !== null && !isAhead(named, known.version)) {
    return notNewer(
      `${named} is older than the running version ${known.version}; downgrades are not supported`,
    );
  }
  return { to: named };
}

/** The target of an order, not verified yet. */
export const orderedDestination = (
  { target, allSteps }: StartOrder,
  known: OfferFacts,
): Destination | { reason: Reason } => (allSteps ? firstStepTo : destinationOf)(target, known);

/** The first step of the upgrade path to the given version, otherwise to the newest release. */
export function firstStepTo(named: string | null, known: OfferFacts): Destination | { reason: Reason } {
  const goal = named === null ? chooseOffer(known).latest?.version : named;
  const path = goal === undefined ? [] : pathTo(goal, known);
  const [first] = path;
  if (first === undefined || path.at(-1) !== goal) {
    const direct = destinationOf(named, known);
    // The updater may know more than the feed.
    return path.length === 0 ? direct : notNewer(`no upgrade path to ${goal} is known`);
  }
  return { to: first, ...(path.length > 1 && { path }) };
}

/** Adds the signed content to a target, or returns why it is refused: also if it is recalled. */
export function verifiedDestination(
  found: Destination | { reason: Reason },
  { proofs, word }: Pick<OfferFacts, 'proofs' | 'word'>,
): Destination | { reason: Reason } {
  if ('reason' in found) return found;
  const recalled = recalledReason(found, word);
  if (recalled) return { reason: recalled };
  if (proofs === null) return found;
  const proof = proofs.get(found.to) ?? 'the release feed does not contain this release';
  return typeof proof === 'object'
    ? { ...found, proof }
    : { reason: { code: 'unproven', message: `${found.to} is not verified: ${proof}` } };
}
