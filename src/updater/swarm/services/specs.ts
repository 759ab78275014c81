import * as z from 'zod/mini';
import { type Json, toList, toObject, toStrings } from '../../../engine/objects/json.ts';
import { swarmLabels } from '../../../engine/objects/labels.ts';
import { normalizePlatform } from '../../../engine/objects/platform.ts';
import {
  placementConstraintsOf,
  replicaCountOf,
  type SwarmNode,
  serviceImageOf,
  serviceLabelsOf,
} from '../../../engine/swarm/swarm-service.ts';
import { storedFieldSchemas } from '../../run/state/stored-fields.ts';

/** Forms of a service's spec that a run may write. `before` is the original spec, and `after` the final one. */
export type SpecForm = 'before' | 'after' | 'moving' | 'nudged' | 'stopped' | 'held';

/** Only these characters are allowed, because the id is used in request paths. */
export const swarmIdSchema = storedFieldSchemas.like(/^\w[\w-]*$/);

/** Stored in the record of a run. */
export const stackServiceUpdateSchema = z.strictObject({
  id: swarmIdSchema,
  /** Full name, such as `svc_app`. */
  name: storedFieldSchemas.name,
  /** `once`: a service that exits when it is done, such as a migration. */
  role: z.enum(['app', 'worker', 'once']),
  /** Spec of the service before this run. */
  before: storedFieldSchemas.object,
  /**
   * The owner's spec, except for the image. If an earlier run failed, `before` may instead be the spec that this
   * earlier run left.
   */
  wanted: storedFieldSchemas.object,
  /** New image as `repository:tag@digest`. */
  image: storedFieldSchemas.reference,
  /** New image as written in the stack file. */
  label: storedFieldSchemas.reference,
  /** Platforms of the new image as reported by the registry; empty if it reports none. */
  platforms: storedFieldSchemas.list(storedFieldSchemas.object),
});
export interface StackServiceUpdate extends z.infer<typeof stackServiceUpdateSchema> {}

/** Constraint that matches no node, with which a run stops a global service. */
const noNodeConstraint = 'node.id==nobody';
/** Label that makes a spec differ from the current one, because Swarm ignores an update to an identical spec. */
const nudgeLabel = 'svc-updater.nudge';

/** Values of a spec that may change during a run. */
export interface MutableSpecValues extends ReturnType<typeof mutableSpecValuesOf> {}

export const mutableSpecValuesOf = (spec: Json) => ({
  /** Number of replicas that the owner currently wants; null for a global service. */
  replicas: replicaCountOf(spec),
  /** Counter that each forced update increments. */
  forced: Number(toObject(spec.TaskTemplate).ForceUpdate ?? 0),
  /** Number of old tasks to retain while Swarm removes new tasks. */
  held: 0,
  /** Ids of the eligible nodes that run no old task of a global service. */
  nodesWithout: [] as readonly string[],
});

/**
 * Builds the given form of a service's spec. Changes only the fields that the form requires (docs/contract.md 11.2).
 */
export function buildServiceSpec(move: StackServiceUpdate, form: SpecForm, amounts: MutableSpecValues): Json {
  const { before } = move;
  switch (form) {
    case 'before': {
      // If a previous run stopped the service, it stays stopped, whatever number of replicas its owner wants.
      const isAsWanted = replicaCountOf(before) === replicaCountOf(move.wanted);
      return withAmounts(before, isAsWanted ? amounts : { ...amounts, replicas: replicaCountOf(before) });
    }
    case 'after':
      return withAmounts(withImage(move), amounts);
    case 'moving':
      return withAmounts(
        withPauseOnFailure(withImage(move), { stopFirst: isLimitedToOneTaskPerNode(move.wanted) }),
        amounts,
      );
    case 'nudged': {
      const moving = buildServiceSpec(move, 'moving', amounts);
      return { ...moving, Labels: { ...serviceLabelsOf(moving), [nudgeLabel]: '1' } };
    }
    case 'stopped':
      return amounts.replicas === null
        ? withConstraints(withPauseOnFailure(before), [noNodeConstraint])
        : withAmounts(withPauseOnFailure(before), { ...amounts, replicas: 0 });
    case 'held':
      return amounts.replicas === null
        ? withConstraints(
            withPauseOnFailure(before),
            amounts.nodesWithout.map((id) => `node.id!=${id}`),
          )
        : withAmounts(withPauseOnFailure(before), { ...amounts, replicas: amounts.held });
  }
}

