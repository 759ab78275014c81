import { type Json, object } from '../../engine/json.ts';
import type { SwarmNode, SwarmTask } from '../../engine/swarm.ts';
import { amountsOf, isActive, isDown, isEligible, isSame, type ServiceMove, specOf } from './specs.ts';

/** A service that has nodes pull an image, and runs nothing of it. */
export interface PullService {
  name: string;
  image: string;
  spec: Json;
  /** The nodes that have to get it. */
  nodes: readonly SwarmNode[];
}

const pullPrefix = 'svc-updater-pull-';
/** By which it is known whose it is. */
export const pullLabel = 'svc-updater.pull';

/** The engine's own: in every image, as it is put there for `init`, whatever the image has. */
const probe = ['/sbin/docker-init', '--version'];

/** One for each image and each choice of nodes (docs/contract.md 11.3). @param moves those that are to have new images */
export function pullServices(
  run: string,
  stack: string,
  moves: readonly ServiceMove[],
  nodes: readonly SwarmNode[],
): PullService[] {
  const specs = moves.map((move) => {
    const after = specOf(move, 'after', amountsOf(move.wanted));
    return { image: move.image, placement: placementOf(after), after };
  });
  const unlike = specs.filter(
    ({ image, placement }, at) =>
      specs.findIndex((each) => each.image === image && isSame(each.placement, placement)) === at,
  );
  return unlike.map(({ image, placement, after }, at) => {
    // Two stacks may be updated in one second.
    const name = `${pullPrefix}${run.toLowerCase()}-${stack.slice(0, 24).replace(/[^A-Za-z0-9]+$/, '')}${at === 0 ? '' : `-${at + 1}`}`;
    const spec: Json = {
      Name: name,
      Labels: { [pullLabel]: stack },
      TaskTemplate: {
        ContainerSpec: { Image: image, Command: probe, Init: true, Healthcheck: { Test: ['NONE'] } },
        RestartPolicy: { Condition: 'none' },
        Placement: placement,
      },
      Mode: { Global: {} },
    };
    return { name, image, spec, nodes: nodes.filter((node) => isActive(node) && isEligible(after, node)) };
  });
}

function placementOf(spec: Json): Json {
  const { Constraints, Platforms } = object(object(spec.TaskTemplate).Placement);
  return { ...(Constraints !== undefined && { Constraints }), ...(Platforms !== undefined && { Platforms }) };
}

/** The pull progress of the nodes. @param nodes in their current state: nodes that became unavailable are not waited for */
export function pullState(
  { nodes: wanted }: PullService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
) {
  /** Names of nodes. */
  const done: string[] = [];
  /** With Swarm's own words. */
  const failed: { node: string; error: string }[] = [];
  const waiting: { node: string; state: string }[] = [];
  for (const { id, name } of wanted) {
    const task = tasks.find(({ node }) => node === id);
    const now = nodes.find((node) => node.id === id);
    if (task && hasPulled(task)) done.push(name);
    // One that takes no tasks any more needs none.
    else if (now?.state === 'ready' && !isActive(now)) continue;
    else if (task && ['failed', 'rejected', 'orphaned'].includes(task.state))
      failed.push({ node: name, error: task.error || task.state });
    else if (now === undefined || isDown(now)) failed.push({ node: name, error: 'the node went down' });
    else waiting.push({ node: name, state: task?.state ?? 'new' });
  }
  return { done, failed, waiting };
}

/** It ran, or the engine had the image and nothing to start there. */
const hasPulled = ({ state, error }: SwarmTask): boolean =>
  state === 'complete' || (state === 'failed' && error.startsWith('starting container failed'));
