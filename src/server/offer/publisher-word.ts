import { channelOf, isAhead, newestOn, type Release } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/order.ts';
import {
  type ChannelFile,
  isExpired,
  isUrgentFor,
  type Recall,
  recallOf,
  sharePercent,
} from '../../provenance/channel-file.ts';
import type { Reason, Urgent } from '../../wire/status.ts';
import type { RolloutFacts } from '../store/open-run.ts';

/** What the publisher's channel file means for this instance. */
export interface PublisherWord {
  recalled: readonly Recall[];
  /** The security update that the running version needs. */
  urgent: Urgent | null;
  /** A newer release that is not rolled out to this instance, and whether an admin has asked for it. */
  held: { version: string; percent: number; isAsked: boolean } | null;
  /** When the file expired, ISO 8601. */
  staleSince: string | null;
}

interface WordFacts {
  /** The running version. */
  version: string;
  /** Null if the store does not respond. */
  rollout: RolloutFacts | null;
  /** Without a signature, only recalls and urgency count. */
  isSigned: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

export const noWord: PublisherWord = { recalled: [], urgent: null, held: null, staleSince: null };

/** Applies a channel file to an instance (docs/contract.md 8.40). */
export function wordOf(file: ChannelFile, { version, rollout, isSigned, now }: WordFacts): PublisherWord {
  const urgent = isUrgentFor(file, version) ? file.urgent : null;
  const { version: staged = '', percent = 100 } = file.rollout ?? {};
  const isInShare = rollout !== null && sharePercent(rollout.instance, staged) < percent;
  const isHeld = isSigned && urgent === null && isAhead(staged, version) && !isInShare;
  return {
    recalled: file.recalled,
    urgent,
    held: isHeld ? { version: staged, percent, isAsked: rollout?.asked === staged } : null,
    staleSince: isSigned && isExpired(file, now) ? file.expires : null,
  };
}

/**
 * The releases without some versions. A canary build has no tag of its own, so with a canary build the older ones go, too:
 * an update to them would install it.
 */
export function without(
  releases: readonly Release[],
  left: readonly { version: string }[],
): readonly Release[] {
  if (left.length === 0) return releases;
  const versions = left.map(({ version }) => version);
  const canary = newestCanary(versions);
  const isReplaced = (version: string) =>
    canary !== null && channelOf(version) === 'canary' && compareVersions(version, canary) <= 0;
  return releases.filter(({ version }) => !versions.includes(version) && !isReplaced(version));
}

/** Why a target must not be installed; null if it is not recalled. */
export function recalledReason(
  { target, to }: { target: string; to: string },
  { recalled }: Pick<PublisherWord, 'recalled'>,
): Reason | null {
  const canary = target === 'canary' ? newestCanary(recalled.map(({ version }) => version)) : null;
  const isOlder = canary !== null && (to === 'canary' || compareVersions(to, canary) <= 0);
  const recall = recallOf({ recalled }, isOlder ? canary : to);
  if (recall === null) return null;
  const { version, why, url } = recall;
  return {
    code: 'recalled',
    message: `${version} has been recalled by its publisher: ${why.replace(/\.$/, '')}`,
    advice: `Wait until a newer release is available.${url === undefined ? '' : ` See ${url}`}`,
  };
}

const newestCanary = (versions: readonly string[]): string | null =>
  newestOn(
    'canary',
    versions.map((version) => ({ version, url: null, notes: null, publishedAt: null })),
  )?.version ?? null;
