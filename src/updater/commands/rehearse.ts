import { mkdir, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { UpdateError } from '../../core/errors/update-error.ts';
import { isExistingPath } from '../../core/files/file-system.ts';
import { settingValuesPath } from '../../core/release/release-settings.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { readMemoryUse } from '../../engine/containers/rehearsal-requests.ts';
import { type Container, type Image, isUp, serviceOf } from '../../engine/objects/container.ts';
import { hasNothingToUpdate } from '../compose/finish/finish-unchanged.ts';
import type { FoundInstance } from '../compose/inspect/find-project/find-instance.ts';
import type { PreparedPlan } from '../compose/plan/prepared-plan.ts';
import { findReleaseCommand } from '../compose/plan/release/release-label.ts';
import { newVersionNameOf, previousVersionNameOf } from '../compose/plan/version-sentences.ts';
import { hashPlan } from '../compose/prepare/hash-plan.ts';
import { runPullPhase } from '../compose/pull/run-pull-phase.ts';
import type { ProjectRunState } from '../compose/recovery/project-run-state.ts';
import { choosePauseLimit, copyRunningData } from '../compose/rehearsal/copy-data.ts';
import {
  buildVersion,
  CopyFinder,
  findAddedMounts,
  type RehearsalSelection,
  type RehearsalSelections,
  selectRehearsal,
} from '../compose/rehearsal/plan-rehearsal.ts';
import {
  type RehearsalRecord,
  recordRehearsal,
  removeRehearsal,
} from '../compose/rehearsal/rehearsal-record.ts';
import { writeRehearsalResult } from '../compose/rehearsal/rehearsal-result.ts';
import { findEnvFiles, type RehearsedVersion, runVersion } from '../compose/rehearsal/run-version.ts';
import { dataSelectionFactsOf, surveyData } from '../compose/restore-point/plan-restore-point.ts';
import {
  lowestDiskShare,
  lowestMemoryShare,
  parseMemoryInfo,
} from '../data/helper-program/control-request.ts';
import { resolveRestorePointsDirectory } from '../data/restore-point.ts';
import type { UncheckedMount } from '../data/selection/choose-mounts.ts';
import { requireDataCoverage } from '../data/selection/evaluate-data.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../run/log/format-values.ts';
import type { LogFields } from '../run/log/run-log.ts';
import { logSuccess, type RunOutcome } from '../run/log/run-outcome.ts';
import type { RunContext } from '../run/run-context.ts';
import { hasMixedVersions, readUnfinishedJournal } from '../run/state/journal.ts';
import { rehearsalLogFileName, stateDirectoryOf } from '../run/state/state-directory.ts';
import { planUpdateWithoutLock } from './show-plan.ts';

/** First version of the engine with networks in which the host has no address. */
const isolatingEngineVersion = 28;
/** The new version may need more memory than the running one. */
const memoryFactor = 1.25;
/** Memory in bytes for the helper containers. */
const memoryReserve = 256 * 1024 ** 2;
/** Maximum length in characters of a stored message. A release may cause a long error. */
const maxMessageLength = 2_000;
/** Share of the available memory that one container of the rehearsal may use. */
const memoryShare = 0.75;

/**
 * Starts the running version, and then the new version, on a copy of the data. Changes nothing of the instance, except
 * that the containers that write to the data are suspended for some seconds.
 */
export async function rehearseUpdate(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): Promise<RunOutcome> {
  // A rehearsal is never resumed, so the values of new settings are not needed again.
  await rm(settingValuesPath, { force: true });
  const { restartPolicy } = instance.own;
  if (restartPolicy !== 'no')
    throw new UpdateError(
      'rehearsal-unsupported',
      "the updater's container has a restart policy, so the engine would repeat a killed rehearsal",
      { advice: 'Start the updater without --restart, then run {command} again.' },
    );
  const rehearsed = await rehearse(context, instance, soFar);
  if (rehearsed === null)
    return logSuccess(
      context.log,
      'unchanged',
      'unchanged: there is nothing to update, so nothing was rehearsed',
      {},
    );
  return logSuccess(context.log, 'rehearsed', `${rehearsed.sentence}; nothing was changed`, rehearsed.facts);
}

/**
 * Rehearses an update before it begins. Returns the hash of the rehearsed plan. Returns null if nothing was rehearsed:
 * there is nothing to update, or the update first resumes or undoes an interrupted update.
 * @throws UpdateError rehearsal-failed, rehearsal-inconclusive
 */
export async function rehearseBeforeUpdate(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): Promise<string | null> {
  const { own, location } = instance;
  const pending = await readUnfinishedJournal(stateDirectoryOf(location.mountedAt));
  if (pending !== null && hasMixedVersions(pending)) {
    context.log.warn('an interrupted update is completed or undone first, so this run is not rehearsed');
    return null;
  }
  if (context.options.proof.archive !== null)
    throw new UpdateError('rehearsal-unsupported', 'an update from an archive cannot be rehearsed', {
      advice: 'Run the update without --rehearse.',
    });
  // After each crash, the engine would start another rehearsal, which suspends containers.
  if (own.restartCount > 0)
    throw new UpdateError('rehearsal-inconclusive', 'the updater was restarted before the update began', {
      advice: "Remove the updater's container, then run {command} again.",
    });
  const rehearsed = await rehearse(context, instance, soFar);
  if (rehearsed === null) return null;
  context.log.info(`${rehearsed.sentence}; continuing with the update`);
  return rehearsed.plan;
}

/** Rehearses an update, and removes everything that the rehearsal created. Returns null if there is nothing to update. */
async function rehearse(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): Promise<{ sentence: string; facts: LogFields; plan: string } | null> {
  const { engine, log, options } = context;
  await requireSupportedEngine(engine);
  const { location, paths } = instance;
  const parent = resolveRestorePointsDirectory(options.data.restoreDir, paths, location);
  const record = await recordRehearsal(context, instance, parent);
  const state = stateDirectoryOf(location.mountedAt);
  log.copyTo(join(state, rehearsalLogFileName));
  let result: RehearsedUpdate;
  let plan: string;
  try {
    const planned = await planUpdateWithoutLock(context, instance, soFar);
    const pull = { earlyModel: planned.plannedModel, journal: null };
    const prepared = await runPullPhase(context, planned.plan, pull);
    plan = hashPlan(prepared);
    if (hasNothingToUpdate(prepared)) return null;
    log.enterPhase('save');
    const run = runRehearsal(context, instance, prepared, record);
    result = await run.catch(async (error) => {
      await storeResult(context, state, plan, error);
      throw error;
    });
    await storeResult(context, state, plan, result);
  } catch (error) {
    throw toRehearsalError(error);
  } finally {
    const rehearsal = { project: location.name, state, paths, record };
    await removeRehearsal(engine.uncancellable(), rehearsal).catch((cause: Error) =>
      log.warn(
        `the rehearsal could not be removed completely, so the next update, rollback or rehearsal tries again: ${cause.message}`,
      ),
    );
  }
  const { from, to, bytes, without, readyMs } = result;
  const sentence = `rehearsed ${from} → ${to}: ${formatReadiness(result)}`;
  return { sentence, plan, facts: { from, to, bytes, without, readySeconds: Math.round(readyMs / 1000) } };
}

function formatReadiness({ to, bytes, without, readyMs }: RehearsedUpdate): string {
  const copied = [formatSize(bytes), ...without.map((each) => `without ${each}`)].join(', ');
  return `${to} became ready on a copy of the data (${copied}) after ${formatSeconds(readyMs)}`;
}

/**
 * Stores the result for the command `plan`. A cancelled rehearsal has no result.
 * @param plan - hash of the rehearsed plan
 */
async function storeResult(
  { log, startedAt }: RunContext,
  state: string,
  plan: string,
  result: unknown,
): Promise<void> {
  if (result instanceof Error && !(result instanceof UpdateError)) return;
  const isFailed = result instanceof UpdateError && result.code === 'rehearsal-failed';
  const stored = {
    plan,
    at: new Date(startedAt).toISOString(),
    isReady: result instanceof UpdateError ? (isFailed ? false : null) : true,
    message: log
      .maskText(result instanceof UpdateError ? result.message : formatReadiness(result as RehearsedUpdate))
      .slice(0, maxMessageLength),
  };
  // A missing result does no harm.
  await writeRehearsalResult(state, stored).catch(() => {});
}

async function requireSupportedEngine(engine: Engine): Promise<void> {
  const { version } = await engine.getFacts();
  if (!engine.isPodman && Number.parseInt(version, 10) >= isolatingEngineVersion) return;
  const message = `a rehearsal needs Docker Engine ${isolatingEngineVersion} or later, which can isolate networks from this machine`;
  throw new UpdateError('rehearsal-unsupported', message);
}

/** Converts an error of the rehearsal itself, because it shows nothing about the new version. */
function toRehearsalError(error: unknown): unknown {
  if (!(error instanceof UpdateError) || error.outcome === 'refused' || error.code === 'rehearsal-failed')
    return error;
  if (error.code.startsWith('pull-') || error.code === 'proof-failed') return error;
  const { message, detail } = error;
  return new UpdateError('rehearsal-inconclusive', message, { detail, cause: error });
}

interface RehearsedUpdate {
  from: string;
  to: string;
  /** Size of the copy. */
  bytes: number;
  /** Excluded services and mounts, which were empty. */
  without: readonly string[];
  /** Time in ms until the new version was ready. */
  readyMs: number;
}

async function runRehearsal(
  context: RunContext,
  instance: FoundInstance,
  plan: PreparedPlan,
  record: RehearsalRecord,
): Promise<RehearsedUpdate> {
  const { engine, log, options } = context;
  const { installation } = plan;
  const { project, app } = installation;
  const all = requireDataCoverage(dataSelectionFactsOf(installation, options.data));
  const { running, next } = selectRehearsal(plan, all);
  const services = [...new Set([...running.services, ...next.services])];
  const coverage = { ...all, covered: all.covered.filter((service) => services.includes(service)) };
  const { added, missing } = await findNewSources(instance, installation.containers, { running, next });
  const survey = await surveyData(context, instance, installation, {
    declared: coverage,
    rehearsed: { services, added },
  });
  const { point, warnings, writers } = survey.estimate;
  const uncopied = added.find((mount) => !point.mounts.some(({ path }) => path === mount.path));
  if (uncopied)
    throw new UpdateError('rehearsal-unsupported', `the source of ${uncopied.where} is a socket or a device`);
  const pauseLimitMs = choosePauseLimit(survey, options.limits.pauseMs);
  if (pauseLimitMs < options.limits.pauseMs)
    log.info(`the health checks allow a suspension of at most ${formatSeconds(pauseLimitMs, 1)}`);
  const memory = await computeMemoryLimit(context, plan, services);
  // The project name is new, so no container, network or volume with this name can exist.
  const name = `${project.name}-rehearsal-${record.token.slice(0, 8)}`;
  const runningImages = await findImages(context, plan, running, new Map());
  const newImages = await findImages(context, plan, next, plan.references);
  for (const warning of warnings) log.warn(warning);
  log.info(
    `services to start: ${joinWithAnd(services)}; containers that write to the data: ${joinWithAnd(writers.map((each) => each.name)) || 'none'}`,
  );
  const dataContext = { engine, log, project: project.name, helperImageId: instance.own.imageId };
  const directory = record.copies;
  const copiesPath = instance.paths.fromHost(directory) ?? directory;
  const copies = [
    ...(await copyRunningData({
      ...{ dataContext, survey, directory, pauseLimitMs },
      pathInContainer: copiesPath,
    })),
    ...(await createEmptyDirectories(directory, missing)),
  ];
  const finder = new CopyFinder(running, services, survey, copies);
  const { containers } = installation;
  const common = { name, token: record.token, finder, app: app.name, memory, containers };
  const [from, to] = [previousVersionNameOf(plan), newVersionNameOf(plan)];
  const runningVersion: RehearsedVersion = {
    ...buildVersion({ ...common, selection: running, images: runningImages }),
    name: from,
    isFollowed: true,
    ready: null,
  };
  const newVersion: RehearsedVersion = {
    ...buildVersion({ ...common, selection: next, images: newImages }),
    name: to,
    isFollowed: false,
    ready: findReleaseCommand(plan, plan.images.get(plan.app.to), 'ready'),
  };
  if (finder.empty.size > 0) log.info(`empty in the rehearsal: ${[...finder.empty].join(', ')}`);
  log.enterPhase('verify');
  const versionContext = {
    ...context,
    dataContext,
    record,
    name,
    envFiles: await findEnvFiles(project),
    copies: copies.map(({ copy }) => copy),
    copiesPath,
  };
  await runVersion(versionContext, runningVersion).catch((error) => {
    throw toVersionError(error, { name, version: from, code: 'rehearsal-inconclusive' });
  });
  const readyMs = await runVersion(versionContext, newVersion).catch((error) => {
    throw toVersionError(error, { name, version: to, code: 'rehearsal-failed' });
  });
  const without = point.excluded.filter((each) => services.includes(each.split(':', 1)[0] ?? ''));
  return { from, to, bytes: point.bytes, without, readyMs };
}

type VersionErrorCode = 'rehearsal-inconclusive' | 'rehearsal-failed';

/** @param name - project name of the rehearsal, with which the names of its containers begin */
function toVersionError(
  error: unknown,
  { name, version, code }: { name: string; version: string; code: VersionErrorCode },
): unknown {
  if (!(error instanceof UpdateError) || error.code !== 'broken') return error;
  const remark = code === 'rehearsal-failed' ? '' : ', although it is running';
  const reason = error.message.replaceAll(`${name}-`, '');
  const message = `${version} did not become ready on a copy of the data${remark}: ${reason}`;
  return new UpdateError(code, message, { detail: error.detail, cause: error });
}

/**
 * Finds bind mounts that are new in the new version, and whether their source exists. For a missing source, an empty
 * directory is used, as compose would create one.
 */
async function findNewSources(
  { paths }: FoundInstance,
  containers: readonly Container[],
  selections: RehearsalSelections,
): Promise<{ added: UncheckedMount[]; missing: UncheckedMount[] }> {
  const found = findAddedMounts(selections, containers);
  const [added, missing]: [UncheckedMount[], UncheckedMount[]] = [[], []];
  for (const mount of found) {
    const here = paths.fromHost(mount.path);
    const exists = here === null || (await isExistingPath(here));
    (exists ? added : missing).push(mount);
  }
  return { added, missing };
}

async function createEmptyDirectories(
  directory: string,
  mounts: readonly UncheckedMount[],
): Promise<{ path: string; copy: string }[]> {
  const made: { path: string; copy: string }[] = [];
  for (const path of new Set(mounts.map((mount) => mount.path))) {
    const copy = join(directory, `empty-${made.length}`);
    await mkdir(copy, { mode: 0o755 });
    made.push({ path, copy });
  }
  return made;
}

/**
 * Returns the image of each service.
 * @param references - new image references, keyed by service; other services keep the image of their container
 */
async function findImages(
  { engine }: RunContext,
  { installation, images: pulled }: PreparedPlan,
  { services }: RehearsalSelection,
  references: ReadonlyMap<string, string>,
): Promise<Map<string, Image>> {
  const found = new Map<string, Image>();
  for (const service of services) {
    const reference = references.get(service);
    const container = installation.containers.find((each) => serviceOf(each) === service);
    const image =
      reference === undefined
        ? container && (await engine.inspectImage(container.imageId))
        : (pulled.get(reference) ?? (await engine.inspectImage(reference)));
    if (!image)
      throw new UpdateError('rehearsal-inconclusive', `the image of ${service} is not on this machine`);
    found.set(service, image);
  }
  return found;
}

/**
 * Returns the memory in bytes that each container may use. Leaves more free than the limits at which the containers are
 * killed.
 * @throws UpdateError rehearsal-inconclusive
 */
async function computeMemoryLimit(
  { engine }: RunContext,
  { installation }: PreparedPlan,
  services: readonly string[],
): Promise<number> {
  const own = installation.containers.filter((each) => isUp(each) && services.includes(serviceOf(each)));
  const used = await Promise.all(own.map(({ id }) => readMemoryUse(engine, id)));
  const needed = used.reduce((sum, each) => sum + each, 0) * memoryFactor + memoryReserve;
  const { available, total } = parseMemoryInfo(await readFile('/proc/meminfo', 'utf8'));
  const usable = available - total * lowestMemoryShare;
  // The root directory of this container is on the disk of the engine.
  const { blocks, bavail } = await statfs('/');
  const isDiskFull = bavail < blocks * lowestDiskShare;
  if (usable >= needed && !isDiskFull) return Math.floor(usable * memoryShare);
  const message = isDiskFull
    ? 'the disk of the engine is almost full'
    : `the rehearsal needs ${formatSize(needed)} of memory, but only ${formatSize(Math.max(usable, 0))} is available above the 10 % that must stay free`;
  const advice = 'Free up disk space or memory, or run the rehearsal at another time.';
  throw new UpdateError('rehearsal-inconclusive', message, { advice });
}
