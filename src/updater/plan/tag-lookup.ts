import type { Engine, RemoteDigest } from '../../engine/cli/engine.ts';

/** `tag` may be a digest. The result is null if the lookup fails, and `none` if the registry has no such tag. */
export type TagLookup = (repository: string, tag: string) => Promise<RemoteDigest>;

/** @param engine - null to make no requests to registries */
export const createTagLookup =
  (engine: Engine | null): TagLookup =>
  async (repository, tag) =>
    engine === null ? null : engine.findRemoteDigest({ repository, tag });
