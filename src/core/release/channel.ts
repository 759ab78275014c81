import { compareVersions } from './compare-versions.ts';
import { parseTag } from './tag.ts';

/**
 * Update channels: `stable` contains manually created releases, `canary` contains every build (docs/contract.md 8.5).
 */
export const channels = ['stable', 'canary'] as const;
export type Channel = (typeof channels)[number];

/** A published release, as listed in a feed. */
export interface Release {
  /** Tag of the release: `v1.5.0` or `v1.6.0-canary.3`. */
  version: string;
  /** Web page of the release, `https://…`. */
  url: string | null;
  /** Release notes in Markdown, as written by the publisher. */
  notes: string | null;
  /** Time of publication in ISO 8601. */
  publishedAt: string | null;
  /**
   * Oldest version from which an update to this release is possible, such as `v1.5.0`, if the feed specifies this
   * version.
   */
  requires?: string;
  /** Files attached to the release, if the feed was requested with these files. */
  assets?: readonly Asset[];
}

/** A file that is published with a release. */
export interface Asset {
  name: string;
  /** Address as in the feed. In a static feed, it may be relative to the feed file. */
  url: string;
}

/**
 * Returns the channel on which a release is published; null for any other tag, which is never available as an update.
 */
export function channelOf(version: string): Channel | null {
  const tag = parseTag(version);
  if (tag.kind !== 'release' || tag.prefix !== 'v' || tag.suffix !== '') return null;
  return tag.version.includes('-') ? 'canary' : 'stable';
}

// Cache of the sorted releases, because every status request needs them and the lists change only every ten minutes.
const ordered = new WeakMap<readonly Release[], Partial<Record<Channel, readonly Release[]>>>();

/**
 * Returns the releases of a channel, newest version first. They are not sorted by date, because an older release line
 * may receive a fix later. The result is cached, so the list of releases must not be modified after the call.
 */
export function releasesOfChannel(channel: Channel, releases: readonly Release[]): readonly Release[] {
  const known = ordered.get(releases) ?? {};
  ordered.set(releases, known);
  known[channel] ??= releases
    .filter(({ version }) => channelOf(version) === channel)
    .toSorted((a, b) => compareVersions(b.version, a.version));
  return known[channel];
}

export function findNewestRelease(channel: Channel, releases: readonly Release[]): Release | null {
  return releasesOfChannel(channel, releases)[0] ?? null;
}

/**
 * Checks whether a release is newer than the running version, a release tag with or without `v`. If the running version
 * is unknown, the result is false, because migrations only run forward.
 */
export function isNewerVersion(version: string, running: string): boolean {
  const tag = parseTag(running);
  return channelOf(version) !== null && tag.kind === 'release' && compareVersions(version, tag.version) > 0;
}

/** Checks whether a server accepts a text as the target of an update: `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. */
export const isRequestableTarget = (text: string): boolean => text === 'canary' || channelOf(text) !== null;

/**
 * Returns the target for an update to a release. A canary build can only be installed with the floating tag `canary`.
 */
export const targetFor = (version: string): string => (channelOf(version) === 'canary' ? 'canary' : version);
