import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { roleLabelOf } from '../../../core/names/product.ts';
import { swarmLabels } from '../../../engine/objects/labels.ts';
import {
  containerSpecOf,
  isJob,
  replicaCountOf,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
  serviceImageOf,
  serviceLabelsOf,
} from '../../../engine/swarm/swarm-service.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { UpdateOptions } from '../../run/options/update-options.ts';
import { isEligibleNode, isUnreachableNode } from './specs.ts';
import { isTaskAlive } from './tasks.ts';

/** App and workers to update, and all services of the stack. */
export interface ChosenStack {
  name: string;
  app: SwarmService;
  workers: readonly SwarmService[];
  services: readonly SwarmService[];
}

/** Returns a service's name in the stack file, such as `app` for `svc_app`. */
export const shortServiceNameOf = (stack: string, { name }: Pick<SwarmService, 'name'>): string =>
  name.startsWith(`${stack}_`) ? name.slice(stack.length + 1) : name;

export const listStacksWithApp = (services: readonly SwarmService[], app: string): string[] => [
  ...new Set(
    services.flatMap(({ name, stack }) => (stack !== null && name === `${stack}_${app}` ? [stack] : [])),
  ),
];

/**
 * @param services - all services that belong to a stack
 * @throws UpdateError several-projects, no-app, unlisted-services
 */
export function chooseStack(services: readonly SwarmService[], options: UpdateOptions): ChosenStack {
  const { app, product } = options;
  const all = listStacksWithApp(services, app);
  const [name, ...others] = options.stack.name === null ? all : [options.stack.name];
  if (name === undefined) {
    throw new UpdateError('no-app', `no stack in this Swarm has a service named ${app}`, {
      advice: 'Specify the app service with --service and the stack with --stack.',
    });
  }
  if (others.length > 0) {
    throw new UpdateError('several-projects', `several stacks match: ${all.join(', ')}`, {
      advice: 'Choose one with --stack.',
    });
  }
  const own = services.filter(({ stack }) => stack === name);
  const find = (short: string) => own.find((each) => each.name === `${name}_${short}`);
  const found = find(app);
  if (!found) {
    const names = own.map((each) => shortServiceNameOf(name, each)).sort();
    throw new UpdateError('no-app', `stack ${name} has no service ${name}_${app}`, {
      advice:
        names.length > 0
          ? `The stack has these services: ${joinWithAnd(names)}. Select the app service with --service.`
          : all.length > 0
            ? `Deploy the stack first, or choose another stack with --stack (found: ${joinWithAnd(all)}).`
            : 'Deploy the stack first, or choose another stack with --stack.',
    });
  }
  const isWorker = (each: SwarmService) =>
    [each.spec, containerSpecOf(each.spec)].some(
      (holder) => serviceLabelsOf(holder)[roleLabelOf(product)] === 'worker',
    );
  const labelled = own.filter((each) => each !== found && isWorker(each));
  const usual = product.services.slice(1).flatMap((short) => find(short) ?? []);
  const workers = options.servicesNamed
    ? options.workers.map((short) => find(short) ?? rejectMissingService(name, short))
    : labelled.length > 0
      ? labelled
      : usual.filter((each) => each !== found);
  const chosen = { name, app: found, workers, services: own };
  requireNoUnlistedServices(chosen, options);
  return chosen;
}

const rejectMissingService = (stack: string, short: string): never => {
  throw new UpdateError('no-app', `stack ${stack} has no service ${stack}_${short}`, {
    advice: 'With --service, specify only services in this stack.',
  });
};

/** Services with the app's image are released together, so each of them must be updated or excluded. */
function requireNoUnlistedServices(
  { name, app, workers, services }: ChosenStack,
  { exclude }: UpdateOptions,
): void {
  const repository = parseImageReference(serviceImageOf(app.spec))?.repository;
  const behind = services.filter(
    (each) =>
      each !== app &&
      !workers.includes(each) &&
      !exclude.includes('*') &&
      !exclude.includes(shortServiceNameOf(name, each)) &&
      parseImageReference(serviceImageOf(each.spec))?.repository === repository,
  );
  if (behind.length === 0) return;
  const names = behind.map((each) => shortServiceNameOf(name, each));
  const message = `these services use the same image as ${shortServiceNameOf(name, app)} but are not selected for the update: ${joinWithAnd(names)}`;
  throw new UpdateError('unlisted-services', message);
}

/** Tasks and nodes of the Swarm, as reported by the managers. */
export interface TasksAndNodes {
  /** Tasks of the updated services. */
  tasks: readonly SwarmTask[];
  nodes: readonly SwarmNode[];
}

/**
 * Requires that the app and the workers can be updated (docs/contract.md 11.6).
 * @param isOurs - whether this run resumes an update and therefore accepts updates in progress and unreachable nodes
 * @throws UpdateError stack-unsupported, stack-busy
 */
export function requireUpdatableServices(
  { name, app, workers }: ChosenStack,
  { tasks, nodes }: TasksAndNodes,
  { isOurs = false }: { isOurs?: boolean } = {},
): void {
  for (const service of [app, ...workers]) {
    const own = tasks.filter((task) => task.service === service.id && isTaskAlive(task));
    const used = own.flatMap((task) => nodes.find(({ id }) => id === task.node) ?? []);
    if (isJob(service.spec)) {
      throw new UpdateError('stack-unsupported', `${service.name} is a job, and jobs cannot be updated`, {
        advice: `Do not list ${shortServiceNameOf(name, service)} with --service: list only services that run permanently.`,
      });
    }
    if (!isOurs && ['updating', 'rollback_started'].includes(service.updateState)) {
      const message = `another update of ${service.name} is in progress (${service.updateState})`;
      const advice = `Wait until the other update finishes (see docker service inspect --pretty ${service.name}), then run {command} again.`;
      throw new UpdateError('stack-busy', message, { advice });
    }
    const down = used.find(isUnreachableNode)?.name;
    if (down !== undefined && !isOurs) {
      const message = `${service.name} has a task on node ${down}, which is down: the task may still be running`;
      const advice = `Restart ${down} or remove it with docker node rm --force ${down}, then run {command} again.`;
      throw new UpdateError('stack-busy', message, { advice });
    }
    const paused = used.find(({ availability }) => availability === 'pause')?.name;
    if (paused !== undefined && replicaCountOf(service.spec) === null) {
      const message = `${service.name} is global and has a task on node ${paused}, which is paused: Swarm would not replace this task`;
      const advice = `If the node should run the app, make it available: docker node update --availability active ${paused}. Otherwise, drain it. Then run {command} again.`;
      throw new UpdateError('stack-busy', message, { advice });
    }
  }
}

/** Returns the nodes that need the new images, including nodes that cannot pull them now. */
export function listEligibleNodes(
  { app, workers }: Pick<ChosenStack, 'app' | 'workers'>,
  nodes: readonly SwarmNode[],
): readonly SwarmNode[] {
  return nodes.filter((node) => [app, ...workers].some(({ spec }) => isEligibleNode(spec, node)));
}

/**
 * Returns the image from the stack file, which `docker stack deploy` stores in a label. Without the label, returns the
 * spec's image without its digest.
 */
export const stackFileImageOf = ({ spec }: Pick<SwarmService, 'spec'>): string =>
  serviceLabelsOf(spec)[swarmLabels.image] ?? serviceImageOf(spec).replace(/@.*$/, '');
