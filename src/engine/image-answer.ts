import { type Json, list, object } from './json.ts';

/**
 * What an engine tells of a local image, with its manifests (API 1.48 on); null if it is not here. Of an index that has the
 * engine's own platform, of which only others are here, it tells no configuration but of one that is named (API 1.49 on):
 * that is the first of them.
 * @param ask `GET /images/{reference}/json` with this query
 */
export async function imageAnswer(ask: (query: string) => Promise<Json | null>): Promise<Json | null> {
  // Engines that do not know this question answer without.
  const told = await ask('manifests=1');
  const other = told === null || told.Os ? undefined : platformHere(told);
  if (told === null || other === undefined) return told;
  const named = await ask(`${new URLSearchParams({ platform: JSON.stringify(other) })}`);
  const { Os = '', Architecture, Config } = object(named);
  return { ...told, Os, Architecture, Config };
}

const platformHere = ({ Manifests }: Json): unknown =>
  list<Json>(Manifests).flatMap(({ Available, ImageData }) =>
    Available ? (object(ImageData).Platform ?? []) : [],
  )[0];
