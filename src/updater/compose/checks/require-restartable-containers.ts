// The host may have lost a device, a runtime, a share, a log server or a shared network since a container was started.
// Helper containers test whether each container could be started again. In the meantime, all services keep running, and
// nothing is changed.

import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { requireStartableContainer } from '../../../engine/containers/helper-container.ts';
import { findEngineError, rejectionCodes } from '../../../engine/http/engine-error.ts';
import {
  type Container,
  findNamespaceContainer,
  isUp,
  namespaceModeKeys,
  serviceOf,
  toContainer,
} from '../../../engine/objects/container.ts';
import { isUnsetValue, type Json, toObject } from '../../../engine/objects/json.ts';
import { createHelperMount } from '../../data/copies/copy-mounts.ts';
import { findMountInText } from '../../data/copies/estimate-restore-point.ts';
import { runHelperContainer } from '../../data/copies/run-helper-container.ts';
import type { DataContext } from '../../data/data-context.ts';
import { helperProgramCommand } from '../../data/helper-program/helper-request.ts';
import { isServiceContainer, mountSourceOf } from '../../data/selection/choose-mounts.ts';
import { requireDataCoverage } from '../../data/selection/evaluate-data.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import type { DryRunResult, InspectedProject } from '../inspect/installation.ts';
import { dataSelectionFactsOf } from '../restore-point/plan-restore-point.ts';
import { describeChangedMounts, type HostMount } from './changed-mounts.ts';
import { type HostRequirement, listHostRequirements, removeUnpublishedPorts } from './host-requirements.ts';

/** `HostConfig` of a service's running or new container. */
interface ServiceHostConfig {
  service: string;
  host: Json;
}

/** Helper container command without output, so that nothing is sent to the user's log server. */
const silentCommand = { Entrypoint: [helperProgramCommand[0], '-e', ''], Cmd: [] };
const confinedHostConfig = {
  CapDrop: ['ALL'],
  SecurityOpt: ['no-new-privileges'],
  LogConfig: { Type: 'none' },
  UsernsMode: '',
};
/** Matches the engine's error for a published port whose address the host does not have. */
const missingAddressPattern = /^.* on endpoint .*: cannot assign requested address$/s;
const timeoutMessage = 'a mount, device or log server did not respond within 60 s';
const maxTries = 2;
const tryPauseMs = 2_000;
const unseen = { isFile: false, root: null, device: null, excluded: [] };

/** A check whether containers could get their mounts again. */
export interface MountCheck {
  /** Ids of the containers, sorted. */
  ids: readonly string[];
  /** Messages; empty if each mount is still there. */
  refusals: Promise<readonly string[]>;
}

const isRunningService = (container: Container, project: string): boolean =>
  isServiceContainer(container, project) && isUp(container);

/** Starts the check for the containers that are running and belong to services. */
export function startMountCheck(
  { engine, log }: RunContext,
  { own, location }: FoundInstance,
  cachedEngine: Engine,
  containers: readonly Container[],
): MountCheck {
  const running = containers.filter((each) => isRunningService(each, location.name));
  const ids = running.map(({ id }) => id).sort();
  const dataContext = { engine, log, project: location.name, helperImageId: own.imageId };
  const check = async () => {
    if (engine.isPodman) return [];
    // Inspect the containers again, because the check needs their current process ids.
    const [now, info] = await Promise.all([engine.inspectRaw(ids), cachedEngine.getInfo()]);
    const mounts = await listHostMounts(engine, now, info);
    const services = servicesOf(running.map((each) => ({ service: serviceOf(each) })));
    return mounts.length === 0 ? [] : checkHostMounts(dataContext, services, mounts);
  };
  return { ids, refusals: deferRejection(check()) };
}

