import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../core/progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { EngineFault, refusal } from '../http/fault.ts';
import {
  type EngineAnswer,
  type EngineQuestion,
  type Filters,
  filtered,
  requestName,
} from '../http/request.ts';
import { type Json, object, parseObject } from '../json.ts';
import {
  readAll,
  readNode,
  readService,
  readSwarmConfig,
  readTask,
  type SwarmConfig,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../swarm.ts';
import { askApi, notDone } from './api.ts';

type Question = Omit<EngineQuestion, 'deadlineMs' | 'signal'>;

/** What this engine is to its Swarm. */
export interface SwarmPlace {
  /** The node of this engine. */
  node: string;
  /** How many ended tasks Swarm remembers of each slot. */
  history: number;
}

/** So long a Swarm without a leader is waited for. */
const leaderlessMs = 60_000;
const pauseMs = 500;
/** A manager that has lost its leader lets a call hang. */
const callMs = 25_000;

/** What a manager says while there is no leader, or the leader that was asked is one no more. */
const leaderless =
  /does not have a leader|context deadline exceeded|lost leadership|no longer the leader|raft: (?:stopped|failed)|code = (?:Unavailable|DeadlineExceeded|Canceled)|context canceled|connection (?:refused|error|reset)|transport is closing|election|proposal dropped/i;

/**
 * Asks a manager. What an election has swallowed is asked again, here and nowhere else; so a write may have been done when
 * it is asked for once more, which then says `out of sequence` or `already exists`: whoever wrote it reads it again.
 * @throws UpdateError engine-unavailable, Cancelled
 */
async function askSwarm(engine: Engine, asked: Question): Promise<EngineAnswer> {
  const endsAt = performance.now() + leaderlessMs;
  for (;;) {
    const answer = await askApi(engine, { ...asked, deadlineMs: callMs }).catch((error) => {
      const { cause } = Object(error) as { cause?: unknown };
      if (cause instanceof EngineFault && cause.kind === 'late') return null;
      throw error;
    });
    if (answer !== null && !isLeaderless(answer)) return answer;
    if (performance.now() > endsAt) {
      const why = answer === null ? 'no answer' : refusal(answer);
      const message = `no leader of the Swarm answers (${requestName(asked)}: ${why})`;
      const advice = 'Check docker node ls on a manager, then run the update again.';
      throw new UpdateError('engine-unavailable', message, { advice });
    }
    await sleep(pauseMs);
  }
}

const isLeaderless = (answer: EngineAnswer): boolean =>
  (answer.status === 500 || answer.status === 503) && leaderless.test(refusal(answer));

async function get(engine: Engine, path: string): Promise<unknown> {
  const answer = await askSwarm(engine, { method: 'GET', path });
  if (answer.status === 200) return JSON.parse(answer.body.toString());
  if (answer.status === 404) return null;
  throw notDone(`answer (${requestName({ method: 'GET', path })})`, answer);
}

/** Null if the engine is no manager of a Swarm, or may not be asked. @throws UpdateError engine-unavailable */
export async function swarmPlace(engine: Engine): Promise<SwarmPlace | null> {
  const answer = await askApi(engine, { method: 'GET', path: '/swarm', deadlineMs: callMs });
  if (answer.status !== 200 && !isLeaderless(answer)) return null;
  const swarm = object(await get(engine, '/swarm'));
  const info = object(parseObject((await askApi(engine, { method: 'GET', path: '/info' })).body.toString()));
  const { TaskHistoryRetentionLimit } = object(object(swarm.Spec).Orchestration);
  return { node: String(object(info.Swarm).NodeID ?? ''), history: Number(TaskHistoryRetentionLimit ?? 5) };
}

/** @param filters such as `{ label: ['com.docker.stack.namespace=svc'] }` */
export const listServices = async (engine: Engine, filters: Filters): Promise<SwarmService[]> =>
  readAll(await get(engine, filtered('/services', filters)), readService);

/** Those that have ended too, as long as Swarm remembers them. @param services by id or name */
export const listTasks = async (engine: Engine, services: readonly string[]): Promise<SwarmTask[]> =>
  services.length === 0
    ? []
    : readAll(await get(engine, filtered('/tasks', { service: services })), readTask);

export const listNodes = async (engine: Engine): Promise<SwarmNode[]> =>
  readAll(await get(engine, '/nodes'), readNode);

/** The config of that very name; null if there is none. */
export async function findConfig(engine: Engine, name: string): Promise<SwarmConfig | null> {
  const found = readAll(await get(engine, filtered('/configs', { name: [name] })), readSwarmConfig);
  return found.find((each) => each.name === name) ?? null;
}

type ConfigSpec = Pick<SwarmConfig, 'name' | 'labels' | 'data'>;

const configBody = ({ name, labels, data }: ConfigSpec) => ({
  Name: name,
  Labels: labels,
  Data: Buffer.from(data).toString('base64'),
});

/** Whether it was made: `taken` where there is one of that name. @throws UpdateError engine-unavailable */
export async function createConfig(engine: Engine, config: ConfigSpec): Promise<'made' | 'taken'> {
  const body = configBody(config);
  const answer = await askSwarm(engine, { method: 'POST', path: '/configs/create', body });
  if (answer.status === 201) return 'made';
  if (answer.status === 409) return 'taken';
  throw notDone(`create the config ${config.name}`, answer);
}

/** Writes labels if the config is still as it was read. @throws UpdateError engine-unavailable */
export async function relabelConfig(
  engine: Engine,
  { id, name, version, data }: SwarmConfig,
  labels: Readonly<Record<string, string>>,
): Promise<'written' | 'moved'> {
  const body = configBody({ name, labels, data });
  const asked: Question = { method: 'POST', path: `/configs/${id}/update?version=${version}`, body };
  return written(await askSwarm(engine, asked), `change the config ${name}`);
}

/** One that is gone is gone. */
export async function removeConfig(engine: Engine, { id, name }: SwarmConfig): Promise<void> {
  const answer = await askSwarm(engine, { method: 'DELETE', path: `/configs/${id}` });
  if (answer.status >= 300 && answer.status !== 404) throw notDone(`remove the config ${name}`, answer);
}

/** @param headers a login for the registry, which Swarm keeps in the service. @throws UpdateError engine-unavailable */
export async function createService(
  engine: Engine,
  spec: Json,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const answer = await askSwarm(engine, { method: 'POST', path: '/services/create', body: spec, headers });
  // Asked for once more: it is there.
  if (answer.status >= 300 && answer.status !== 409) throw notDone(`create the service ${spec.Name}`, answer);
}

/** Writes a service's spec if it is still as it was read. @throws UpdateError engine-unavailable */
export async function updateService(
  engine: Engine,
  { id, name, version }: Pick<SwarmService, 'id' | 'name' | 'version'>,
  spec: Json,
  headers: Readonly<Record<string, string>>,
): Promise<'written' | 'moved'> {
  const asked: Question = {
    method: 'POST',
    path: `/services/${id}/update?version=${version}`,
    body: spec,
    headers,
  };
  return written(await askSwarm(engine, asked), `change the service ${name}`);
}

function written(answer: EngineAnswer, what: string): 'written' | 'moved' {
  if (answer.status < 300) return 'written';
  if (/out of sequence/.test(refusal(answer))) return 'moved';
  throw notDone(what, answer);
}

/** One that is gone is gone. */
export async function removeService(engine: Engine, id: string): Promise<void> {
  const answer = await askSwarm(engine, { method: 'DELETE', path: `/services/${encodeURIComponent(id)}` });
  if (answer.status >= 300 && answer.status !== 404) throw notDone('remove a service', answer);
}
