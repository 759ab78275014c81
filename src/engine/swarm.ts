import { type Json, list, object, strings } from './json.ts';
import { swarmLabels } from './labels.ts';

/** A Swarm service. Its spec is the engine's own JSON, because the whole spec is written back. */
export interface SwarmService extends ReturnType<typeof readService> {}

export interface SwarmTask extends ReturnType<typeof readTask> {}
export interface SwarmNode extends ReturnType<typeof readNode> {}

/** A Swarm config: data that never change, with labels that may change. */
export interface SwarmConfig extends ReturnType<typeof readSwarmConfig> {}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(object(value)).map(([key, each]) => [key, String(each)]));
const versionOf = (raw: Json): number => Number(object(raw.Version).Index);

/** Returns the container spec of a service. */
export const containerOf = (spec: Json): Json => object(object(spec.TaskTemplate).ContainerSpec);
export const imageOf = (spec: Json): string => text(containerOf(spec).Image);
export const labelsOf = (spec: Json): Record<string, string> => textsOf(spec.Labels);
/** Returns the number of replicas; null for a global service or a job. */
export function replicasOf(spec: Json): number | null {
  const { Replicated } = object(spec.Mode);
  return Replicated === undefined ? null : Number(object(Replicated).Replicas ?? 1);
}
export const isJob = (spec: Json): boolean =>
  Object.keys(object(spec.Mode)).some((mode) => mode.endsWith('Job'));
export const constraintsOf = (spec: Json): string[] =>
  strings(object(object(spec.TaskTemplate).Placement).Constraints);

export function readService(raw: Json) {
  const spec = object(raw.Spec);
  return {
    id: text(raw.ID),
    /** `svc_app` */
    name: text(spec.Name),
    /** Name of the stack; null for a service that was created without a stack. */
    stack: labelsOf(spec)[swarmLabels.stack] ?? null,
    /** Version of the object that was read, to be sent with an update. */
    version: versionOf(raw),
    /** Contains secret values: never log it. */
    spec,
    /** Spec before the last write, which a rollback restores; null if there was none. */
    previous: raw.PreviousSpec == null ? null : object(raw.PreviousSpec),
    /** State of the last rolling update, `updating`, `paused`; empty if there was none. */
    updateState: text(object(raw.UpdateStatus).State),
  };
}

export function readTask(raw: Json) {
  const { State, Err, Timestamp } = object(raw.Status);
  return {
    id: text(raw.ID),
    service: text(raw.ServiceID),
    /** Slot in a replicated service; 0 for a global service. */
    slot: Number(raw.Slot ?? 0),
    /** Node id; empty until the task is assigned to a node. */
    node: text(raw.NodeID),
    /** `pending`, `running`, `failed` … */
    state: text(State),
    /** Desired state. */
    wanted: text(raw.DesiredState),
    image: text(object(object(raw.Spec).ContainerSpec).Image),
    /** Reason for a failure or a pending state; empty if there is none. */
    error: text(Err),
    /** Milliseconds from the creation of the task to its last change of state. */
    tookMs: Date.parse(text(Timestamp)) - Date.parse(text(raw.CreatedAt)),
  };
}

export function readNode(raw: Json) {
  const { Hostname, Platform, Engine } = object(raw.Description);
  const { Role, Availability, Labels } = object(raw.Spec);
  const { State } = object(raw.Status);
  const { OS, Architecture } = object(Platform);
  return {
    id: text(raw.ID),
    name: text(Hostname),
    /** `ready`, `down`, `disconnected`, or `unknown` after an election. */
    state: text(State),
    /** `active`, `paused` or `drain` */
    availability: text(Availability),
    role: text(Role),
    os: text(OS),
    arch: text(Architecture),
    labels: textsOf(Labels),
    engineLabels: textsOf(object(Engine).Labels),
  };
}

export function readSwarmConfig(raw: Json) {
  const { Name, Labels, Data } = object(raw.Spec);
  return {
    id: text(raw.ID),
    name: text(Name),
    version: versionOf(raw),
    labels: textsOf(Labels),
    data: Buffer.from(text(Data), 'base64').toString(),
  };
}

/** Reads a list in a response of the engine. */
export const readAll = <T>(raw: unknown, read: (raw: Json) => T): T[] =>
  list(raw).map((each) => read(object(each)));
