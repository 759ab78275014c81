// A running container is no proof that it can be started again with the same files: the host may have lost a device, a runtime, a
// share, or the container whose network is shared. A helper container tries it while everything still runs, and changes nothing.

import { UpdateError } from '../../../core/progress/update-error.ts';
import { engineInfo, inspectContainers, inspectWhole, listVolumes } from '../../../engine/api/query.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import {
  isUp,
  namespaceModes,
  readContainer,
  serviceOf,
  sharedContainer,
} from '../../../engine/container.ts';
import { isEmpty, type Json, object } from '../../../engine/json.ts';
import { isOfService, placed } from '../../data/choose-mounts.ts';
import { toolsMount } from '../../data/copies.ts';
import type { DataDoors } from '../../data/data-doors.ts';
import { declareData } from '../../data/declare.ts';
import { namedIn } from '../../data/survey-point.ts';
import { runTools } from '../../data/tools-container.ts';
import { and } from '../../run/log/wording.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import type { Installation } from '../inspect/installation.ts';
import { changedMounts, type HostMount } from './changed-mounts.ts';
import { dataFacts } from './plan-point.ts';

/** What a container of a service is started with. */
interface Definition {
  service: string;
  host: Json;
}

/** What the host may lack, besides mounts and the containers of `namespaceModes`. */
const provided =
  'Devices DeviceRequests DeviceCgroupRules Runtime CgroupParent CpusetCpus CpusetMems Privileged UsernsMode';
const unseen = { isFile: false, root: null, device: null, excluded: [] };

/**
 * Tries every running container that the update stops: as it was created, for a rollback, and as the files define it.
 * @throws UpdateError host-changed
 */
export async function checkHost(
  { engine, options, log }: RunContext,
  { own }: FoundInstance,
  installation: Installation,
): Promise<void> {
  // Not tried there.
  if (engine.isPodman) return;
  const { project, containers, sent } = installation;
  const facts = dataFacts(installation, options.data);
  const services = [...facts.updated, ...(options.data.restorePoint ? declareData(facts).covered : [])];
  const ids = containers
    .filter((each) => isOfService(each, project.name) && services.includes(serviceOf(each)) && isUp(each))
    .map(({ id }) => id);
  const running = await inspectWhole(engine, ids);
  const definitions = running.flatMap((raw): Definition[] => {
    const service = serviceOf(readContainer(raw));
    const host = object(raw.HostConfig);
    const next = object(sent.get(service)?.body.HostConfig);
    const both = [host, ...(isEmpty(next) ? [] : [{ Runtime: host.Runtime, ...next }])];
    return both.map((each) => ({ service, host: each }));
  });
  const doors = { engine, log, project: project.name, toolsImage: own.imageId };
  const mounts = await mountsOf(engine, running);
  const groups = Map.groupBy(definitions, ({ host }) => JSON.stringify(askedOf(host)));
  // Every engine has these.
  for (const usual of ['{}', '{"Runtime":"runc"}']) groups.delete(usual);
  const tried = await Promise.all([
    downProviders(engine, definitions),
    // Only this one sees other processes: not every runtime allows it.
    mounts.length === 0 ? [] : tryStart(doors, definitions, { PidMode: 'host' }, mounts),
    ...[...groups].map(([asked, group]) =>
      tryStart(doors, group, { UsernsMode: '', ...JSON.parse(asked) }, []),
    ),
  ]);
  const [first, ...detail] = new Set(tried.flat());
  if (first !== undefined) throw new UpdateError('host-changed', first, { detail });
}

const askedOf = (host: Json): Json =>
  Object.fromEntries(provided.split(' ').flatMap((key) => (isEmpty(host[key]) ? [] : [[key, host[key]]])));

/** A container that no longer exists is not needed: compose names its successor. */
async function downProviders(engine: Engine, definitions: readonly Definition[]): Promise<string[]> {
  const names = definitions.flatMap(({ host }) =>
    namespaceModes.flatMap((mode) => sharedContainer(host[mode]) ?? []),
  );
  const found = await inspectContainers(engine, [...new Set(names)]);
  return found
    .filter(({ status }) => !['running', 'paused'].includes(status))
    .map(
      ({ name }) =>
        `${name} is not running: start it first, because other containers share its network, PID or IPC namespace`,
    );
}

/** Binds and local volumes. */
async function mountsOf(engine: Engine, running: readonly Json[]): Promise<HostMount[]> {
  const mounts = running.flatMap((raw) => {
    const { labels, storage } = readContainer(raw);
    const besides = storage.map(({ destination }) => destination);
    const pid = Number(object(raw.State).Pid);
    return storage
      .filter(({ type, driver }) => type === 'bind' || driver === 'local')
      .map((mount) => ({ ...mount, where: `${serviceOf({ labels })}:${mount.destination}`, besides, pid }));
  });
  const names = mounts.flatMap(({ driver, source }) => (driver === 'local' ? [source] : []));
  const volumes = await listVolumes(engine, names);
  const options = new Map(volumes.map((volume) => [volume.name, volume.options]));
  const dataRoot = String((await engineInfo(engine)).DockerRootDir || '/var/lib/docker');
  return mounts.map((mount) => ({ ...mount, ...placed(mount, { options }), dataRoot }));
}

/** Starts a helper container for these definitions. */
async function tryStart(
  doors: DataDoors,
  definitions: readonly Definition[],
  hostConfig: Json,
  mounts: readonly HostMount[],
): Promise<string[]> {
  const services = and([...new Set(definitions.map(({ service }) => service))]);
  try {
    const tables = await runTools(doors, {
      verb: 'tables',
      code: 'host-changed',
      asked: { mounts: mounts.map(() => unseen), pids: mounts.map(({ pid }) => pid) },
      mounts: mounts.map((mount, at) => toolsMount(mount, at, true)),
      hostConfig: { ...hostConfig, CapAdd: [] },
      // Dead shares never answer.
      signal: AbortSignal.timeout(60_000),
    });
    return changedMounts(mounts, tables);
  } catch (error) {
    if (Object(error).name === 'TimeoutError')
      return [`${services} cannot be started again: a mount or device did not respond within 60 s`];
    if (!(error instanceof UpdateError) || !(await doors.engine.answers())) throw error;
    const reason = error.detail.at(-1) ?? Object(error.cause).message;
    // The engine has not refused to create or start it.
    if (reason === undefined) throw error;
    // A socket proxy may not allow the calls of the helper.
    if (/\b403\b/.test(reason)) {
      doors.log.warn(`the host was not checked, because the engine denied a request: ${reason}`);
      return [];
    }
    return [`${namedIn(reason, mounts)?.where ?? services} cannot be started again: ${reason}`];
  }
}
