import { type Json, toObject } from '../../../engine/objects/json.ts';
import type { SwarmNode, SwarmTask } from '../../../engine/swarm/swarm-service.ts';
import {
  buildServiceSpec,
  isActiveNode,
  isEligibleNode,
  isEquivalentJson,
  isUnreachableNode,
  mutableSpecValuesOf,
  type StackServiceUpdate,
} from '../services/specs.ts';

/** Temporary service that makes nodes pull an image without running the image's programs. */
export interface PullService {
  name: string;
  image: string;
  spec: Json;
  /** Nodes that must pull the image. */
  nodes: readonly SwarmNode[];
}

const pullPrefix = 'svc-updater-pull-';
/** Label of pull services. Its value is the stack's name. */
export const pullServiceLabel = 'svc-updater.pull';

/**
 * Command of a pull service. With `Init`, the engine adds this program to the container, so the image need not contain
 * it.
 */
const pullCommand = ['/sbin/docker-init', '--version'];

/**
 * Builds one service for each combination of image and placement (docs/contract.md 11.3).
 * @param moves - services that get new images
 */
export function planPullServices(
  run: string,
  stack: string,
  moves: readonly StackServiceUpdate[],
  nodes: readonly SwarmNode[],
): PullService[] {
  const specs = moves.map((move) => {
    const after = buildServiceSpec(move, 'after', mutableSpecValuesOf(move.wanted));
    return { image: move.image, placement: placementOf(after), after };
  });
  const unlike = specs.filter(
    ({ image, placement }, at) =>
      specs.findIndex((each) => each.image === image && isEquivalentJson(each.placement, placement)) === at,
  );
  return unlike.map(({ image, placement, after }, at) => {
    // The name contains the stack, because updates of two stacks may start in the same second.
    const name = `${pullPrefix}${run.toLowerCase()}-${stack.slice(0, 24).replace(/[^A-Za-z0-9]+$/, '')}${at === 0 ? '' : `-${at + 1}`}`;
    const spec: Json = {
      Name: name,
      Labels: { [pullServiceLabel]: stack },
      TaskTemplate: {
        ContainerSpec: { Image: image, Command: pullCommand, Init: true, Healthcheck: { Test: ['NONE'] } },
        RestartPolicy: { Condition: 'none' },
        Placement: placement,
      },
      Mode: { Global: {} },
    };
    return {
      name,
      image,
      spec,
      nodes: nodes.filter((node) => isActiveNode(node) && isEligibleNode(after, node)),
    };
  });
}

function placementOf(spec: Json): Json {
  const { Constraints, Platforms } = toObject(toObject(spec.TaskTemplate).Placement);
  return { ...(Constraints !== undefined && { Constraints }), ...(Platforms !== undefined && { Platforms }) };
}

/**
 * @param nodes - current state of the nodes: a node that no longer accepts tasks needs no image, and a node that is
 * down has failed
 */
export function summarizePullState(
  { nodes: wanted }: PullService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
) {
  /** Names of nodes that have the image. */
  const done: string[] = [];
  /** Nodes that failed to pull the image, with Swarm's error message. */
  const failed: { node: string; error: string }[] = [];
  const waiting: { node: string; state: string }[] = [];
  for (const { id, name } of wanted) {
    const task = tasks.find(({ node }) => node === id);
    const now = nodes.find((node) => node.id === id);
    if (task && hasPulled(task)) done.push(name);
    // A node that no longer accepts tasks needs no image.
    else if (now?.state === 'ready' && !isActiveNode(now)) continue;
    else if (task && ['failed', 'rejected', 'orphaned'].includes(task.state))
      failed.push({ node: name, error: task.error || task.state });
    else if (now === undefined || isUnreachableNode(now))
      failed.push({ node: name, error: 'the node went down' });
    else waiting.push({ node: name, state: task?.state ?? 'new' });
  }
  return { done, failed, waiting };
}

/** A node has the image if its task completed, or failed no earlier than at the start of its container. */
const hasPulled = ({ state, error }: SwarmTask): boolean =>
  state === 'complete' || (state === 'failed' && error.startsWith('starting container failed'));
