import { imageOf } from '../../engine/swarm.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { FoundStack } from './inspect.ts';
import type { PlannedStack } from './plan.ts';
import { amountsOf, isSame, specOf } from './specs.ts';
import { isWell } from './tasks.ts';

/** Whether there is nothing to do. @throws UpdateError unhealthy where all is done, and does not run */
export async function isWellNow(
  { tasks, nodes }: FoundStack,
  { moves, draft }: PlannedStack,
): Promise<boolean> {
  const isDone = moves.every(
    (move) =>
      imageOf(move.before) === move.image &&
      isSame(specOf(move, 'after', amountsOf(move.before)), move.before),
  );
  if (!isDone || (draft !== null && draft.changes.length > 0)) return false;
  const ill = moves.find((move) => !isWell(move, tasks, nodes));
  if (ill) {
    throw new UpdateError(
      'unhealthy',
      `${ill.name} already has the new image, but not all of its tasks are running`,
      {
        advice: `Check the output of docker service ps --no-trunc ${ill.name} and docker service logs ${ill.name}.`,
      },
    );
  }
  return true;
}
