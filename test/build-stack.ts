// Builders for stacks of a Swarm.

import type { Json } from '../src/engine/objects/json.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../src/engine/swarm/swarm-service.ts';
import type { StackServiceUpdate } from '../src/updater/swarm/services/specs.ts';
import type { TaskSummary } from '../src/updater/swarm/services/tasks.ts';

/** Expands `acme/svc:v1@sha256:a` to an image with a full digest. */
export const whole = (image: string): string =>
  image.replace(/@sha256:([0-9a-f])$/, (_, digit: string) => `@sha256:${digit.repeat(64)}`);

export const oldImage = whole('acme/svc:v1.4.2@sha256:a');
export const newImage = whole('acme/svc:v1.5.0@sha256:b');

interface SpecParts {
  name?: string;
  image?: string;
  /** The image in the stack file; null for a service that was not created from a stack file. */
  label?: string | null;
  /** Null for a global service. */
  replicas?: number | null;
  forced?: number;
  update?: Json;
  constraints?: string[];
  platforms?: Json[];
  maxReplicas?: number;
  ports?: Json[];
  labels?: Json;
  container?: Json;
}

/** The spec of a service as returned by the API. */
export function specWith(parts: SpecParts = {}): Json {
  const image = whole(parts.image ?? oldImage);
  const { name = 'svc_app', label = image.replace(/@.*$/, ''), replicas = 2 } = parts;
  const { forced = 0, update, constraints, platforms, maxReplicas, ports, labels, container } = parts;
  const placement = {
    ...(constraints && { Constraints: constraints }),
    ...(platforms && { Platforms: platforms }),
    ...(maxReplicas !== undefined && { MaxReplicas: maxReplicas }),
  };
  return {
    Name: name,
    Labels: {
      'com.docker.stack.namespace': 'svc',
      ...(label !== null && { 'com.docker.stack.image': whole(label) }),
      ...labels,
    },
    TaskTemplate: {
      ContainerSpec: { Image: image, Env: ['DB=db'], ...container },
      Placement: placement,
      ForceUpdate: forced,
    },
    Mode: replicas === null ? { Global: {} } : { Replicated: { Replicas: replicas } },
    ...(update && { UpdateConfig: update }),
    ...(ports && { EndpointSpec: { Ports: ports } }),
  };
}

/** The update of `app` or of a worker from v1.4.2 to v1.5.0. */
export function moveOf(
  name: string,
  { before = specWith({ name: `svc_${name}` }), ...changes }: Partial<StackServiceUpdate> = {},
): StackServiceUpdate {
  return {
    id: `${name}-id`,
    name: `svc_${name}`,
    role: name === 'app' ? 'app' : 'worker',
    before,
    wanted: before,
    image: newImage,
    label: 'acme/svc:v1.5.0',
    platforms: [],
    ...changes,
  };
}

export const serviceWith = (spec: Json = specWith(), changes: Partial<SwarmService> = {}): SwarmService => ({
  id: `${String(spec.Name).replace(/^svc_/, '')}-id`,
  name: String(spec.Name),
  stack: 'svc',
  version: 1,
  spec,
  previousSpec: null,
  updateState: '',
  ...changes,
});

export type TaskWord = string | [words: string, changes: Partial<SwarmTask>];

/**
 * Parses tasks such as `old running`, `new ready n2`, `new failed`: image, state and node. The default node is `n1`,
 * and `-` is no node. The tasks of a list have the ids `t1`, `t2` … and the slots 1, 2 …
 */
export const tasksOf = (...words: readonly TaskWord[]): SwarmTask[] =>
  words.map((each, at) => {
    const [word, changes] = typeof each === 'string' ? [each, {}] : each;
    const [side, state = '', node = 'n1'] = word.split(' ');
    return {
      id: `t${at + 1}`,
      service: 'app-id',
      slot: at + 1,
      node: node === '-' ? '' : node,
      state,
      desiredState: 'running',
      image: side === 'new' ? newImage : oldImage,
      error: '',
      tookMs: 1_000,
      ...changes,
      ...(changes.image !== undefined && { image: whole(changes.image) }),
    };
  });

export const nodeWith = (id: string, changes: Partial<SwarmNode> = {}): SwarmNode => ({
  id,
  name: `host-${id}`,
  state: 'ready',
  availability: 'active',
  role: 'worker',
  os: 'linux',
  arch: 'x86_64',
  labels: {},
  engineLabels: {},
  ...changes,
});

export const nodes = (...ids: readonly string[]): SwarmNode[] => ids.map((id) => nodeWith(id));

/** A summary without running tasks, and with these changes. */
export const summaryWith = (changes: Partial<TaskSummary> = {}): TaskSummary => ({
  hasStarted: false,
  isStartUncertain: false,
  oldAlive: [],
  newAlive: [],
  oldRunning: [],
  retainableReplicas: 0,
  newRunning: [],
  requiredCount: 2,
  steadyMs: 0,
  failures: 0,
  isHealthy: false,
  isRestored: false,
  lost: [],
  lostNew: [],
  stuck: [],
  isStuck: false,
  waitingCount: 0,
  ...changes,
});
