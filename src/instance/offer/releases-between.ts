import { isAhead, type Release, releasesOn } from '../../release/channel.ts';
import type { PublishedRelease } from '../../wire/status.ts';
import type { Offer, OfferFacts } from './offer.ts';

const mostReleases = 20;
const longestNotes = 64 * 1024;

/** The releases that an update takes in, newest first, with their notes. */
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

function published({ version, url, notes, publishedAt }: Release): PublishedRelease {
  return { version, url, notes: notes?.slice(0, longestNotes) ?? null, publishedAt };
}