/**
 * Returns whether a spec has the old or the new image; null if another process has set a third image or changed other
 * parts. This run must not overwrite such a spec.
 */
export function classifySpecImage(move: StackServiceUpdate, spec: Json): 'old' | 'new' | null {
  const image = serviceImageOf(spec);
  const side = image === move.image ? 'new' : image === serviceImageOf(move.before) ? 'old' : null;
  return [move.wanted, move.before].some((each) =>
    isEquivalentJson(constantPartOf(each), constantPartOf(spec)),
  )
    ? side
    : null;
}

/** True if the service already had the new image before the run, for example after a manual change. */
export const hasNewImageBeforeRun = ({ before, image }: StackServiceUpdate): boolean =>
  serviceImageOf(before) === image;

export const isStoppedSpec = (spec: Json): boolean =>
  replicaCountOf(spec) === 0 || placementConstraintsOf(spec).includes(noNodeConstraint);

/** Whether a node can run only one of the service's tasks, because of a host port or a limit per node. */
export function isLimitedToOneTaskPerNode(spec: Json): boolean {
  const ports = toList<Json>(toObject(spec.EndpointSpec).Ports);
  const { MaxReplicas } = toObject(toObject(toObject(spec.TaskTemplate).Placement));
  return ports.some(({ PublishMode }) => PublishMode === 'host') || Number(MaxReplicas ?? 0) > 0;
}

/** Describes the `update_config` settings that are overridden during the update. */
export function describeOverriddenUpdateConfig(spec: Json): string[] {
  const { FailureAction, Order } = toObject(spec.UpdateConfig);
  return [
    ...(FailureAction === 'rollback' ? ['failure_action will be "pause" instead of "rollback"'] : []),
    ...(Order === 'start-first' && isLimitedToOneTaskPerNode(spec)
      ? ['order will be "stop-first" instead of "start-first", because no node can run a second task']
      : []),
  ];
}

/**
 * Whether old and new tasks run at the same time. With several replicas, an old task that stops slowly may still run
 * when another replica's new task starts.
 */
export const hasOverlappingTasks = (spec: Json): boolean =>
  (replicaCountOf(spec) ?? 2) > 1 ||
  (toObject(spec.UpdateConfig).Order === 'start-first' &&
    replicaCountOf(spec) === 1 &&
    !isLimitedToOneTaskPerNode(spec));

/** Ignores the order of keys, and empty fields of objects. */
export const isEquivalentJson = (a: unknown, b: unknown): boolean =>
  serializeCanonically(a) === serializeCanonically(b);

function withImage({ wanted, image, label, platforms }: StackServiceUpdate): Json {
  const template = toObject(wanted.TaskTemplate);
  const labels = serviceLabelsOf(wanted);
  const placement = toObject(template.Placement);
  const hasPlatforms = toList(placement.Platforms).length > 0 && platforms.length > 0;
  return {
    ...wanted,
    ...(swarmLabels.image in labels && { Labels: { ...labels, [swarmLabels.image]: label } }),
    TaskTemplate: {
      ...template,
      ContainerSpec: { ...toObject(template.ContainerSpec), Image: image },
      ...(hasPlatforms && { Placement: { ...placement, Platforms: platforms } }),
    },
  };
}

/**
 * Replaces the failure action `rollback`, with which Swarm would start the old version on migrated data. `stopFirst`
 * also replaces the order `start-first`.
 */
function withPauseOnFailure(spec: Json, { stopFirst = false }: { stopFirst?: boolean } = {}): Json {
  const config = toObject(spec.UpdateConfig);
  const changed = {
    ...(config.FailureAction === 'rollback' && { FailureAction: 'pause' }),
    ...(stopFirst && config.Order === 'start-first' && { Order: 'stop-first' }),
  };
  return Object.keys(changed).length === 0 ? spec : { ...spec, UpdateConfig: { ...config, ...changed } };
}

