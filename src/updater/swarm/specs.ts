import * as z from 'zod/mini';
import { type Json, list, object, strings } from '../../engine/json.ts';
import { swarmLabels } from '../../engine/labels.ts';
import { readPlatform } from '../../engine/platform.ts';
import { constraintsOf, imageOf, labelsOf, replicasOf, type SwarmNode } from '../../engine/swarm.ts';
import { stored } from '../run/state/stored-fields.ts';

/** What a run may make of a service's spec; `before` is what it found. */
export type SpecForm = 'before' | 'after' | 'moving' | 'nudged' | 'stopped' | 'held';

/** The engine's own: part of a request's path. */
export const swarmId = stored.like(/^\w[\w-]*$/);

/** One service that moves, as the record of a run has it. */
export const storedMove = z.strictObject({
  id: swarmId,
  /** `svc_app` */
  name: stored.name,
  /** `once`: a migration or the like, which ends when it is done. */
  role: z.enum(['app', 'worker', 'once']),
  /** As it was found. */
  before: stored.object,
  /** As its owner wants it, but for the image: what was found, or what a run before this one has found that did not end well. */
  wanted: stored.object,
  /** `repository:tag@digest` */
  image: stored.reference,
  /** The same as a stack file names it. */
  label: stored.reference,
  /** As the registry tells them; none where it does not. */
  platforms: stored.list(stored.object),
});
export interface ServiceMove extends z.infer<typeof storedMove> {}

/** The constraint that keeps a global service off all nodes. */
const nobody = 'node.id==nobody';
/** A label that makes a spec differ: during an update Swarm ignores an equal one. */
const nudge = 'svc-updater.nudge';

/** How the service is stopped, how much of it is held, and what somebody else has decided meanwhile. */
export interface Amounts {
  /** Replicas that its owner wants now; null for a global service. */
  replicas: number | null;
  /** Incremented by each forced update. */
  forced: number;
  /** Old tasks that may stay while new ones are taken away. */
  held: number;
  /** Of a global service: the nodes without an old task that runs. */
  nodesWithout: readonly string[];
}

export const amountsOf = (spec: Json): Amounts => ({
  replicas: replicasOf(spec),
  forced: Number(object(spec.TaskTemplate).ForceUpdate ?? 0),
  held: 0,
  nodesWithout: [],
});

/** The spec of a service in a form, whole (docs/contract.md 11.2): nothing differs but what the form is for. */
export function specOf(move: ServiceMove, form: SpecForm, amounts: Amounts): Json {
  const { before } = move;
  switch (form) {
    case 'before': {
      // What a run before this one has stopped stays so: its number is not what its owner wants.
      const isAsWanted = replicasOf(before) === replicasOf(move.wanted);
      return withAmounts(before, isAsWanted ? amounts : { ...amounts, replicas: replicasOf(before) });
    }
    case 'after':
      return withAmounts(withImage(move), amounts);
    case 'moving':
      return withAmounts(paused(withImage(move), { stopFirst: takesOneTask(move.wanted) }), amounts);
    case 'nudged': {
      const moving = specOf(move, 'moving', amounts);
      return { ...moving, Labels: { ...labelsOf(moving), [nudge]: '1' } };
    }
    case 'stopped':
      return amounts.replicas === null
        ? withConstraints(paused(before), [nobody])
        : withAmounts(paused(before), { ...amounts, replicas: 0 });
    case 'held':
      return amounts.replicas === null
        ? withConstraints(
            paused(before),
            amounts.nodesWithout.map((id) => `node.id!=${id}`),
          )
        : withAmounts(paused(before), { ...amounts, replicas: amounts.held });
  }
}

/**
 * Which of the two images a spec is of, where all else of it is the owner's; null where somebody has changed more, which
 * is not this run's to write over.
 */
export function imageSideOf(move: ServiceMove, spec: Json): 'old' | 'new' | null {
  const image = imageOf(spec);
  const side = image === move.image ? 'new' : image === imageOf(move.before) ? 'old' : null;
  return [move.wanted, move.before].some((each) => isSame(common(each), common(spec))) ? side : null;
}

/** Whether it had the new image before, from a manual change or an interrupted run. */
export const keepsImage = ({ before, image }: ServiceMove): boolean => imageOf(before) === image;

/** Whether no task of it is to run, whatever its owner wants. */
export const isStopped = (spec: Json): boolean =>
  replicasOf(spec) === 0 || constraintsOf(spec).includes(nobody);

/** A node that has no room for a second task beside the one that runs: a port of its own, or a limit. */
export function takesOneTask(spec: Json): boolean {
  const ports = list<Json>(object(spec.EndpointSpec).Ports);
  const { MaxReplicas } = object(object(object(spec.TaskTemplate).Placement));
  return ports.some(({ PublishMode }) => PublishMode === 'host') || Number(MaxReplicas ?? 0) > 0;
}

/** The `update_config` settings that are overridden during the update, for messages. */
export function putAside(spec: Json): string[] {
  const { FailureAction, Order } = object(spec.UpdateConfig);
  return [
    ...(FailureAction === 'rollback' ? ['failure_action will be "pause" instead of "rollback"'] : []),
    ...(Order === 'start-first' && takesOneTask(spec)
      ? ['order will be "stop-first" instead of "start-first", because no node can run a second task']
      : []),
  ];
}

