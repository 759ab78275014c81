import {
  type Channel,
  channelOf,
  isAhead,
  newestOn,
  type Release,
  targetFor,
} from '../../release/channel.ts';

/** What an offer is made from. */
export interface OfferFacts {
  /** What runs. */
  version: string;
  channel: Channel;
  /** What the feed has; null where there is no feed. */
  releases: readonly Release[] | null;
  /** When it was last read. */
  checkedAt: Date | null;
  /** A release that the instance's tag did not reach the last time. */
  lag: { version: string; reference: string } | null;
}

export interface Offer {
  /** The newest release of the channel. */
  latest: Release | null;
  /** Why it is not offered, for people; null where it is. */
  upToDate: string | null;
}

/** What an update moves to. */
export interface Goal {
  /** What the updater is told: `vX.Y.Z` or `canary`. */
  target: string;
  /** The release, where it is known; else the same word. */
  to: string;
}

/** What an instance is offered (docs/contract.md 8.5). */
export function offer(known: OfferFacts): Offer {
  const latest = known.releases === null ? null : newestOn(known.channel, known.releases);
  return { latest, upToDate: whyNot(latest, known) };
}

/**
 * Where an update goes: to what was named, else to what is offered. A release that runs, or is older than what runs, is
 * a reason to stay.
 */
export function goalFor(named: string | null, known: OfferFacts): Goal | { upToDate: string } {
  if (named === null) {
    const { latest, upToDate } = offer(known);
    if (latest === null || upToDate !== null) return { upToDate: upToDate ?? nothingKnown(known) };
    return { target: targetFor(latest.version), to: latest.version };
  }
  if (named === 'canary') {
    return { target: named, to: newestOn('canary', known.releases ?? [])?.version ?? named };
  }
  if (named === known.version) return { upToDate: `${named} runs already` };
  if (channelOf(known.version) !== null && !isAhead(named, known.version)) {
    return { upToDate: `${named} is older than ${known.version}, which runs: there is no downgrade` };
  }
  return { target: named, to: named };
}

function whyNot(latest: Release | null, known: OfferFacts): string | null {
  const { version, channel, lag } = known;
  if (latest === null) return nothingKnown(known);
  if (channelOf(version) === null) return `what is newer than ${version} cannot be told: it is no release`;
  if (!isAhead(latest.version, version)) {
    return latest.version === version
      ? `${version} is the newest release of the channel ${channel}`
      : `${version} is ahead of ${latest.version}, the newest release of the channel ${channel}`;
  }
  return lag?.version === latest.version
    ? `${lag.version} is published, but ${lag.reference} does not lead to it yet`
    : null;
}

function nothingKnown({ releases, checkedAt, channel }: OfferFacts): string {
  if (releases === null) return 'no release is known: the feed is switched off';
  if (checkedAt === null) return 'no release is known: the feed has not been read yet';
  return `no release is published on the channel ${channel}`;
}
