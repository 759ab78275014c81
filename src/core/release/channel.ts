import { compareVersions } from './order.ts';
import { parseTag } from './tag.ts';

/** What an instance is offered: releases cut by hand, or every build (docs/contract.md 8.5). */
export const channels = ['stable', 'canary'] as const;
export type Channel = (typeof channels)[number];

/** A published release, as listed in a feed. */
export interface Release {
  /** Its tag: `v1.5.0` or `v1.6.0-canary.3`. */
  version: string;
  /** The page to read about it, `https://…`. */
  url: string | null;
  /** Markdown, as its publisher wrote it. */
  notes: string | null;
  /** ISO 8601. */
  publishedAt: string | null;
  /** The oldest version that it can be updated from, `v1.5.0`, where the feed says so. */
  requires?: string;
  /** The files attached to it, where the feed was asked for them. */
  assets?: readonly Asset[];
}

/** A file that is published with a release. */
export interface Asset {
  name: string;
  /** As the feed writes it; in a static file it may be relative to that. */
  url: string;
}

/** The channel that a release is published on; null for a tag of another shape, which is offered nowhere. */
export function channelOf(version: string): Channel | null {
  const tag = parseTag(version);
  if (tag.kind !== 'release' || tag.prefix !== 'v' || tag.suffix !== '') return null;
  return tag.version.includes('-') ? 'canary' : 'stable';
}

// Releases are asked for with every status, and the lists change once in ten minutes: so the order is remembered.
const ordered = new WeakMap<readonly Release[], Partial<Record<Channel, readonly Release[]>>>();

/**
 * The releases of a channel, newest first, by precedence and not by date: an old line may get its fix late. A list must
 * not be changed in place once it was given.
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
 * Whether a release is ahead of the version that runs. Where that is unknown none is, as migrations only run forward.
 * `running` is a release tag, with its `v` or without.
 */
export function isAhead(version: string, running: string): boolean {
  const tag = parseTag(running);
  return channelOf(version) !== null && tag.kind === 'release' && compareVersions(version, tag.version) > 0;
}

/** Whether a server may be asked for it: `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. */
export const isTarget = (text: string): boolean => text === 'canary' || channelOf(text) !== null;

/** What an update to a release has to name: a canary build is reached by the floating tag alone. */
export const targetFor = (version: string): string => (channelOf(version) === 'canary' ? 'canary' : version);
