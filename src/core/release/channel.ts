import { compareVersions } from './compare-versions.ts';
import { parseSemverTag } from './tag.ts';

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
  /** Oldest version that can be updated to this release, such as `v1.5.0`, if the feed specifies it. */
  requires?: string;
  /** Files published with the release, if they were requested from the feed. */
  assets?: readonly ReleaseAsset[];
}

/** A file that is published with a release. */
export interface ReleaseAsset {
  name: string;
  /** Address from the feed. In a static feed, the address may be relative to the feed file. */
  url: string;
}

/** Returns the channel of a release. Returns null for any other tag, which is never available as an update. */
export function channelOf(version: string): Channel | null {
  const tag = parseSemverTag(version);
  if (tag.kind !== 'release' || tag.prefix !== 'v' || tag.suffix !== '') return null;
  return tag.version.includes('-') ? 'canary' : 'stable';
}

// Cache of the sorted releases. Every status request needs them, but the lists change only every ten minutes.
const ordered = new WeakMap<readonly Release[], Partial<Record<Channel, readonly Release[]>>>();

/**
 * Returns the releases of a channel, newest version first. The result is cached, so callers must not modify `releases`
 * afterwards.
 */
export function listChannelReleases(channel: Channel, releases: readonly Release[]): readonly Release[] {
  const known = ordered.get(releases) ?? {};
  ordered.set(releases, known);
  known[channel] ??= releases
    .filter(({ version }) => channelOf(version) === channel)
    // Releases are not sorted by date, because an older release line may receive a fix later.
    .toSorted((a, b) => compareVersions(b.version, a.version));
  return known[channel];
}

export function findNewestRelease(channel: Channel, releases: readonly Release[]): Release | null {
  return listChannelReleases(channel, releases)[0] ?? null;
}

/**
 * Checks whether `version` is newer than `running`, which may have a leading `v`. Returns false if `running` is
 * unknown: `version` might be older, and migrations only run forward.
 */
export function isNewerVersion(version: string, running: string): boolean {
  const tag = parseSemverTag(running);
  return channelOf(version) !== null && tag.kind === 'release' && compareVersions(version, tag.version) > 0;
}

/** Whether the target can be requested from a server: `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. */
export const isRequestableTarget = (text: string): boolean => text === 'canary' || channelOf(text) !== null;

/** Returns `canary` for a canary build, because canary builds can only be installed with the floating tag. */
export const updateTargetOf = (version: string): string =>
  channelOf(version) === 'canary' ? 'canary' : version;
