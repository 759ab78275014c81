import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../core/errors/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { type EngineCallName, engineCalls } from '../engine-calls.ts';
import type { EngineFilters, EngineRequestOptions } from '../engine-request-sender.ts';
import { type EngineError, findEngineError, tolerateErrors } from '../http/engine-error.ts';
import type { EngineResponse } from '../http/request.ts';
import { type Json, toObject } from '../objects/json.ts';
import {
  mapJsonList,
  type SwarmConfig,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
  toSwarmConfig,
  toSwarmNode,
  toSwarmService,
  toSwarmTask,
} from './swarm-service.ts';

export interface SwarmManagerInfo {
  /** Id of this engine's node. */
  nodeId: string;
  /** Number of completed tasks that Swarm retains for each slot. */
  taskHistoryLimit: number;
}

/** Milliseconds for which requests are repeated while the Swarm has no leader. */
const leaderlessMs = 60_000;
const pauseMs = 500;

/** Matches errors of a manager that has no leader, or is no longer the leader. */
const leaderless =
  /does not have a leader|context deadline exceeded|lost leadership|no longer the leader|raft: (?:stopped|failed)|code = (?:Unavailable|DeadlineExceeded|Canceled)|context canceled|connection (?:refused|error|reset)|transport is closing|election|proposal dropped/i;

/**
 * Sends a request to a manager, and repeats it while the Swarm has no leader. If the response to a write was lost, the
 * repeated write fails with `out of sequence` or `already exists`. The caller must then read the object again.
 * @throws UpdateError engine-unavailable, CancelledError
 */
async function requestSwarm(
  engine: Engine,
  name: EngineCallName,
  options: EngineRequestOptions = {},
): Promise<EngineResponse> {
  for (const endsAt = performance.now() + leaderlessMs; ; await sleep(pauseMs)) {
    try {
      return await engine.request(name, options);
    } catch (error) {
      const cause = findEngineError(error);
      if (!isLeaderless(cause)) throw error;
      if (performance.now() <= endsAt) continue;
      const why = cause.code === 'late' ? 'no response' : cause.message;
      const message = `the Swarm has no leader that responds (${engineCalls[name].call}: ${why})`;
      const advice = 'Check docker node ls on a manager, then run {command} again.';
      throw new UpdateError('engine-unavailable', message, { advice });
    }
  }
}

const isLeaderless = (error: EngineError | null): error is EngineError =>
  error?.code === 'late' ||
  ([500, 503].includes(error?.status ?? 0) && leaderless.test(error?.message ?? ''));

async function get(engine: Engine, name: EngineCallName, filters?: EngineFilters): Promise<unknown> {
  const { status, body } = await requestSwarm(engine, name, filters && { filters });
  return status === 404 ? null : JSON.parse(body.toString());
}

/**
 * Reads the engine's own node and the Swarm's settings. Returns null if the engine is not a manager, or rejects the
 * request.
 * @throws UpdateError engine-unavailable
 */
export async function readSwarmManagerInfo(engine: Engine): Promise<SwarmManagerInfo | null> {
  const isManager = await engine.request('inspectSwarm').catch((error) => {
    const cause = findEngineError(error);
    if (cause?.status == null) throw error;
    return isLeaderless(cause) || null;
  });
  if (isManager === null) return null;
  const swarm = toObject(await get(engine, 'inspectSwarm'));
  const info = await engine.getInfo();
  const { TaskHistoryRetentionLimit } = toObject(toObject(swarm.Spec).Orchestration);
  return {
    nodeId: String(toObject(info.Swarm).NodeID ?? ''),
    taskHistoryLimit: Number(TaskHistoryRetentionLimit ?? 5),
  };
}

/** @param filters - such as `{ label: ['com.docker.stack.namespace=svc'] }` */
export const listSwarmServices = async (engine: Engine, filters: EngineFilters): Promise<SwarmService[]> =>
  mapJsonList(await get(engine, 'listServices', filters), toSwarmService);

