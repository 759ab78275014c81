import {
  type Channel,
  channelOf,
  findNewestRelease,
  isNewerVersion,
  listChannelReleases,
  type Release,
  updateTargetOf,
} from '../../core/release/channel.ts';
import { compareVersions, isMajorVersionChange } from '../../core/release/compare-versions.ts';
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
import type { CompleteUpdateRequest } from '../contract/instance-updates.ts';
import { type ChannelFileEffects, findRecallReason } from './channel-file-effects.ts';
import type { ReleaseVerification } from './release-verifier.ts';

export interface AvailableUpdateFacts {
  /** Running version. */
  version: string;
  channel: Channel;
  /** Releases in the feed that may be offered; null if there is no feed. */
  releases: readonly Release[] | null;
  /** Time at which the feed was last read; null if it has not been read yet. */
  checkedAt: Date | null;
  /** Release to which the instance's tag does not point yet; null if there is none. */
  staleTag: { version: string; reference: string } | null;
  lastRun: Run | null;
  skipped: Skipped | null;
  /** Verification results of newer releases, keyed by version; null if signatures are not required. */
  proofs: ReadonlyMap<string, ReleaseVerification> | null;
  notice: ChannelFileEffects;
  /**
   * `releases`, plus the release that has not been rolled out to this instance yet; null if there is no such release.
   */
  releasesWithHeld: readonly Release[] | null;
}

/** The status fields about the available update. Release notes are omitted, because they may be long. */
export type AvailableUpdate = Pick<Status, 'latest' | 'updateAvailable' | 'skipped'> &
  ({ next: NextRelease; upToDate: null } | { next: null; upToDate: UpToDate });

export interface UpdateTarget {
  /** Version of the release if known, otherwise `canary`. */
  to: string;
  /** All steps of the upgrade path, including `to`; undefined for a direct update. */
  path?: readonly string[] | undefined;
  /** Signed content that the updater has to verify; undefined if signatures are not required. */
  proof?: ReleaseFile | undefined;
  /** The run that a rollback undoes. */
  undone?: Run | undefined;
}

/** Target of an update, or the reason why it cannot be installed. */
export type UpdateTargetResult = UpdateTarget | { reason: Reason };

/** Chooses the available release (docs/contract.md 8.5, 8.17 and 8.40). The caller adds the release's new settings. */
export function chooseAvailableUpdate(known: AvailableUpdateFacts): AvailableUpdate {
  const offered = chooseFromReleases(known);
  const { releasesWithHeld: withHeld, notice: word } = known;
  if (offered.next || !withHeld || !chooseFromReleases({ ...known, releases: withHeld }).next) return offered;
  const { version, percent = 0 } = word.held ?? {};
  const message = `${version} is being rolled out to ${percent}% of all instances, but not to this one yet; to install it now, check for updates again`;
  return { ...offered, next: null, upToDate: { code: 'rolling-out', message } };
}

