import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isExistingPath } from '../../../core/files/file-system.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import { parseComposeMessages } from '../../../engine/cli/compose-output.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { type ListedNetwork, listAllNetworks } from '../../../engine/containers/rehearsal-requests.ts';
import { type Container, hasSucceeded, serviceOf } from '../../../engine/objects/container.ts';
import { type Json, toObject } from '../../../engine/objects/json.ts';
import { runHelperContainer } from '../../data/copies/run-helper-container.ts';
import type { DataContext } from '../../data/data-context.ts';
import { watchedDiskPathOf } from '../../data/helper-program/control-request.ts';
import { formatSeconds, joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import type { RunContext } from '../../run/run-context.ts';
import { retryUntilDone } from '../../run/run-steps.ts';
import { awaitHealthyContainers, readFailureLog } from '../health/await-healthy.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { runReadyCommand } from '../verify/run-ready.ts';
import { requireIsolation } from './check-isolation.ts';
import { type ControlHelper, startControlHelper } from './control-helper.ts';
import { requireRootOwnedCopies } from './copy-data.ts';
import { listRehearsedContainers, type RehearsalRecord, removeRehearsedObjects } from './rehearsal-record.ts';

const createTimeoutMs = 300_000;
/** Grace period of all containers: a release must not be able to prolong the rehearsal. */
const stopGraceSeconds = 60;
/** Longest delay of a timer in Node.js. */
const longestDelayMs = 2 ** 31 - 1;
/** Time in ms in which the message of a helper container arrives. */
const guardMessageMs = 1_000;
/** How often the containers of a service are started again, as by its restart policy. */
const maxRestarts = 5;
const restartPauseMs = 1_000;
const killedExitCode = 137;
/** Error of the engine if the program of a container is missing or cannot be executed. */
const missingProgram = /: exec: |exec format error|executable file not found/;
/** TCP port on which nothing listens. If the address is reachable, the connection is refused. */
const unusedPort = 9;
/** Host name that every name server outside resolves. */
const publicHostName = 'example.com';
const maxTargets = 100;

/** A version of the app, and the compose project in which it is started on the copies. */
export interface RehearsedVersion {
  /** Such as `v1.4.2`. */
  name: string;
  project: Json;
  services: readonly string[];
  /** Services that run once and must succeed. */
  runOnce: readonly string[];
  /** Services that the engine would start again if they exit. */
  restartedServices: readonly string[];
  /** Whether another version is started on the same copies afterwards. */
  isFollowed: boolean;
  /** Command that must succeed when the version is healthy; null if there is none. */
  ready: readonly string[] | null;
}

interface VersionRunContext extends RunContext {
  dataContext: DataContext;
  record: RehearsalRecord;
  /** Name of the rehearsal's compose project. */
  name: string;
  envFiles: readonly string[];
  /** Host paths of the copies. */
  copies: readonly string[];
  /** Directory of the copies, as a path in this container without links. */
  copiesPath: string;
}

/**
 * Starts a version on the copies, waits until it is ready, and stops it. Returns the time in ms until it was ready.
 * @throws UpdateError broken if the version did not become ready; rehearsal-unsupported; rehearsal-inconclusive
 */
export async function runVersion(context: VersionRunContext, version: RehearsedVersion): Promise<number> {
  const { engine, log, record, dataContext } = context;
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-rehearsal-'));
  let guard: ControlHelper | null = null;
  try {
    await requireRootOwnedCopies(context.copiesPath);
    const file = join(directory, 'rehearsal.json');
    await writeFile(file, JSON.stringify(version.project), { mode: 0o600 });
    const { name, envFiles } = context;
    const compose = new Compose(engine, { name, directory, files: [file], envFiles });
    const scale = new Map(version.services.map((service) => [service, 1]));
    const created = await compose.up(scale, { start: false, deadlineMs: createTimeoutMs });
    if (created.exitCode !== 0) throw createComposeFailure(created.stderr);
    const ids = await checkCreatedContainers(context, version.services.length);
    const { DockerRootDir = '' } = await engine.getInfo();
    const disks = [record.copies, String(DockerRootDir)].filter((path) => path !== '');
    const mounts = disks.map((Source, at) => ({
      ...{ Type: 'bind', Source, Target: watchedDiskPathOf(at), ReadOnly: true },
      BindOptions: { NonRecursive: true },
    }));
    const request = { containers: ids, disks: disks.length };
    guard = await startControlHelper(dataContext, 'guard', request, mounts);
    guard.send('watch');
    const end = new AbortController();
    void guard.nextEvent(longestDelayMs).then((event) => end.abort(createGuardError(event?.text ?? null)));
    log.info(`starting ${version.name} on the copy of the data`);
    const beganAt = performance.now();
    const guarded = { ...context, engine: engine.until(end.signal) };
    const work = startAndAwait(guarded, version, compose.by(guarded.engine), {
      scale,
      ids,
    });
    await awaitWithHeartbeat(log, `waiting for ${version.name} on the copy of the data`, work).catch(
      async (error) => {
        // The guard may have killed the containers just before its message arrives.
        await sleepFor(guardMessageMs, end.signal);
        end.signal.throwIfAborted();
        throw error;
      },
    );
    const took = performance.now() - beganAt;
    log.info(`${version.name} became ready on the copy of the data after ${formatSeconds(took)}`);
    if (version.isFollowed) {
      await awaitWithHeartbeat(
        log,
        `stopping ${version.name}; each service may take up to ${stopGraceSeconds} s`,
        stopInOrder(context, version),
      );
      end.signal.throwIfAborted();
    }
    return took;
  } finally {
    // The guard ends last: if this process is killed now, it kills the remaining containers.
    // After a failure, they are removed again when the rehearsal ends.
    await removeRehearsedObjects(engine.uncancellable(), record.token).catch(() => {});
    guard?.send('done');
    await guard?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Stops the services that depend on others first, so the next version finds the data as after a regular stop. */
async function stopInOrder(
  { engine, record }: VersionRunContext,
  { project }: RehearsedVersion,
): Promise<void> {
  const dependenciesOf = (service: string): string[] => {
    const { depends_on } = toObject(toObject(project.services)[service]);
    return Object.keys(toObject(depends_on));
  };
  const found = await listRehearsedContainers(engine, record.token);
  const remaining = new Map(found.map((each) => [serviceOf(each), each.id]));
  while (remaining.size > 0) {
    const dependencies = new Set([...remaining.keys()].flatMap(dependenciesOf));
    const unneeded = [...remaining].filter(([service]) => !dependencies.has(service));
    // Compose rejects a cycle, so there is always a service that no other needs.
    const next = unneeded.length > 0 ? unneeded : [...remaining];
    const graces = new Map(next.map(([, id]) => [id, stopGraceSeconds]));
    await engine.stopContainers([...graces.keys()], graces);
    for (const [service] of next) remaining.delete(service);
  }
}

const createGuardError = (shortage: string | null): UpdateError =>
  new UpdateError(
    'rehearsal-inconclusive',
    shortage === null
      ? 'the helper container that watches memory and disk ended'
      : `all containers of the rehearsal were killed, because ${shortage} of this machine was almost used up`,
  );

/** Creates the error for a failed compose command. The cause is compose or the engine, not the version. */
const createComposeFailure = (stderr: string): UpdateError => {
  const lines = parseComposeMessages(stderr);
  return new UpdateError('rehearsal-inconclusive', lines.at(-1) ?? 'docker compose failed', {
    detail: lines.slice(0, -1),
  });
};

/**
 * Checks the created containers and networks before anything is started, and returns the containers' ids.
 * @throws UpdateError rehearsal-unsupported
 */
async function checkCreatedContainers(context: VersionRunContext, count: number): Promise<string[]> {
  const { engine, record, copies, dataContext } = context;
  const { token } = record;
  const listed = await listRehearsedContainers(engine, token);
  const ids = listed.map(({ id }) => id);
  const all = await listAllNetworks(engine);
  const networks = all.filter((network) => network.token === token);
  if (ids.length !== count)
    throw new UpdateError(
      'rehearsal-inconclusive',
      `${ids.length} containers were created instead of ${count}`,
    );
  requireIsolation(await engine.inspectRaw(ids), { token, copies, networks });
  const running = await engine.inspectRunning(new Set(ids));
  const addresses = new Set([
    ...all.flatMap(({ gateways }) => gateways),
    ...running.flatMap(({ ips }) => ips),
  ]);
  const targets = [...addresses].slice(0, maxTargets).map((host) => ({ host, port: unusedPort }));
  await Promise.all(
    networks.map((network) =>
      requireUnreachable(dataContext, network, [...targets, { host: publicHostName, port: 0 }]),
    ),
  );
  return ids;
}

async function requireUnreachable(
  dataContext: DataContext,
  { name }: ListedNetwork,
  targets: readonly { host: string; port: number }[],
): Promise<void> {
  const reached = await runHelperContainer(dataContext, {
    ...{ verb: 'reach', code: 'rehearsal-inconclusive', request: { mounts: [], targets }, mounts: [] },
    hostConfig: { NetworkMode: name, CapAdd: [] },
  });
  if (reached.length === 0) return;
  const message = `a container in the network ${name} can reach ${joinWithAnd(reached)}`;
  throw new UpdateError('rehearsal-unsupported', message);
}

async function startAndAwait(
  context: VersionRunContext,
  version: RehearsedVersion,
  compose: Compose,
  { scale, ids }: { scale: ReadonlyMap<string, number>; ids: readonly string[] },
): Promise<void> {
  const { engine } = context;
  let remaining = scale;
  for (let restarts = 0; ; restarts++) {
    try {
      return await startOnce(context, version, compose, { scale: remaining, ids });
    } catch (error) {
      const containers = await engine.inspectContainers(ids);
      await requireNotKilled(engine, containers);
      // Many apps exit until their database responds.
      const isRestartable = containers.some(
        (each) =>
          each.status === 'exited' &&
          !hasSucceeded(each) &&
          version.restartedServices.includes(serviceOf(each)),
      );
      if (!isRestartable || restarts >= maxRestarts) throw error;
      // Services that run once, and have succeeded, must not run again.
      const completed = containers.filter((each) => hasSucceeded(each)).map(serviceOf);
      remaining = new Map([...scale].filter(([service]) => !completed.includes(service)));
      await sleepFor(restartPauseMs, engine.aborted);
    }
  }
}

async function startOnce(
  context: VersionRunContext,
  { ready, runOnce }: RehearsedVersion,
  compose: Compose,
  { scale, ids }: { scale: ReadonlyMap<string, number>; ids: readonly string[] },
): Promise<void> {
  const { engine, options, record, name } = context;
  // In an update, each service that runs once has its own time.
  const deadlineMs = options.limits.waitTimeoutMs * (1 + runOnce.length);
  const verifyBy = performance.now() + deadlineMs;
  const started = await compose.up(scale, { start: true, deadlineMs });
  const listed = await listRehearsedContainers(engine, record.token);
  if (listed.length !== ids.length || !listed.every(({ id }) => ids.includes(id)))
    throw new UpdateError('rehearsal-inconclusive', 'the containers were replaced after they were checked');
  if (started.exitCode !== 0)
    throw await createStartFailure(engine, await engine.inspectContainers(ids), { ...started, deadlineMs });
  const watched = listed
    .filter((each) => !runOnce.includes(serviceOf(each)))
    .map((each) => ({ service: serviceOf(each), id: each.id }));
  await retryUntilDone(context, async () => {
    await awaitHealthyContainers(context, watched, options.app);
    if (ready !== null) await runReadyCommand(context, ready, { project: name, verifyBy });
  });
}

const hasFailed = (container: Container): boolean =>
  container.health === 'unhealthy' ||
  (container.status === 'exited' && !hasSucceeded(container)) ||
  (container.status === 'created' && missingProgram.test(container.error));

/** Returns `broken` with the containers' logs, or `rehearsal-inconclusive` if no container is the cause. */
async function createStartFailure(
  engine: Engine,
  containers: readonly Container[],
  { timedOut, stderr, deadlineMs }: { timedOut: boolean; stderr: string; deadlineMs: number },
): Promise<UpdateError> {
  await requireNotKilled(engine, containers);
  const failed = containers.filter((each) => hasFailed(each) || (timedOut && each.status === 'running'));
  if (failed.length === 0) return createComposeFailure(stderr);
  const names = joinWithAnd(failed.map(({ name }) => name));
  const message = timedOut
    ? `${names} did not become healthy or finish within ${formatSeconds(deadlineMs)}`
    : (parseComposeMessages(stderr).at(-1) ?? `${names} failed`);
  const logs = await Promise.all(failed.map((container) => readFailureLog(engine, container)));
  const errors = failed.flatMap(({ error }) => (error === '' ? [] : [error]));
  return new UpdateError('broken', message, { detail: [...logs.flat(), ...errors] });
}

/** Rejects a killed container, because it has less memory than in an update. @throws UpdateError rehearsal-inconclusive */
async function requireNotKilled(engine: Engine, containers: readonly Container[]): Promise<void> {
  const found = await engine.inspectRaw(containers.map(({ id }) => id));
  const killed = found.find(({ State }) => {
    const { OOMKilled, ExitCode, Running } = toObject(State);
    return OOMKilled === true || (Running !== true && ExitCode === killedExitCode);
  });
  if (killed === undefined) return;
  const message = `${String(killed.Name).slice(1)} was killed: it may have needed more memory than a rehearsal may use`;
  throw new UpdateError('rehearsal-inconclusive', message);
}

/** Compose reads secrets from env files. By default, it would look for `.env` in the directory of the rehearsal. */
export async function findEnvFiles({
  directory,
  envFiles,
}: PreparedPlan['installation']['project']): Promise<readonly string[]> {
  if (envFiles.length > 0) return envFiles;
  const path = join(directory, '.env');
  return (await isExistingPath(path)) ? [path] : [];
}
