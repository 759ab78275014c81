import { compareVersions } from './order.ts';
import { parseTag } from './tag.ts';

/** Update channels: `stable` has manually cut releases, `canary` has every build (docs/contract.md 8.5). */
export const channels = ['stable', 'canary'] as const;
export type Channel = (typeof channels)[number];

/** Published release, as listed in a feed. */
export interface Release {
  /** Tag of the release: `v1.5.0` or `v1.6.0-canary.3`. */
  version: string;
  /** Web page of the release, `https://…`. */
  url: string | null;
  /** Release notes in Markdown, as written by the publisher. */
  notes: string | null;
  /** Time of publication in ISO 8601. */
  publishedAt: string | null;
  /** Oldest version that can be updated to this release, such as `v1.5.0`, if the feed specifies it. */
  requires?: string;
  /** Files attached to the release, if they were requested from the feed. */
  assets?: readonly Asset[];
}

/** File that is published with a release. */
export interface Asset {
  name: string;
  /** Address as in the feed; in a static feed file it may be relative to the file. */
  url: string;
}

/**
 * Returns the channel that a release is published on; null for any other tag, which is never available as an update.
 */
export function channelOf(version: string): Channel | null {
  const tag = parseTag(version);
  if (tag.kind !== 'release' || tag.prefix !== 'v' || tag.suffix !== '') return null;
  return tag.version.includes('-') ? 'canary' : 'stable';
}

// Every status request needs the sorted releases, but the lists change only every ten minutes, so the result is cached.
const ordered = new WeakMap<readonly Release[], Partial<Record<Channel, readonly Release[]>>>();

/**
 * Returns the releases of a channel, newest version first. They are not sorted by date, because an old release line may
 * get a late fix. The result is cached, so the list must not be modified after the call.
 */
export function releasesOn(channel: Channel, releases: readonly Release[]): readonly Release[] {
  const known = ordered.get(releases) ?? {};
  ordered.set(releases, known);
  known[channel] ??= releases
    .filter(({ version }) => channelOf(version) === channel)
    .toSorted((a, b) => compareVersions(b.version, a.version));
  return known[channel];
}

export function newestOn(channel: Channel, releases: readonly Release[]): Release | null {
  return releasesOn(channel, releases)[0] ?? null;
}

/**
 * Checks whether a release is newer than the running version. If the running version is unknown, the result is false,
 * because migrations only run forward. `running` is a release tag with or without `v`.
 */
export function isAhead(version: string, running: string): boolean {
  const tag = parseTag(running);
  return channelOf(version) !== null && tag.kind === 'release' && compareVersions(version, tag.version) > 0;
}

/** Checks whether an update to this target can be requested from a server: `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. */
export const isTarget = (text: string): boolean => text === 'canary' || channelOf(text) !== null;

/** Returns the target for an update to a release. A canary build can only be installed through the floating tag. */
export const targetFor = (version: string): string => (channelOf(version) === 'canary' ? 'canary' : version);
