import { channelOf, isNewerVersion, type Release, updateTargetOf } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/compare-versions.ts';
import {
  type ChannelFile,
  findRecall,
  formatRecall,
  isChannelFileExpired,
  isSecurityUpdateNeeded,
  type Recall,
  rolloutPositionOf,
} from '../../provenance/channel-file.ts';
import type { Reason, UrgentUpdate } from '../../wire/status.ts';
import type { StagedRollout } from '../store/stored-entries.ts';

/** Effects of the publisher's channel file on this instance. */
export interface ChannelFileEffects {
  recalled: readonly Recall[];
  /** Security update that the running version needs; null if none is needed. */
  urgent: UrgentUpdate | null;
  /**
   * Newer release that has not been rolled out to this instance; null if there is no such release. `isAsked` is true if
   * an admin has requested the release anyway.
   */
  held: { version: string; percent: number; isAsked: boolean } | null;
  /** Time at which the channel file expired, in ISO 8601; null if it has not expired. */
  staleSince: string | null;
}

export const noChannelFileEffects: ChannelFileEffects = {
  recalled: [],
  urgent: null,
  held: null,
  staleSince: null,
};

/**
 * Returns the effects of a channel file on an instance (docs/contract.md 8.40). If the file is not signed, only its
 * recalls and its urgency have an effect.
 * @param facts - `rollout` is null if the store does not respond; `now` is in milliseconds since 1970
 */
export function evaluateChannelFile(
  file: ChannelFile,
  facts: { version: string; rollout: StagedRollout | null; isSigned: boolean; now: number },
): ChannelFileEffects {
  const { version, rollout, isSigned, now } = facts;
  const urgent = isSecurityUpdateNeeded(file, version) ? file.urgent : null;
  const { version: staged = '', percent = 100 } = file.rollout ?? {};
  const isInShare = rollout !== null && rolloutPositionOf(rollout.instance, staged) < percent;
  const isHeld = isSigned && urgent === null && isNewerVersion(staged, version) && !isInShare;
  return {
    recalled: file.recalled,
    urgent,
    held: isHeld ? { version: staged, percent, isAsked: rollout?.asked === staged } : null,
    staleSince: isSigned && isChannelFileExpired(file, now) ? file.expires : null,
  };
}

/**
 * Returns the releases without the versions in `left` and without canary builds older than the newest canary build in
 * `left`.
 */
export function excludeVersions(
  releases: readonly Release[],
  left: readonly Pick<Release, 'version'>[],
): readonly Release[] {
  if (left.length === 0) return releases;
  const canary = newestCanary(left);
  // Older canary builds have no tag of their own, so an update to one of them would install the build in `left`.
  const isReplaced = (version: string) =>
    canary !== null && channelOf(version) === 'canary' && compareVersions(version, canary) <= 0;
  return releases.filter(
    ({ version }) => !left.some((one) => one.version === version) && !isReplaced(version),
  );
}

/** Returns why a target must not be installed; null if it is not recalled. */
export function findRecallReason(
  { to }: { to: string },
  { recalled }: Pick<ChannelFileEffects, 'recalled'>,
): Reason | null {
  const canary = updateTargetOf(to) === 'canary' ? newestCanary(recalled) : null;
  const isOlder = canary !== null && (to === 'canary' || compareVersions(to, canary) <= 0);
  const recall = findRecall({ recalled }, isOlder ? canary : to);
  return (
    recall && {
      code: 'recalled',
      message: formatRecall(recall),
      advice: `Wait until a newer release is available.${recall.url ? ` See ${recall.url}` : ''}`,
    }
  );
}

const newestCanary = (list: readonly Pick<Release, 'version'>[]): string | null => {
  const builds = list.map(({ version }) => version).filter((version) => channelOf(version) === 'canary');
  return builds.toSorted(compareVersions).at(-1) ?? null;
};
