import { inspectImages } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { serviceOf } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Installation, movedServices } from '../inspect/installation.ts';
import type { Log } from '../log/log.ts';
import { findDrift } from './drift.ts';

/**
 * Holds compose's model, with today's pin, against every container that would be recreated.
 * Refusal: drift, unless it is accepted.
 */
export async function checkDrift(
  { engine, log }: { engine: Engine; log: Log },
  installation: Installation,
  accepted: boolean,
): Promise<void> {
  const { movedModel: model } = installation;
  const moved = [...movedServices(installation), ...installation.followers];
  const containers = moved.flatMap((facts) => facts.containers);
  const imageIds = [...new Set(containers.map(({ imageId }) => imageId))];
  const images = await inspectImages(engine, imageIds);
  const imageEnv = new Map(
    imageIds.map((id, index) => [id, images[index]?.env ?? new Map<string, string>()] as const),
  );
  const drift = new Set(
    containers.flatMap((container) =>
      findDrift(serviceOf(container), container, model, imageEnv.get(container.imageId) ?? new Map()),
    ),
  );
  if (drift.size === 0) return;
  if (!accepted) {
    throw new UpdateError('drift', 'recreating would take from the instance what its files no longer say', {
      detail: [...drift],
    });
  }
  for (const what of drift) log.warn(`accepted: ${what}`);
}
