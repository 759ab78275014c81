import type { Engine, RemoteDigest } from '../../engine/cli/engine.ts';

/** Looks up a tag or a digest in the registry of a repository. */
export type TagLookup = (repository: string, tag: string) => Promise<RemoteDigest>;

/**
 * Creates a lookup function.
 * @param engine null to make no requests to registries
 */
export const createTagLookup =
  (engine: Engine | null): TagLookup =>
  async (repository, tag) =>
    engine === null ? null : engine.findRemoteDigest({ repository, tag });