interface HostCheckInput {
  project: InspectedProject;
  /** View of the engine that has read the project's containers. */
  cachedEngine: Engine;
  /** Dry run of `up`, which may still be in progress. */
  dryRun: Promise<Pick<DryRunResult, 'requests'>>;
  /** Check that was started before compose's model was known; null if there is none. */
  earlyCheck: MountCheck | null;
}

/**
 * Checks that each container to be stopped could be started again. Tests its current settings, for a rollback, and the
 * settings in the files.
 * @throws UpdateError host-changed
 */
export async function requireRestartableContainers(
  context: RunContext,
  instance: FoundInstance,
  { project: inspected, cachedEngine, dryRun, earlyCheck }: HostCheckInput,
): Promise<void> {
  const { engine, options, log } = context;
  if (engine.isPodman) return;
  const { project, containers } = inspected;
  const facts = dataSelectionFactsOf(inspected, options.data);
  const services = [
    ...facts.updated,
    ...(options.data.restorePoint ? requireDataCoverage(facts).covered : []),
  ];
  const stopped = containers.filter(
    (each) => services.includes(serviceOf(each)) && isRunningService(each, project.name),
  );
  const ids = stopped.map(({ id }) => id);
  // Mounts need a separate helper container, because some runtimes forbid the host's PID namespace.
  const mountCheck =
    earlyCheck?.ids.join() === ids.toSorted().join()
      ? earlyCheck
      : startMountCheck(context, instance, cachedEngine, stopped);
  const { requests: sent } = await dryRun.catch(async (error) => {
    await Promise.allSettled([mountCheck.refusals]);
    throw error;
  });
  const dataContext = { engine, log, project: project.name, helperImageId: instance.own.imageId };
  const [running, info] = await Promise.all([cachedEngine.inspectRaw(ids), cachedEngine.getInfo()]);
  const definitions = running.flatMap((raw): ServiceHostConfig[] => {
    const service = serviceOf(toContainer(raw));
    const host = toObject(raw.HostConfig);
    const { Ports } = toObject(raw.NetworkSettings);
    const next = removeUnpublishedPorts(toObject(sent.get(service)?.body.HostConfig), host, toObject(Ports));
    const both = [
      { ...host, PortBindings: Ports },
      ...(isUnsetValue(next) ? [] : [{ Runtime: host.Runtime, ...next }]),
    ];
    return both.map((each) => ({ service, host: each }));
  });
  const needs = definitions.flatMap(({ service, host }) =>
    listHostRequirements(host, info.LoggingDriver).map((need) => ({ service, need: JSON.stringify(need) })),
  );
  const groups = Map.groupBy(needs, ({ need }) => need);
  const tried = await Promise.all([
    findStoppedProviders(engine, definitions),
    mountCheck.refusals,
    ...[...groups].map(([need, group]) =>
      checkHostRequirement(dataContext, servicesOf(group), JSON.parse(need)),
    ),
  ]);
  const [first, ...detail] = new Set(tried.flat());
  if (first !== undefined) throw new UpdateError('host-changed', first, { detail });
}

/**
 * Returns a message for each stopped container whose namespace is shared. Removed containers are ignored, because
 * compose uses their replacements.
 */
async function findStoppedProviders(
  engine: Engine,
  definitions: readonly ServiceHostConfig[],
): Promise<string[]> {
  const names = definitions.flatMap(({ host }) =>
    namespaceModeKeys.flatMap((mode) => findNamespaceContainer(host[mode]) ?? []),
  );
  const found = await engine.inspectContainers([...new Set(names)]);
  return found
    .filter(({ status }) => !['running', 'paused'].includes(status))
    .map(
      ({ name }) =>
        `${name} is not running: start it first, because other containers share its network, PID or IPC namespace`,
    );
}

