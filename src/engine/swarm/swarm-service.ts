import { type Json, toList, toObject, toStrings } from '../objects/json.ts';
import { swarmLabels } from '../objects/labels.ts';

/** A Swarm service. `spec` is the engine's own JSON, because an update must send the whole spec. */
export interface SwarmService extends ReturnType<typeof toSwarmService> {}

export interface SwarmTask extends ReturnType<typeof toSwarmTask> {}
export interface SwarmNode extends ReturnType<typeof toSwarmNode> {}

/** A Swarm config. Its data can never change, but its labels can. */
export interface SwarmConfig extends ReturnType<typeof toSwarmConfig> {}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(toObject(value)).map(([key, each]) => [key, String(each)]));
const versionOf = (raw: Json): number => Number(toObject(raw.Version).Index);

export const containerSpecOf = (spec: Json): Json => toObject(toObject(spec.TaskTemplate).ContainerSpec);
export const serviceImageOf = (spec: Json): string => text(containerSpecOf(spec).Image);
export const serviceLabelsOf = (spec: Json): Record<string, string> => textsOf(spec.Labels);
/** Returns the number of replicas; null for a global service or a job. */
export function replicaCountOf(spec: Json): number | null {
  const { Replicated } = toObject(spec.Mode);
  return Replicated === undefined ? null : Number(toObject(Replicated).Replicas ?? 1);
}
export const isJob = (spec: Json): boolean =>
  Object.keys(toObject(spec.Mode)).some((mode) => mode.endsWith('Job'));
export const placementConstraintsOf = (spec: Json): string[] =>
  toStrings(toObject(toObject(spec.TaskTemplate).Placement).Constraints);

export function toSwarmService(raw: Json) {
  const spec = toObject(raw.Spec);
  return {
    id: text(raw.ID),
    /** Name of the service, such as `svc_app`. */
    name: text(spec.Name),
    /** Name of the stack; null if the service belongs to no stack. */
    stack: serviceLabelsOf(spec)[swarmLabels.stack] ?? null,
    /**
     * Version of the service when it was read. An update with this number fails if the service has changed since then.
     */
    version: versionOf(raw),
    /** Contains secret values: never log it. */
    spec,
    /** Spec that preceded the last write; null if there was none. Swarm's own rollback restores this spec. */
    previousSpec: raw.PreviousSpec == null ? null : toObject(raw.PreviousSpec),
    /** State of the last rolling update, such as `updating` or `paused`; empty if there was none. */
    updateState: text(toObject(raw.UpdateStatus).State),
  };
}

export function toSwarmTask(raw: Json) {
  const { State, Err, Timestamp } = toObject(raw.Status);
  return {
    id: text(raw.ID),
    service: text(raw.ServiceID),
    /** Number of the slot in a replicated service; 0 for a global service. */
    slot: Number(raw.Slot ?? 0),
    /** Node id; empty until the task is assigned to a node. */
    node: text(raw.NodeID),
    /** Current state, such as `pending`, `running` or `failed`. */
    state: text(State),
    desiredState: text(raw.DesiredState),
    image: text(toObject(toObject(raw.Spec).ContainerSpec).Image),
    /** Reason for a failure or a pending state; empty if there is none. */
    error: text(Err),
    /** Milliseconds from the creation of the task to its last change of state. */
    tookMs: Date.parse(text(Timestamp)) - Date.parse(text(raw.CreatedAt)),
  };
}

export function toSwarmNode(raw: Json) {
  const { Hostname, Platform, Engine } = toObject(raw.Description);
  const { Role, Availability, Labels } = toObject(raw.Spec);
  const { State } = toObject(raw.Status);
  const { OS, Architecture } = toObject(Platform);
  return {
    id: text(raw.ID),
    name: text(Hostname),
    /** State of the node: `ready`, `down`, `disconnected`, or `unknown` after an election. */
    state: text(State),
    /** Availability of the node: `active`, `pause` or `drain`. */
    availability: text(Availability),
    role: text(Role),
    os: text(OS),
    arch: text(Architecture),
    labels: textsOf(Labels),
    engineLabels: textsOf(toObject(Engine).Labels),
  };
}

export function toSwarmConfig(raw: Json) {
  const { Name, Labels, Data } = toObject(raw.Spec);
  return {
    id: text(raw.ID),
    name: text(Name),
    version: versionOf(raw),
    labels: textsOf(Labels),
    data: Buffer.from(text(Data), 'base64').toString(),
  };
}

export const mapJsonList = <T>(raw: unknown, read: (raw: Json) => T): T[] =>
  toList(raw).map((each) => read(toObject(each)));
