import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Compose, type ComposeProject } from '../cli/compose.ts';
import type { Engine } from '../cli/engine.ts';
import { rejectionOf } from '../cli/rejection.ts';
import { composeLabels } from '../labels.ts';
import type { Json } from './blueprint.ts';
import { finalName } from './project-containers.ts';
import { type RecordedWrite, startRecorder } from './recorder.ts';

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

/**
 * What `up` would send for each of the services, by compose itself and a socket that no write passes. Nothing on the
 * engine changes.
 * @throws UpdateError compose-invalid where compose does not come to a container of one of them; engine-away
 */
export async function recordUp(
  engine: Engine,
  project: ComposeProject,
  services: readonly AskedService[],
): Promise<ReadonlyMap<string, SentContainer>> {
  const recorder = await startRecorder(engine);
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-record-'));
  try {
    const configDirectory = await configFor(engine, directory);
    const compose = new Compose(engine.at({ host: recorder.host, tls: [], configDirectory }), project);
    const calls = await Promise.allSettled(
      services.map(async ({ name, image, scale }) => {
        const override = join(directory, `${name}.json`);
        await writeFile(override, JSON.stringify({ services: { [name]: { image } } }));
        const how = { start: false, forceRecreate: true, repeatable: true, deadlineMs };
        return { name, result: await compose.up(name, { ...how, scale, override: [override] }) };
      }),
    );
    const sent = sentByService(recorder.writes);
    for (const call of calls) {
      if (call.status === 'rejected') throw call.reason;
      if (!sent.has(call.value.name)) throw rejectionOf(call.value.result);
    }
    return sent;
  } finally {
    await recorder.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function sentByService(writes: readonly RecordedWrite[]): Map<string, SentContainer> {
  const sent = new Map<string, SentContainer>();
  for (const { method, path, apiVersion, body, ...given } of writes) {
    if (method !== 'POST' || path !== '/containers/create') continue;
    const { Labels } = Object(body) as { Labels?: Record<string, string> };
    const service = Labels?.[composeLabels.service];
    if (service === undefined || sent.has(service)) continue;
    sent.set(service, { name: finalName(given), body: body as Json, apiVersion });
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
