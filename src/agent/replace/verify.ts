import { type Container, serviceOf } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { World } from '../process/world.ts';
import { type Changeover, idsToRun } from '../state/changeover.ts';
import type { Journal } from '../state/journal.ts';
import { awaitHealthy } from './await-healthy.ts';

/** The phase `verify`: what runs is what was pulled, is well, and nothing else changed. @throws UpdateError broken */
export async function verify(
  world: World,
  journal: Journal,
  changeover: Changeover,
  containers: readonly Container[],
): Promise<void> {
  const { log, options } = world;
  log.enter('verify');
  await journal.note({ phase: 'verify' });
  const others = changedOthers(changeover, containers);
  if (others.length > 0)
    log.error(`a bug of the updater: other containers changed, too: ${others.join(', ')}`);
  const well = await awaitHealthy(world, idsToRun(changeover, containers), options.waitTimeoutMs);
  const wrong = containers.filter((container) => runsAnother(changeover, container));
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `${wrong.map(({ name }) => name).join(', ')} does not run the image that was pulled`,
    );
  }
  const how = well.map((each) => `${each.service} ${each.how}`).join(', ');
  log.info(`${how}; ${changeover.words.runs}`);
  for (const warning of changeover.words.warnings) log.warn(warning);
}

/** A replaced container whose image is not the one that was pulled. */
export const runsAnother = ({ moved }: Changeover, container: Container): boolean => {
  const image = moved.find(({ name }) => name === serviceOf(container))?.image;
  return image !== null && image !== undefined && image.id !== container.imageId;
};

/** Every other container of the project must be what it was. Gives the names of those that are not. */
export function changedOthers({ moved, containers }: Changeover, now: readonly Container[]): string[] {
  const names = new Set(moved.map(({ name }) => name));
  const before = containers.filter((record) => !names.has(record.service));
  const after = now.filter((container) => !names.has(serviceOf(container)));
  return [
    ...before.filter(({ id }) => !after.some((container) => container.id === id)),
    ...after.filter(({ id }) => !before.some((record) => record.id === id)),
  ].map(({ name }) => name);
}
