import type { RemoteDigest } from '../../../engine/cli/engine.ts';

/** A tag to look up in a registry. */
export interface PublishedTag {
  repository: string;
  /** Or a digest, `sha256:…`. */
  tag: string;
}

/** The answers of registries by reference. Tags that were not looked up are missing. */
export type Published = ReadonlyMap<string, RemoteDigest>;

/** A result that depends on registries, or the tags that must be looked up first. */
export type JudgedByTags<T> = { result: T } | { asks: readonly PublishedTag[] };

/** The tags that have not been looked up yet. */
export const unasked = (
  published: Published,
  repository: string,
  tags: readonly string[],
): readonly PublishedTag[] =>
  tags.filter((tag) => !published.has(`${repository}:${tag}`)).map((tag) => ({ repository, tag }));

/** Whether the registry has the tag. */
export const isPublished = (published: Published, repository: string, tag: string): boolean => {
  const said = published.get(`${repository}:${tag}`);
  return said !== undefined && said !== null && said !== 'none';
};