function chooseFromReleases(known: AvailableUpdateFacts): AvailableUpdate {
  const { version, channel, releases, checkedAt, staleTag, lastRun, skipped } = known;
  const latest = releases === null ? null : findNewestRelease(channel, releases);
  // A newer release ends the skip.
  const isSkipped = latest !== null && latest.version === skipped?.version;
  const shown = {
    latest: latest && toPublishedRelease({ ...latest, notes: null }),
    skipped: isSkipped ? skipped : null,
  };
  const none = (code: UpToDateCode, message: string): AvailableUpdate => ({
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
  if (!isNewerVersion(latest.version, version))
    return none(
      'ahead',
      `${version} is newer than ${latest.version}, the newest release on the ${channel} channel`,
    );
  const next = findNextRelease(latest, { version, releases, lastRun });
  if (next === null) {
    const first = lastRun?.requiredRelease ?? latest.requires ?? null;
    return none(
      'upgrade-step',
      first === null
        ? `${latest.version} requires an intermediate release, but no upgrade path to it is known`
        : `${first} must be installed before ${latest.version}, but no upgrade path to ${first} is known`,
    );
  }
  if (staleTag?.version === next.version)
    return none(
      'tag-lags',
      `${staleTag.version} was published, but ${staleTag.reference} does not point to it yet`,
    );
  return {
    ...shown,
    next: {
      version: next.version,
      major: isMajorVersionChange(version, next.version),
      downloaded: null,
      estimatedSeconds: null,
      upgradePath: findUpgradePath(latest.version, known),
      settings: [],
    },
    upToDate: null,
    updateAvailable: !isSkipped,
  };
}

type StepFacts = Pick<AvailableUpdateFacts, 'version' | 'lastRun'> & { releases: readonly Release[] };

/**
 * Returns the next release on the upgrade path to `latest` (docs/contract.md 8.17); null if no such release is known.
 * `latest` must be newer than the running version.
 */
function findNextRelease(latest: Release, facts: StepFacts): Release | null {
  const { version, releases, lastRun } = facts;
  const next = findReachableRelease(latest, facts);
  const { to: tried = null, requiredRelease: first = null } = lastRun ?? {};
  // The last run no longer matters if its required release has been installed since, perhaps manually.
  if (next === null || tried === null || first === null || !isNewerVersion(first, version)) return next;
  // The last run refused the image to which the instance's tag points. Only an admin can correct the tag.
  if (tried === first) return null;
  if (tried !== next.version && tried !== updateTargetOf(next.version)) return next;
  const step = releases.find((release) => release.version === first);
  return step ? findReachableRelease(step, facts) : null;
}

/** Returns the newest release, up to `goal`, that can replace the running version directly. */
function findReachableRelease(goal: Release, { version, releases }: StepFacts): Release | null {
  const isMet = ({ requires }: Release) => requires === undefined || !isNewerVersion(requires, version);
  if (isMet(goal)) return goal;
  const isOnTheWay = (release: Release) =>
    compareVersions(release.version, goal.version) <= 0 && isNewerVersion(release.version, version);
  // Intermediate releases are always stable, because no tag points to an older canary build.
  return (
    listChannelReleases('stable', releases).find((release) => isOnTheWay(release) && isMet(release)) ?? null
  );
}

const mostReleases = 20;

/**
 * Returns the upgrade path to `goal`, with at most `mostReleases` steps. The path ends early if the next step is
 * unknown.
 */
function findUpgradePath(goal: string, { version, releases, lastRun }: AvailableUpdateFacts): string[] {
  const last = releases?.find((release) => release.version === goal);
  const path: string[] = [];
  for (let at = version; last && releases && at !== goal && path.length < mostReleases; ) {
    const next = findNextRelease(last, { version: at, releases, lastRun });
    if (next === null || !isNewerVersion(next.version, at)) break;
    at = next.version;
    path.push(at);
  }
  return path;
}

const longestNotes = 64 * 1024;

/** Returns the releases after the running version, up to the available one, newest first, with release notes. */
export function listIncludedReleases(
  { next }: AvailableUpdate,
  { version, channel, releases }: AvailableUpdateFacts,
): PublishedRelease[] {
  if (next === null) return [];
  return listChannelReleases(channel, releases ?? [])
    .filter((one) => isNewerVersion(one.version, version) && !isNewerVersion(one.version, next.version))
    .slice(0, mostReleases)
    .map(toPublishedRelease);
}

const toPublishedRelease = ({ version, url, notes, publishedAt }: Release): PublishedRelease => {
  return { version, url, notes: notes?.slice(0, longestNotes) ?? null, publishedAt };
};

const createUpToDateReason = (message: string): { reason: Reason } => ({
  reason: { code: 'up-to-date', message },
});

/**
 * Returns the target `named`, or the available release if `named` is null. Rejects versions that are not newer than the
 * running version.
 */
export function resolveDirectTarget(named: string | null, known: AvailableUpdateFacts): UpdateTargetResult {
  if (named === null) {
    const { next, upToDate } = chooseAvailableUpdate(known);
    return next === null ? createUpToDateReason(upToDate.message) : { to: next.version };
  }
  if (named === 'canary') return { to: findNewestRelease('canary', known.releases ?? [])?.version ?? named };
  const { lastRun } = known;
  // After a broken or crashed update, the installed version is unknown. The update may be repeated, so that the updater
  // can repair the instance.
  const isBroken = lastRun?.outcome === 'broken' || lastRun?.outcome === 'crashed';
  if (isBroken && lastRun.kind === 'update' && named === lastRun.to) return { to: named };
  if (named === known.version) return createUpToDateReason(`${named} is already running`);
  if (channelOf(known.version) !== null && !isNewerVersion(named, known.version)) {
    return createUpToDateReason(
      `${named} is older than the running version ${known.version}; downgrades are not supported`,
    );
  }
  return { to: named };
}

/** Resolves the target of a request, without verifying the release. */
export const resolveRequestedTarget = (
  { target, allSteps }: CompleteUpdateRequest,
  known: AvailableUpdateFacts,
): UpdateTargetResult => (allSteps ? resolveFirstUpgradeStep : resolveDirectTarget)(target, known);

/** Returns the first step of the upgrade path to `named`, or to the newest release if `named` is null. */
export function resolveFirstUpgradeStep(
  named: string | null,
  known: AvailableUpdateFacts,
): UpdateTargetResult {
  const goal = named === null ? chooseAvailableUpdate(known).latest?.version : named;
  const path = goal === undefined ? [] : findUpgradePath(goal, known);
  const [first] = path;
  if (first === undefined || path.at(-1) !== goal) {
    const direct = resolveDirectTarget(named, known);
    // If no path is known, let the updater decide, because the feed may be incomplete.
    return path.length === 0 ? direct : createUpToDateReason(`no upgrade path to ${goal} is known`);
  }
  return { to: first, ...(path.length > 1 && { path }) };
}

/** Adds the signed content to a target. Returns a reason instead if the target is recalled or unverified. */
export function resolveInstallableTarget(
  found: UpdateTargetResult,
  { proofs, notice: word }: Pick<AvailableUpdateFacts, 'proofs' | 'notice'>,
): UpdateTargetResult {
  if ('reason' in found) return found;
  const recalled = findRecallReason(found, word);
  if (recalled) return { reason: recalled };
  if (proofs === null) return found;
  const proof = proofs.get(found.to) ?? 'the release feed does not contain this release';
  return typeof proof === 'object'
    ? { ...found, proof }
    : { reason: { code: 'unproven', message: `${found.to} is not verified: ${proof}` } };
}