/**
 * Lists tasks, including the completed tasks that Swarm retains.
 * @param services - ids or names of services
 */
export const listSwarmTasks = async (engine: Engine, services: readonly string[]): Promise<SwarmTask[]> =>
  services.length === 0
    ? []
    : mapJsonList(await get(engine, 'listTasks', { service: services }), toSwarmTask);

export const listSwarmNodes = async (engine: Engine): Promise<SwarmNode[]> =>
  mapJsonList(await get(engine, 'listNodes'), toSwarmNode);

/** Finds a Swarm config by its exact name; null if no config has this name. */
export async function findSwarmConfig(engine: Engine, name: string): Promise<SwarmConfig | null> {
  const found = mapJsonList(await get(engine, 'listConfigs', { name: [name] }), toSwarmConfig);
  return found.find((each) => each.name === name) ?? null;
}

type ConfigSpec = Pick<SwarmConfig, 'name' | 'labels' | 'data'>;

const configBody = ({ name, labels, data }: ConfigSpec) => ({
  Name: name,
  Labels: labels,
  Data: Buffer.from(data).toString('base64'),
});

/**
 * Creates a Swarm config. Returns `taken` if a config with this name exists.
 * @throws UpdateError engine-unavailable
 */
export async function createSwarmConfig(engine: Engine, config: ConfigSpec): Promise<'made' | 'taken'> {
  const body = configBody(config);
  const options = { params: { name: config.name }, body };
  const made = await requestSwarm(engine, 'createConfig', options).catch(tolerateErrors('conflict'));
  return made === null ? 'taken' : 'made';
}

/**
 * If the Swarm config has changed since it was read, returns `moved` and changes nothing.
 * @throws UpdateError engine-unavailable
 */
export async function updateSwarmConfigLabels(
  engine: Engine,
  { id, name, version, data }: SwarmConfig,
  labels: Readonly<Record<string, string>>,
): Promise<'written' | 'moved'> {
  const body = configBody({ name, labels, data });
  return write(engine, 'updateConfig', { params: { id, name }, query: { version: `${version}` }, body });
}

/** Succeeds if the Swarm config does not exist. */
export async function removeSwarmConfig(engine: Engine, { id, name }: SwarmConfig): Promise<void> {
  await requestSwarm(engine, 'removeConfig', { params: { id, name } });
}

/**
 * @param headers - registry credentials, which Swarm stores in the service
 * @throws UpdateError engine-unavailable
 */
export async function createSwarmService(
  engine: Engine,
  spec: Json,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const options = { params: { name: String(spec.Name) }, body: spec, headers };
  // Ignore a conflict: an earlier attempt has already created the service.
  await requestSwarm(engine, 'createService', options).catch(tolerateErrors('conflict'));
}

/**
 * If the Swarm service has changed since it was read, returns `moved` and changes nothing.
 * @throws UpdateError engine-unavailable
 */
export async function updateSwarmService(
  engine: Engine,
  { id, name, version }: Pick<SwarmService, 'id' | 'name' | 'version'>,
  spec: Json,
  headers: Readonly<Record<string, string>>,
): Promise<'written' | 'moved'> {
  const query = { version: `${version}` };
  return write(engine, 'updateService', { params: { id, name }, query, body: spec, headers });
}

async function write(
  engine: Engine,
  name: EngineCallName,
  options: EngineRequestOptions,
): Promise<'written' | 'moved'> {
  try {
    await requestSwarm(engine, name, options);
    return 'written';
  } catch (error) {
    if (/out of sequence/.test(findEngineError(error)?.message ?? '')) return 'moved';
    throw error;
  }
}

/** Succeeds if the Swarm service does not exist. */
export async function removeSwarmService(engine: Engine, id: string): Promise<void> {
  await requestSwarm(engine, 'removeService', { params: { id } });
}
