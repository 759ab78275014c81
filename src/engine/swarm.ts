import { type Json, list, object, strings } from './json.ts';
import { swarmLabels } from './labels.ts';

/** A service of a Swarm. Its spec is the engine's own JSON, as it is read and written back whole. */
export interface SwarmService extends ReturnType<typeof readService> {}

export interface SwarmTask extends ReturnType<typeof readTask> {}
export interface SwarmNode extends ReturnType<typeof readNode> {}

/** A config of a Swarm: data that never change, under labels that may. */
export interface SwarmConfig extends ReturnType<typeof readSwarmConfig> {}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(object(value)).map(([key, each]) => [key, String(each)]));
const versionOf = (raw: Json): number => Number(object(raw.Version).Index);

/** A service's container. */
export const containerOf = (spec: Json): Json => object(object(spec.TaskTemplate).ContainerSpec);
export const imageOf = (spec: Json): string => text(containerOf(spec).Image);
export const labelsOf = (spec: Json): Record<string, string> => textsOf(spec.Labels);
/** Null for a global service; a job is neither. */
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
    /** Null for a service that was created without a stack. */
    stack: labelsOf(spec)[swarmLabels.stack] ?? null,
    /** Names what was read, for whoever writes it back. */
    version: versionOf(raw),
    /** Holds values: never log it. */
    spec,
    /** The spec before the last write, which a rollback restores; null if there was none. */
    previous: raw.PreviousSpec == null ? null : object(raw.PreviousSpec),
    /** Of its last rolling update, `updating`, `paused`; empty if there was none. */
    updateState: text(object(raw.UpdateStatus).State),
  };
}

export function readTask(raw: Json) {
  const { State, Err, Timestamp } = object(raw.Status);
  return {
    id: text(raw.ID),
    service: text(raw.ServiceID),
    /** Of a replicated service; 0 of a global one. */
    slot: Number(raw.Slot ?? 0),
    /** Empty while it has none. */
    node: text(raw.NodeID),
    /** `pending`, `running`, `failed` … */
    state: text(State),
    /** What Swarm wants it to be. */
    wanted: text(raw.DesiredState),
    image: text(object(object(raw.Spec).ContainerSpec).Image),
    /** Why it failed, or waits; empty if there is nothing to say. */
    error: text(Err),
    /** From its creation to its last change of state. */
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

/** A list of the engine's. */
export const readAll = <T>(raw: unknown, read: (raw: Json) => T): T[] =>
  list(raw).map((each) => read(object(each)));
