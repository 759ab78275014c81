import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Compose, type ComposeProject } from '../../../engine/cli/compose.ts';
import { createComposeError } from '../../../engine/cli/create-compose-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { CommandResult } from '../../../engine/cli/run-command.ts';
import { finalNameOf } from '../../../engine/containers/project-containers.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import {
  type EngineWriteListener,
  type RecordedEngineWrite,
  startEngineWriteRecorder,
} from './engine-write-recorder.ts';
import type { ContainerCreateRequest, DryRunResult, InstalledService } from './installation.ts';

/**
 * Determines what `up` would do with these services if their images stayed the same. A missing image is replaced with a
 * local one, because compose must be able to inspect it. A service is skipped if there is no local image.
 * @throws UpdateError compose-invalid
 */
export async function dryRunComposeUp(
  engine: Engine,
  project: ComposeProject,
  services: readonly InstalledService[],
): Promise<DryRunResult> {
  const containers = services.flatMap((service) => service.containers);
  const here = async (names: readonly string[]) => {
    const unique = [...new Set(names)];
    const found = await engine.inspectImages(unique);
    return new Map(unique.flatMap((name, at) => (found[at] ? [[name, found[at]] as const] : [])));
  };
  // Usually, all images are local. Compose is therefore started before the engine has confirmed this.
  const likely = services.flatMap(({ name, containers: own }) =>
    own.slice(0, 1).map(({ imageId }) => ({ name, image: imageId, scale: own.length })),
  );
  const early = deferRejection(recordUpRequests(engine, project, likely));
  const imagesInUse = await here(containers.map(({ imageId }) => imageId));
  if (containers.every(({ imageId }) => imagesInUse.has(imageId))) return { ...(await early), imagesInUse };
  await early.catch(() => {});
  const others = containers.filter(({ imageId }) => !imagesInUse.has(imageId));
  const images = [
    ...imagesInUse.keys(),
    ...(await here(others.map(({ imageReference }) => imageReference))).keys(),
  ];
  const requested = services.flatMap(({ name, containers: own }) => {
    const wanted = own.slice(0, 1).flatMap(({ imageId, imageReference }) => [imageId, imageReference]);
    const image = wanted.find((each) => images.includes(each)) ?? images[0];
    return own.length === 0 || image === undefined ? [] : [{ name, image, scale: own.length }];
  });
  return { ...(await recordUpRequests(engine, project, requested)), imagesInUse };
}

/** Service whose recreation the dry run records. */
interface DryRunService {
  name: string;
  /** ID or reference of the local image that the dry run uses instead of the image in the files. */
  image: string;
  /** Number of the service's containers. */
  scale: number;
}

/** Question that compose 2.32 and later ask before recreating a volume. Because stdin is closed, the answer is "no". */
const editedVolume = /Volume "([^"]+)" exists but doesn't match configuration/g;

const deadlineMs = 60_000;
/** Maximum time in ms for which the recorder delays a response while other requests arrive. */
const longestHoldMs = 150;

/**
 * Records what `up` would do with each service. Compose uses a socket that forwards no writes, so nothing on the engine
 * changes. One call for all services takes half the time of separate calls. If the call did not request a service's
 * container, the service gets its own call. This happens, for example, if the service waits for another service.
 * @throws UpdateError compose-invalid if compose does not request the container of a service; engine-unavailable
 */
export async function recordUpRequests(
  engine: Engine,
  project: ComposeProject,
  services: readonly DryRunService[],
): Promise<Omit<DryRunResult, 'imagesInUse'>> {
  const recorded = {
    requests: new Map<string, ContainerCreateRequest>(),
    removedNetworks: new Set<string>(),
    editedVolumes: new Set<string>(),
  };
  const { requests: sent } = recorded;
  const record = (requested: readonly DryRunService[]) => recordCall(engine, project, requested, recorded);
  // Errors are ignored here, because they occur again when each service is recorded separately.
  if (services.length > 1 && areNamedAlike(project, services)) await record(services).catch(() => {});
  const alone = services.filter(({ name }) => !sent.has(name));
  const calls = await Promise.allSettled(
    alone.map(async (service) => ({ name: service.name, result: await record([service]) })),
  );
  for (const call of calls) {
    if (call.status === 'rejected') throw call.reason;
    if (!sent.has(call.value.name)) throw createComposeError(call.value.result);
  }
  return recorded;
}

/**
 * Whether one call can create all services' containers. Their names must have the same separator, because compose's
 * setting for it applies to a whole call.
 */
const areNamedAlike = (
  { oldNames = [], asksForNames = false }: ComposeProject,
  services: readonly DryRunService[],
): boolean => !asksForNames && !services.some(({ name }) => oldNames.includes(name));

/** Runs `up` once, and adds the observed requests, removed networks and edited volumes to the last argument. */
async function recordCall(
  engine: Engine,
  project: ComposeProject,
  services: readonly DryRunService[],
  { requests: sent, removedNetworks, editedVolumes }: Omit<DryRunResult, 'imagesInUse'>,
): Promise<CommandResult> {
  const recorder = await startEngineWriteRecorder(engine, createArrivalListener(services.length));
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-record-'));
  try {
    const { configDirectory } = engine.address;
    const compose = new Compose(engine.at({ host: recorder.host, tls: [], configDirectory }), project);
    const override = join(directory, 'override.json');
    const images = services.map(({ name, image }) => [name, { image }] as const);
    await writeFile(override, JSON.stringify({ services: Object.fromEntries(images) }));
    const scale = new Map(services.map((service) => [service.name, service.scale]));
    const how = { start: false, forceRecreate: true, repeatable: true, deadlineMs };
    const result = await compose.up(scale, { ...how, override: [override] });
    for (const [, volume = ''] of result.stdout.matchAll(editedVolume)) editedVolumes.add(volume);
    for (const { method, path } of recorder.writes) {
      const [, network] = /^\/networks\/([^/]+)$/.exec(path) ?? [];
      if (method === 'DELETE' && network) removedNetworks.add(decodeURIComponent(network));
    }
    for (const write of recorder.writes.filter(isCreate)) {
      const [service, { apiVersion, body }] = [getServiceSection(write), write];
      if (body === null || service === undefined || sent.has(service)) continue;
      sent.set(service, { name: finalNameOf(write), body, apiVersion });
    }
    return result;
  } finally {
    await recorder.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Delays responses until the create requests of all services have arrived, but at most by `longestHoldMs`. Without the
 * delay, compose would cancel the other services after the first failed request.
 */
function createArrivalListener(expected: number): EngineWriteListener {
  const came = new Set<string | undefined>();
  const all = Promise.withResolvers<void>();
  return async (write) => {
    if (!isCreate(write)) return;
    came.add(getServiceSection(write));
    if (came.size >= expected) all.resolve();
    await Promise.race([all.promise, sleep(longestHoldMs, undefined, { ref: false })]);
  };
}

const isCreate = ({ method, path }: RecordedEngineWrite): boolean =>
  method === 'POST' && path === '/containers/create';

const getServiceSection = ({ body }: RecordedEngineWrite): string | undefined =>
  (body?.Labels as Record<string, string> | undefined)?.[composeLabels.service];