/** Whether old and new tasks run side by side while it moves: an old one that takes long to end does beside another's successor, too. */
export const isSideBySide = (spec: Json): boolean =>
  (replicasOf(spec) ?? 2) > 1 ||
  (object(spec.UpdateConfig).Order === 'start-first' && replicasOf(spec) === 1 && !takesOneTask(spec));

/** By value, whatever the order of keys. */
export const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

function withImage({ wanted, image, label, platforms }: ServiceMove): Json {
  const template = object(wanted.TaskTemplate);
  const labels = labelsOf(wanted);
  const placement = object(template.Placement);
  const hasPlatforms = list(placement.Platforms).length > 0 && platforms.length > 0;
  return {
    ...wanted,
    ...(swarmLabels.image in labels && { Labels: { ...labels, [swarmLabels.image]: label } }),
    TaskTemplate: {
      ...template,
      ContainerSpec: { ...object(template.ContainerSpec), Image: image },
      ...(hasPlatforms && { Placement: { ...placement, Platforms: platforms } }),
    },
  };
}

/** The owner's `rollback` would automatically start the old version on migrated data. */
function paused(spec: Json, { stopFirst = false }: { stopFirst?: boolean } = {}): Json {
  const config = object(spec.UpdateConfig);
  const changed = {
    ...(config.FailureAction === 'rollback' && { FailureAction: 'pause' }),
    ...(stopFirst && config.Order === 'start-first' && { Order: 'stop-first' }),
  };
  return Object.keys(changed).length === 0 ? spec : { ...spec, UpdateConfig: { ...config, ...changed } };
}

function withAmounts(spec: Json, { replicas, forced }: Pick<Amounts, 'replicas' | 'forced'>): Json {
  const template = object(spec.TaskTemplate);
  return {
    ...spec,
    TaskTemplate: { ...template, ForceUpdate: forced },
    ...(replicas !== null && {
      Mode: {
        ...object(spec.Mode),
        Replicated: { ...object(object(spec.Mode).Replicated), Replicas: replicas },
      },
    }),
  };
}

function withConstraints(spec: Json, more: readonly string[]): Json {
  const template = object(spec.TaskTemplate);
  const placement = object(template.Placement);
  const Constraints = [...strings(placement.Constraints), ...more];
  return { ...spec, TaskTemplate: { ...template, Placement: { ...placement, Constraints } } };
}

/** What no write of a run differs in, nor what its owner may change meanwhile: how many, and how often. */
function common(spec: Json): Json {
  const template = object(spec.TaskTemplate);
  const { Platforms, Constraints, ...placement } = object(template.Placement);
  const labels = labelsOf(spec);
  delete labels[swarmLabels.image];
  delete labels[nudge];
  const ours = /^node\.id(?:==nobody$|!=)/;
  const { FailureAction, Order, ...config } = object(spec.UpdateConfig);
  return {
    ...spec,
    Labels: labels,
    Mode: replicasOf(spec) === null ? spec.Mode : 'replicated',
    UpdateConfig: config,
    TaskTemplate: {
      ...template,
      ForceUpdate: null,
      ContainerSpec: { ...object(template.ContainerSpec), Image: null },
      Placement: { ...placement, Constraints: strings(Constraints).filter((each) => !ours.test(each)) },
    },
  };
}

/** What is absent and what is empty is the same to the engine. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    const entries = Object.entries(each).filter(([, one]) => !isEmptyObject(one));
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const isEmptyObject = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Whether a node is one that a service may use, by its constraints and platforms. */
export function isEligible(spec: Json, node: SwarmNode): boolean {
  const placement = object(object(spec.TaskTemplate).Placement);
  const platforms = list<Json>(placement.Platforms);
  const fits = ({ OS, Architecture }: Json) =>
    (!OS || OS === node.os) &&
    (!Architecture || readPlatform(String(Architecture)) === readPlatform(node.arch));
  return (
    // A service that a run has stopped may use what it may use.
    constraintsOf(spec).every((each) => each === nobody || fulfils(each, node)) &&
    (platforms.length === 0 || platforms.some(fits))
  );
}

/** Those that Swarm gives tasks to. */
export const isActive = ({ state, availability }: SwarmNode): boolean =>
  state === 'ready' && availability === 'active';

/** The node is unreachable; its tasks may still be running. */
export const isDown = ({ state }: SwarmNode): boolean => state === 'down' || state === 'disconnected';

/** One of Swarm's constraints, `node.labels.disk == ssd`; one that is not understood is taken for fulfilled. */
function fulfils(constraint: string, node: SwarmNode): boolean {
  const [, key = '', operator = '', wanted = ''] =
    /^\s*([\w.-]+)\s*(==|!=)\s*(.*?)\s*$/.exec(constraint) ?? [];
  const value = toldOf(key, node);
  if (value === null) return true;
  return (value.toLowerCase() === wanted.toLowerCase()) === (operator === '==');
}

function toldOf(key: string, node: SwarmNode): string | null {
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
