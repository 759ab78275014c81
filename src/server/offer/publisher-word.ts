import { channelOf, isAhead, type Release, targetFor } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/order.ts';
import {
  type ChannelFile,
  isExpired,
  isUrgentFor,
  type Recall,
  recallOf,
  recallSentence,
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

export const noWord: PublisherWord = { recalled: [], urgent: null, held: null, staleSince: null };

/**
 * Applies a channel file to an instance (docs/contract.md 8.40). Without a signature only recalls and urgency count.
 * @param facts the running version, the facts in the store if it responds, and the time in milliseconds since 1970
 */
export function wordOf(
  file: ChannelFile,
  facts: { version: string; rollout: RolloutFacts | null; isSigned: boolean; now: number },
): PublisherWord {
  const { version, rollout, isSigned, now } = facts;
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
  left: readonly Pick<Release, 'version'>[],
): readonly Release[] {
  if (left.length === 0) return releases;
  const canary = newestCanary(left);
  const isReplaced = (version: string) =>
    canary !== null && channelOf(version) === 'canary' && compareVersions(version, canary) <= 0;
  return releases.filter(
    ({ version }) => !left.some((one) => one.version === version) && !isReplaced(version),
  );
}

/** Why a target must not be installed; null if it is not recalled. */
export function recalledReason(
  { to }: { to: string },
  { recalled }: Pick<PublisherWord, 'recalled'>,
): Reason | null {
  const canary = targetFor(to) === 'canary' ? newestCanary(recalled) : null;
  const isOlder = canary !== null && (to === 'canary' || compareVersions(to, canary) <= 0);
  const recall = recallOf({ recalled }, isOlder ? canary : to);
  return (
    recall && {
      code: 'recalled',
      message: recallSentence(recall),
      advice: `Wait until a newer release is available.${recall.url ? ` See ${recall.url}` : ''}`,
    }
  );
}

const newestCanary = (list: readonly Pick<Release, 'version'>[]): string | null => {
  const builds = list.map(({ version }) => version).filter((version) => channelOf(version) === 'canary');
  return builds.toSorted(compareVersions).at(-1) ?? null;
};
