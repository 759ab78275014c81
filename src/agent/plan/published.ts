import type { RemoteDigest } from '../../engine/api/remote-digest.ts';

/** A tag of a repository, as a registry is asked for it. */
export interface PublishedTag {
  repository: string;
  tag: string;
}

/** What registries have said of tags, by reference. A tag that was not asked for is not in it. */
export type Published = ReadonlyMap<string, RemoteDigest>;

/** A judgement that depends on what registries have: its result, or the tags to be asked for before it can be made. */
export type JudgedByTags<T> = { result: T } | { asks: readonly PublishedTag[] };

/** The tags of a repository that were not asked for yet. */
export const unasked = (
  published: Published,
  repository: string,
  tags: readonly string[],
): readonly PublishedTag[] =>
  tags.filter((tag) => !published.has(`${repository}:${tag}`)).map((tag) => ({ repository, tag }));

/** Whether a registry has said that it has the tag. */
export const isPublished = (published: Published, repository: string, tag: string): boolean => {
  const said = published.get(`${repository}:${tag}`);
  return said !== undefined && said !== null && said !== 'none';
};
