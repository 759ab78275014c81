import type { Engine, RemoteDigest } from '../../../engine/cli/engine.ts';
import type { JudgedByTags, Published } from '../plan/published.ts';

/**
 * Looks up tags in registries until the check has all that it needs.
 * @param engine null to not ask any registry. @throws the errors of the check
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
      published.set(`${repository}:${tag}`, engine && (await engine.findRemoteDigest({ repository, tag })));
    });
    await Promise.all(asked);
  }
}