function withAmounts(spec: Json, { replicas, forced }: Pick<MutableSpecValues, 'replicas' | 'forced'>): Json {
  const template = toObject(spec.TaskTemplate);
  return {
    ...spec,
    TaskTemplate: { ...template, ForceUpdate: forced },
    ...(replicas !== null && {
      Mode: {
        ...toObject(spec.Mode),
        Replicated: { ...toObject(toObject(spec.Mode).Replicated), Replicas: replicas },
      },
    }),
  };
}

function withConstraints(spec: Json, more: readonly string[]): Json {
  const template = toObject(spec.TaskTemplate);
  const placement = toObject(template.Placement);
  const Constraints = [...toStrings(placement.Constraints), ...more];
  return { ...spec, TaskTemplate: { ...template, Placement: { ...placement, Constraints } } };
}

/**
 * Returns the parts of a spec that must not change during an update. Omits what a run writes, and what the owner may
 * change: replicas and forced updates.
 */
function constantPartOf(spec: Json): Json {
  const template = toObject(spec.TaskTemplate);
  const { Platforms, Constraints, ...placement } = toObject(template.Placement);
  const labels = serviceLabelsOf(spec);
  delete labels[swarmLabels.image];
  delete labels[nudgeLabel];
  const ours = /^node\.id(?:==nobody$|!=)/;
  const { FailureAction, Order, ...config } = toObject(spec.UpdateConfig);
  return {
    ...spec,
    Labels: labels,
    Mode: replicaCountOf(spec) === null ? spec.Mode : 'replicated',
    UpdateConfig: config,
    TaskTemplate: {
      ...template,
      ForceUpdate: null,
      ContainerSpec: { ...toObject(template.ContainerSpec), Image: null },
      Placement: { ...placement, Constraints: toStrings(Constraints).filter((each) => !ours.test(each)) },
    },
  };
}

/** Omits empty fields, because the engine treats absent and empty fields alike. */
function serializeCanonically(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    const entries = Object.entries(each).filter(([, one]) => !isEmptyObject(one));
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const isEmptyObject = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Checks whether the constraints and platforms of a service allow a node. */
export function isEligibleNode(spec: Json, node: SwarmNode): boolean {
  const placement = toObject(toObject(spec.TaskTemplate).Placement);
  const platforms = toList<Json>(placement.Platforms);
  const fits = ({ OS, Architecture }: Json) =>
    (!OS || OS === node.os) &&
    (!Architecture || normalizePlatform(String(Architecture)) === normalizePlatform(node.arch));
  return (
    // Ignores the constraint with which a run stops a global service.
    placementConstraintsOf(spec).every((each) => each === noNodeConstraint || isConstraintMet(each, node)) &&
    (platforms.length === 0 || platforms.some(fits))
  );
}

/** Checks whether Swarm assigns tasks to the node. */
export const isActiveNode = ({ state, availability }: SwarmNode): boolean =>
  state === 'ready' && availability === 'active';

/** The managers cannot reach the node, but its tasks may still be running. */
export const isUnreachableNode = ({ state }: SwarmNode): boolean =>
  state === 'down' || state === 'disconnected';

/** Evaluates a placement constraint such as `node.labels.disk == ssd`. An unsupported constraint counts as met. */
function isConstraintMet(constraint: string, node: SwarmNode): boolean {
  const [, key = '', operator = '', wanted = ''] =
    /^\s*([\w.-]+)\s*(==|!=)\s*(.*?)\s*$/.exec(constraint) ?? [];
  const value = constraintValueOf(key, node);
  if (value === null) return true;
  return (value.toLowerCase() === wanted.toLowerCase()) === (operator === '==');
}

function constraintValueOf(key: string, node: SwarmNode): string | null {
  const label = /^(node|engine)\.labels\.(.+)$/.exec(key);
  if (label) return (label[1] === 'node' ? node.labels : node.engineLabels)[label[2] ?? ''] ?? '';
  const values: Record<string, string> = {
    'node.id': node.id,
    'node.hostname': node.name,
    'node.role': node.role,
    'node.platform.os': node.os,
    'node.platform.arch': node.arch,
  };
  return key in values ? (values[key] ?? '') : null;
}
