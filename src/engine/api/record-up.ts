import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandResult } from '../cli/command.ts';
import { Compose, type ComposeProject } from '../cli/compose.ts';
import type { Engine } from '../cli/engine.ts';
import { rejectionOf } from '../cli/rejection.ts';
import type { Json } from '../json.ts';
import { composeLabels } from '../labels.ts';
import { finalName } from './project-containers.ts';
import { type Hold, type RecordedWrite, startRecorder } from './recorder.ts';

/** A service that compose is asked about. */
export interface AskedService {
  name: string;
  /** A local image, by id or reference, to take in place of the one in the files. */
  image: string;
  /** How many containers it has. */
  scale: number;
}

/** What `up` would send to the engine for one container of a service. */
export interface SentContainer {
  /** Final, not the one that it has while it takes another's place. */
  name: string;
  /** The body of `POST /containers/create`. Holds the values of its environment: never log it. */
  body: Json;
  /** `1.45`: before 1.44 the body has the first network alone. */
  apiVersion: string;
}

const deadlineMs = 60_000;
/** From the first container that compose asks for to the last one of the same call. */
const longestHoldMs = 150;

/**
 * What `up` would send for each of the services, by compose itself and a socket that no write passes. Nothing on the
 * engine changes.
 * @param together whether no service is likely to wait for another: one call then does for all, in half the time
 * @throws UpdateError compose-invalid where compose does not come to a container of one of them; engine-away
 */
export async function recordUp(
  engine: Engine,
  project: ComposeProject,
  services: readonly AskedService[],
  { together = false }: { together?: boolean } = {},
): Promise<ReadonlyMap<string, SentContainer>> {
  const isOne = together && services.length > 1 && areNamedAlike(project, services);
  const first: Recorded['sent'] = isOne
    ? (await recordCalls(engine, project, [services], untilAllCame(services.length))).sent
    : new Map();
  const left = services.filter(({ name }) => !first.has(name));
  if (left.length === 0) return first;
  const { sent, calls } = await recordCalls(
    engine,
    project,
    left.map((service) => [service]),
  );
  for (const call of calls) {
    if (call.status === 'rejected') throw call.reason;
    if (!sent.has(call.value.name)) throw rejectionOf(call.value.result);
  }
  return new Map([...first, ...sent]);
}

interface Recorded {
  sent: ReadonlyMap<string, SentContainer>;
  calls: readonly PromiseSettledResult<{ name: string; result: CommandResult }>[];
}

/** One flag decides for all services of a call how their containers are called. */
const areNamedAlike = (
  { oldNames = [], asksForNames = false }: ComposeProject,
  services: readonly AskedService[],
): boolean => !asksForNames && !services.some(({ name }) => oldNames.includes(name));

/** Calls compose at the same time, each time for some of the services. */
async function recordCalls(
  engine: Engine,
  project: ComposeProject,
  groups: readonly (readonly AskedService[])[],
  hold?: Hold,
): Promise<Recorded> {
  const recorder = await startRecorder(engine, hold);
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-record-'));
  try {
    const configDirectory = await configFor(engine, directory);
    const compose = new Compose(engine.at({ host: recorder.host, tls: [], configDirectory }), project);
    const calls = await Promise.allSettled(
      groups.map(async (group, at) => {
        const override = join(directory, `${at}.json`);
        const images = group.map(({ name, image }) => [name, { image }] as const);
        await writeFile(override, JSON.stringify({ services: Object.fromEntries(images) }));
        const names = group.map(({ name }) => name);
        const scale = new Map(group.map((service) => [service.name, service.scale]));
        const how = { start: false, forceRecreate: true, repeatable: true, deadlineMs };
        const result = await compose.up(names, { ...how, scale, override: [override] });
        return { name: names.join(), result };
      }),
    );
    return { sent: sentByService(recorder.writes), calls };
  } finally {
    await recorder.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Compose gives up the other services once one of them is refused: none is before all have come, or time is up. */
function untilAllCame(expected: number): Hold {
  const came = new Set<string | undefined>();
  const all = Promise.withResolvers<void>();
  return async (write) => {
    if (!isCreate(write)) return;
    came.add(serviceIn(write));
    if (came.size >= expected) all.resolve();
    await Promise.race([all.promise, sleep(longestHoldMs, undefined, { ref: false })]);
  };
}

const isCreate = ({ method, path }: RecordedWrite): boolean =>
  method === 'POST' && path === '/containers/create';

const serviceIn = ({ body }: RecordedWrite): string | undefined =>
  (Object(body) as { Labels?: Record<string, string> }).Labels?.[composeLabels.service];

function sentByService(writes: readonly RecordedWrite[]): Map<string, SentContainer> {
  const sent = new Map<string, SentContainer>();
  for (const write of writes.filter(isCreate)) {
    const service = serviceIn(write);
    if (service === undefined || sent.has(service)) continue;
    const { apiVersion, body } = write;
    sent.set(service, { name: finalName(write), body: body as Json, apiVersion });
  }
  return sent;
}

/** Compose gives services the proxies that its configuration has for the engine's address, which is another one here. */
async function configFor(engine: Engine, directory: string): Promise<string> {
  const { host, configDirectory } = engine.address;
  const text = await readFile(join(configDirectory, 'config.json'), 'utf8').catch(() => '{}');
  const config = JSON.parse(text) as { proxies?: Record<string, unknown> };
  const own = config.proxies?.[host];
  if (own === undefined) return configDirectory;
  const proxies = { ...config.proxies, default: own };
  await writeFile(join(directory, 'config.json'), JSON.stringify({ ...config, proxies }), { mode: 0o600 });
  return directory;
}
