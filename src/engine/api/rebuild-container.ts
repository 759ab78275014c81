import { UpdateError } from '../../core/progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { hasStarted, readContainer, readImage } from '../container.ts';
import { takesAllNetworks } from '../http/api-version.ts';
import { refusal } from '../http/fault.ts';
import type { EngineAnswer } from '../http/request.ts';
import type { Json } from '../json.ts';
import { containerIn } from '../podman.ts';
import { runSameImage, runsImage } from '../same-image.ts';
import { askApi, readApi } from './api.ts';
import type { Blueprint } from './blueprint.ts';
import { putCopies } from './scratch.ts';

/** An image's content may have to be copied into a volume. */
const createDeadlineMs = 300_000;

/**
 * Recreates the container under its old name, not started; gives the new id. Made a second time, it gives what is
 * there: the old container itself, or the one that was recreated and has been started since; one that was made and
 * never started is recreated, because it is unknown how far its start came.
 * @param successors ids of containers that were recreated, by their old ids
 * @throws UpdateError containers-not-restored if the engine refuses, with its words; engine-unavailable
 */
export async function rebuildContainer(
  engine: Engine,
  blueprint: Blueprint,
  successors: ReadonlyMap<string, string>,
): Promise<string> {
  const image = await findImage(engine, blueprint);
  let made = await create(engine, blueprint, image, successors);
  if (made.status === 409) {
    const there = await findTwin(engine, blueprint);
    if (there === null) throw refused(blueprint, made);
    if (there.started) return there.id;
    await remove(engine, there.id);
    made = await create(engine, blueprint, image, successors);
  }
  if (made.status !== 201) throw refused(blueprint, made);
  const id = String(JSON.parse(made.body.toString()).Id);
  try {
    await complete(engine, blueprint, id, image.apiVersion);
  } catch (error) {
    // A container without its networks and files must not be taken for the old one by a later run.
    await remove(engine, id).catch(() => {});
    throw error;
  }
  return id;
}

/** The old reference, so that the container looks as before; the image's id where the reference names another one now. */
async function findImage(engine: Engine, blueprint: Blueprint) {
  const { imageReference, imageId } = blueprint;
  const answer = await readApi(engine, `/images/${encodeURIComponent(imageReference)}/json?manifests=1`);
  const named = answer.status === 200 ? readImage(JSON.parse(answer.body.toString())) : null;
  const reference = runsImage(blueprint, named) ? imageReference : imageId;
  return { reference, apiVersion: answer.apiVersion };
}

function create(
  engine: Engine,
  { name, platform, config, hostConfig, networks }: Blueprint,
  { reference, apiVersion }: Awaited<ReturnType<typeof findImage>>,
  successors: ReadonlyMap<string, string>,
): Promise<EngineAnswer> {
  const query = new URLSearchParams({ name, ...(platform !== null && { platform }) });
  const host = withSuccessors(hostConfig, successors);
  const endpoints = Object.entries(networks);
  const first = firstNetwork(networks, hostConfig);
  const all = takesAllNetworks(apiVersion);
  const mac = first === undefined ? undefined : networks[first]?.MacAddress;
  return askApi(engine, {
    method: 'POST',
    path: `/containers/create?${query}`,
    body: withinRange({
      ...config,
      Image: reference,
      ...(!all && mac ? { MacAddress: mac } : {}),
      HostConfig: host,
      NetworkingConfig: {
        EndpointsConfig: Object.fromEntries(all ? endpoints : endpoints.filter(([name]) => name === first)),
      },
    }),
    deadlineMs: createDeadlineMs,
  });
}

/** Before API 1.44 the engine takes one network at creation; the others are connected one by one. */
async function complete(engine: Engine, blueprint: Blueprint, id: string, apiVersion: string): Promise<void> {
  const { networks, hostConfig, copied } = blueprint;
  if (!takesAllNetworks(apiVersion)) {
    const first = firstNetwork(networks, hostConfig);
    for (const [name, endpoint] of Object.entries(networks)) {
      if (name === first) continue;
      const answer = await connectNetwork(engine, name, id, endpoint);
      if (answer.status !== 200) throw refused(blueprint, answer);
    }
  }
  if (copied.length > 0) {
    const answer = await putCopies(engine, id, copied);
    if (answer.status !== 200) throw refused(blueprint, answer);
  }
}

/** Puts a container, running or not, on a network; `endpoint` as in `Blueprint.networks`. Status 200 where it is done. */
export const connectNetwork = (
  engine: Engine,
  network: string,
  id: string,
  endpoint: Json,
): Promise<EngineAnswer> =>
  askApi(engine, {
    method: 'POST',
    path: `/networks/${encodeURIComponent(network)}/connect`,
    body: { Container: id, EndpointConfig: endpoint },
  });

/** The container that has the name now, where it is the old one or one made from its blueprint. */
async function findTwin(
  engine: Engine,
  { id, name, config, ...image }: Blueprint,
): Promise<{ id: string; started: boolean } | null> {
  const answer = await readApi(engine, `/containers/${encodeURIComponent(name)}/json`);
  if (answer.status !== 200) return null;
  const found = containerIn(engine, answer.body);
  if (found.Id === id) return { id, started: true };
  const labels = (config.Labels ?? {}) as Record<string, string>;
  const its = readContainer(found);
  const same = runSameImage(its, image) && sameLabels(its.labels, labels);
  return same ? { id: its.id, started: hasStarted(its) } : null;
}

function sameLabels(one: Record<string, string>, other: Record<string, string>): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** Never with its volumes: they are the old container's. */
async function remove(engine: Engine, id: string): Promise<void> {
  await askApi(engine, { method: 'DELETE', path: `/containers/${id}?force=1&v=0` });
}

const refused = ({ name }: Blueprint, answer: EngineAnswer): UpdateError =>
  new UpdateError('containers-not-restored', `${name} could not be recreated: ${refusal(answer)}`);

function firstNetwork(networks: Blueprint['networks'], { NetworkMode }: Json): string | undefined {
  const names = Object.keys(networks);
  return names.find((name) => name === NetworkMode) ?? names[0];
}

/** Points at the new containers in place of the old ones. */
export function withSuccessors(host: Json, successors: ReadonlyMap<string, string>): Json {
  const successor = (id: string): string => {
    const found = [...successors].find(([old]) => id.length >= 12 && old.startsWith(id));
    return found?.[1] ?? id;
  };
  const changed: Json = { ...host };
  for (const key of ['NetworkMode', 'PidMode', 'IpcMode'] as const) {
    const [kind, id] = String(host[key] ?? '').split(':');
    if (kind === 'container' && id !== undefined) changed[key] = `container:${successor(id)}`;
  }
  if (Array.isArray(host.VolumesFrom)) {
    changed.VolumesFrom = (host.VolumesFrom as string[]).map((from) => {
      const [id = '', ...mode] = from.split(':');
      return [successor(id), ...mode].join(':');
    });
  }
  return changed;
}

/** A limit of 2⁶³−1 ("none") has become 2⁶³ as a JavaScript number, which the engine would not take. */
function withinRange<T>(body: T): T {
  const most = 2 ** 63;
  const text = JSON.stringify(body, (_, value) =>
    typeof value === 'number' && value >= most ? most - 1024 : value,
  );
  return JSON.parse(text);
}
