import { UpdateError } from '../../progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { composeLabels } from '../labels.ts';
import { askApi, refusal } from './api.ts';

/**
 * Those of these networks, by the engine's names, that carry the hash of their definition: compose 2.31 or later made
 * them, and tears them down where the definition is another now.
 * @throws UpdateError engine-away
 */
export async function hashedNetworks(engine: Engine, names: readonly string[]): Promise<Set<string>> {
  const hashed = await Promise.all(
    names.map(async (name) => {
      const answer = await askApi(engine, { method: 'GET', path: `/networks/${encodeURIComponent(name)}` });
      if (answer.status === 404) return [];
      if (answer.status !== 200) {
        throw new UpdateError(
          'engine-away',
          `the engine does not tell of network ${name}: ${refusal(answer)}`,
        );
      }
      const { Labels } = JSON.parse(answer.body.toString()) as { Labels?: Record<string, string> | null };
      return Labels?.[composeLabels.hash] ? [name] : [];
    }),
  );
  return new Set(hashed.flat());
}