/** Returns the bind mounts and local volumes of running containers. */
async function listHostMounts(engine: Engine, running: readonly Json[], info: Json): Promise<HostMount[]> {
  const mounts = running.flatMap((raw) => {
    const { labels, storage } = toContainer(raw);
    const besides = storage.map(({ destination }) => destination);
    const pid = Number(toObject(raw.State).Pid);
    return storage
      .filter(({ type, driver }) => type === 'bind' || driver === 'local')
      .map((mount) => ({ ...mount, where: `${serviceOf({ labels })}:${mount.destination}`, besides, pid }));
  });
  const names = mounts.flatMap(({ driver, source }) => (driver === 'local' ? [source] : []));
  const volumes = await engine.listVolumes(names);
  const options = new Map(volumes.map((volume) => [volume.name, volume.options]));
  const dataRoot = String(info.DockerRootDir || '/var/lib/docker');
  return mounts.map((mount) => ({ ...mount, ...mountSourceOf(mount, { options }), dataRoot }));
}

function checkHostMounts(
  dataContext: DataContext,
  services: string,
  mounts: readonly HostMount[],
): Promise<string[]> {
  const start = async (signal: AbortSignal) => {
    const tables = await runHelperContainer(dataContext, {
      verb: 'tables',
      code: 'host-changed',
      request: { mounts: mounts.map(() => unseen), pids: mounts.map(({ pid }) => pid) },
      mounts: mounts.map((mount, at) => createHelperMount(mount, at, true)),
      hostConfig: { PidMode: 'host', CapAdd: [] },
      signal,
    });
    return describeChangedMounts(mounts, tables);
  };
  const named = (reason: string) => findMountInText(reason, mounts)?.where ?? services;
  return tryStart(dataContext, start, (reason) => `${named(reason)} cannot be started again`);
}

function checkHostRequirement(
  dataContext: DataContext,
  services: string,
  [name, hostConfig]: HostRequirement,
): Promise<string[]> {
  const start = async (signal: AbortSignal) => {
    const options = { config: silentCommand, hostConfig: { ...confinedHostConfig, ...hostConfig } };
    await requireStartableContainer(
      dataContext.engine.until(signal),
      dataContext.helperImageId,
      dataContext.project,
      options,
    );
    return [];
  };
  return tryStart(dataContext, start, () => `${services} cannot be started again${name && ` with ${name}`}`);
}

const servicesOf = (all: readonly Pick<ServiceHostConfig, 'service'>[]): string =>
  joinWithAnd([...new Set(all.map(({ service }) => service))]);

/**
 * Starts a helper container, and returns the engine's error as a message. Tries again after a server error (5xx), or if
 * the helper container was stopped, because the engine may be restarting.
 */
async function tryStart(
  { engine, log }: DataContext,
  start: (signal: AbortSignal) => Promise<string[]>,
  sentenceFor: (reason: string) => string,
): Promise<string[]> {
  const refusal = (reason: string) => [`${sentenceFor(reason)}: ${reason}`];
  for (let tries = 1; ; tries++) {
    const signal = AbortSignal.timeout(60_000);
    try {
      return await start(signal);
    } catch (error) {
      const { code } = Object(error);
      if (!signal.aborted && code !== 'engine-unavailable') throw error;
      const cause = findEngineError(error);
      const fault = cause !== null && rejectionCodes.some((each) => each === cause.code) ? cause : null;
      // A socket proxy may deny the requests that create the helper container.
      if (/\b403\b/.test(String(fault?.status ?? fault?.message))) {
        log.warn(`the host was not checked, because the engine denied a request: ${fault?.message}`);
        return [];
      }
      const isFinal = tries === maxTries || (fault?.status ?? 500) < 500;
      if (isFinal && fault !== null)
        return refusal(fault.message.replace(missingAddressPattern, 'the host does not have this address'));
      // A timeout counts as an error of the host if the engine still responds, or if this was the last try. An
      // unavailable network share, for example, never responds.
      if (signal.aborted && (isFinal || (await engine.isResponding()))) return refusal(timeoutMessage);
      if (isFinal) throw error;
      await sleepFor(tryPauseMs, engine.aborted);
      engine.aborted.throwIfAborted();
    }
  }
}
