import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { listSwarmNodes, listSwarmTasks } from '../../../engine/swarm/swarm-requests.ts';
import { type SwarmTask, serviceImageOf } from '../../../engine/swarm/swarm-service.ts';
import type { TasksAndNodes } from '../services/choose-stack.ts';
import { buildServiceSpec, isEquivalentJson, mutableSpecValuesOf } from '../services/specs.ts';
import { isHealthyService, isTaskAlive } from '../services/tasks.ts';
import type { InspectedStack } from './inspect-stack.ts';
import type { StackUpdatePlan } from './plan-stack.ts';

const pollMs = 250;

/** @throws UpdateError unhealthy if the services are up to date, but not all of their tasks are running */
export async function isStackUpToDate(
  found: TasksAndNodes & Pick<InspectedStack, 'context'>,
  { moves, files }: Pick<StackUpdatePlan, 'moves' | 'files'>,
): Promise<boolean> {
  const isDone = moves.every(
    (move) =>
      serviceImageOf(move.before) === move.image &&
      isEquivalentJson(buildServiceSpec(move, 'after', mutableSpecValuesOf(move.before)), move.before),
  );
  if (!isDone || (files !== null && files.draft.changes.length > 0)) return false;
  const { engine } = found.context;
  const ids = moves.map(({ id }) => id);
  const isMoved = ({ service }: SwarmTask) => ids.includes(service);
  const running = new Set(found.tasks.flatMap((task) => (isTaskAlive(task) ? [task.id] : [])));
  const hasCrashed = found.tasks.some((task) => isMoved(task) && hasEnded(task));
  // Tasks are observed longer after a crash, because Swarm waits 5 s before it restarts a crashed task.
  const deadlineMs = hasCrashed ? 20_000 : 5_000;
  const observe = async () => ({
    tasks: await listSwarmTasks(engine, ids),
    nodes: await listSwarmNodes(engine),
  });
  const evaluate = ({ tasks, nodes }: TasksAndNodes, isLate: boolean) => {
    const crashed = tasks.filter((task) => running.has(task.id) && hasEnded(task));
    const ill = moves.find(
      (move) => !isHealthyService(move, tasks, nodes) || crashed.some(({ service }) => service === move.id),
    );
    if (ill) {
      const message = `${ill.name} already has the new image, but not all of its tasks are running`;
      const advice = `Check the output of docker service ps --no-trunc ${ill.name} and docker service logs ${ill.name}.`;
      throw new UpdateError('unhealthy', message, { advice });
    }
    return isLate || undefined;
  };
  evaluate(found, false);
  return waitUntil(observe, evaluate, { pause: pollMs, deadlineMs, signal: engine.aborted });
}

/** Whether a task ended on its own. If the owner scales the service or drains the node, tasks end as `shutdown`. */
const hasEnded = ({ state }: SwarmTask): boolean => ['failed', 'complete', 'rejected'].includes(state);
