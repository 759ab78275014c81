import { type RemoteDigest, remoteDigest } from '../../engine/api/remote-digest.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { JudgedByTags, Published } from '../plan/published.ts';

/**
 * Asks registries for the tags that a judgement needs, until it needs no more.
 * @param engine null where no registry is to be asked: then nobody tells of any tag. @throws what the judgement throws
 */
export async function askRegistry<T>(
  engine: Engine | null,
  judge: (published: Published) => JudgedByTags<T>,
): Promise<T> {
  const published = new Map<string, RemoteDigest>();
  for (;;) {
    const judged = judge(published);
    if ('result' in judged) return judged.result;
    const asked = judged.asks.map(async ({ repository, tag }) => {
      published.set(`${repository}:${tag}`, engine && (await remoteDigest(engine, { repository, tag })));
    });
    await Promise.all(asked);
  }
}
