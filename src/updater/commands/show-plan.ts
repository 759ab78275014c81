import { relative } from 'node:path';
import { parseImageReference } from '../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { settingsFileName, stateDirectoryName } from '../../core/names/state-directory-name.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { listProjectContainersWithCache } from '../../engine/containers/project-containers.ts';
import { inspectAndPlan } from '../compose/begin-update.ts';
import { requireNoDataLoss } from '../compose/checks/check-volumes.ts';
import { runPreflight } from '../compose/checks/run-preflight.ts';
import type { FoundInstance } from '../compose/inspect/find-project/find-instance.ts';
import { isGeneratedComposeFile } from '../compose/inspect/installation.ts';
import { formatSettingsLines } from '../compose/inspect/services/choices.ts';
import { findAffectedContainerWarnings } from '../compose/plan/affected-containers.ts';
import { hasChangesFromPulledImages } from '../compose/plan/files/draft-file-changes.ts';
import type { PreparedPlan } from '../compose/plan/prepared-plan.ts';
import { preparePlan } from '../compose/prepare/prepare-plan.ts';
import { findLocalImages } from '../compose/pull/local-tags.ts';
import type { ProjectRunState } from '../compose/recovery/project-run-state.ts';
import { findRehearsalResult } from '../compose/rehearsal/rehearsal-result.ts';
import { dataSelectionFactsOf } from '../compose/restore-point/plan-restore-point.ts';
import { evaluateDataSettings, formatDataSettingProposal } from '../data/selection/evaluate-data.ts';
import { floatingTagUpdatesOf } from '../plan/check-stale-tags.ts';
import type { ServiceUpdate } from '../plan/release-plan.ts';
import { logUpdatePlanResult } from '../run/last-lines.ts';
import { formatFileDifference } from '../run/log/difference.ts';
import { joinWithAnd } from '../run/log/format-values.ts';
import type { RunOutcome } from '../run/log/run-outcome.ts';
import type { CommandLine } from '../run/options/command-line.ts';
import type { RunContext } from '../run/run-context.ts';
import { formatUnfinishedRunMessage, readUnfinishedJournal } from '../run/state/journal.ts';
import { findRunningLockHolder } from '../run/state/lock.ts';
import {
  requireFileModeSupport,
  requireTrustedStateDirectory,
  stateDirectoryOf,
} from '../run/state/state-directory.ts';

/** Logs the effects of `update`. Changes nothing, pulls nothing and takes no lock. */
export async function showPlan(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
  line: CommandLine,
): Promise<RunOutcome> {
  const { plan, plannedModel: early } = await planUpdateWithoutLock(context, instance, soFar);
  const { installation, updates } = plan;
  const { engine, log } = context;
  const proposal = context.options.data.restorePoint
    ? null
    : formatDataSettingProposal(
        evaluateDataSettings(dataSelectionFactsOf(installation, context.options.data)),
      );
  if (proposal !== null) log.info(proposal);
  // Services from the settings file are not suggested, because they are already the default.
  if (line.values.has('service')) {
    const { app, workers, exclude } = context.options;
    log.info(`to make these services the default, add these lines to ${settingsFileName}:`);
    for (const line of formatSettingsLines([app, ...workers], exclude)) log.info(line);
  }
  for (const warning of findAffectedContainerWarnings(plan)) log.warn(warning);
  for (const { service, to, shouldPull: pull } of updates)
    log.info(`image of ${service}: ${to}${pull ? '' : ' (local image, not pulled)'}`);

  for (const to of new Set(floatingTagUpdatesOf(plan).map((update) => update.to))) {
    log.info(`whether ${to} points to ${plan.to} can only be determined after the image is pulled`);
  }
  const references = updates.map(({ to }) => to);
  const images = await findLocalImages(engine, references);
  const absent = updates.filter(({ to }) => !images.has(to));
  const missing = [...new Set(absent.map(({ to }) => to))];
  if (missing.length > 0) {
    log.info(
      `images that are not on this machine yet: ${missing.join(', ')}. Checks that need a missing image are skipped, such as the check for required intermediate releases`,
    );
    if (context.options.proof.archive === null) await requirePublishedImages(engine, absent);
    if (hasChangesFromPulledImages(plan)) return logUpdatePlanResult(log);
  }
  const prepared = await preparePlan(engine, plan, {
    images,
    skipLag: true,
    backup: `${stateDirectoryName}/backup`,
    early,
    log,
  });
  const { changes, settings, laterWarnings, alsoMoved, changedServices, newServices, added } = prepared;
  for (const change of changes) {
    const name = relative(installation.project.directory, change.path);
    const isShipped =
      installation.kind === 'generated' && isGeneratedComposeFile(change.after, installation.product);
    for (const line of formatFileDifference(name, change, installation.files, {
      isShipped,
      hidden: settings,
    }))
      log.info(line);
  }
  if (changes.length === 0) log.info('no files will be changed');
  for (const warning of laterWarnings) log.warn(warning);
  for (const name of alsoMoved)
    log.info(`${name} uses the same pin, so it will be updated when it is next recreated`);
  if (changedServices.length > 0)
    log.info(
      `services that the next docker compose up will recreate, because the update changes their configuration: ${joinWithAnd(changedServices)}`,
    );
  if (added.length > 0)
    log.info(`new services in this release that the update will start first: ${added.join(', ')}`);
  if (newServices.length > 0)
    log.info(`new services in this release that the update will not start: ${newServices.join(', ')}`);
  await logRehearsal(context, stateDirectoryOf(instance.location.mountedAt), prepared);
  await requireNoDataLoss(engine, prepared);
  await runPreflight(context, prepared);
  return logUpdatePlanResult(log);
}

/** Logs the result of a rehearsal of the same plan. */
async function logRehearsal(
  { engine, log, startedAt }: RunContext,
  state: string,
  prepared: PreparedPlan,
): Promise<void> {
  const images = await findLocalImages(engine, prepared.references.values());
  const result = await findRehearsalResult(state, { ...prepared, images }, startedAt);
  if (result === null) return;
  const at = `${result.at.slice(0, 16).replace('T', ' ')} UTC`;
  if (result.isReady) log.info(`rehearsed at ${at}: ${result.message}`);
  else
    log.warn(
      `a rehearsal at ${at} ${result.isReady === null ? 'had no result' : 'failed'}: ${result.message}`,
    );
}

/** @throws UpdateError pull-unknown if a registry does not have an image that the update would pull */
export async function requirePublishedImages(
  engine: Engine,
  absent: readonly ServiceUpdate[],
): Promise<void> {
  const references = [...new Set(absent.flatMap(({ to, shouldPull: pull }) => (pull ? [to] : [])))];
  const answers = references.map(async (reference) => {
    const { repository = '', tag = null, digest = null } = parseImageReference(reference) ?? {};
    return tag === null || digest !== null ? null : engine.findRemoteDigest({ repository, tag });
  });
  const at = (await Promise.all(answers)).indexOf('none');
  if (at >= 0) throw new UpdateError('pull-unknown', `the registry does not have ${references[at]}`);
}

/** Plans `update` without taking the lock. If an update is already running, only logs a warning. */
export async function planUpdateWithoutLock(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): ReturnType<typeof inspectAndPlan> {
  const { engine, log } = context;
  const { mountedAt, name } = instance.location;
  await requireFileModeSupport(mountedAt);
  await requireTrustedStateDirectory(mountedAt);
  const holder = await findRunningLockHolder(engine, mountedAt);
  const pending = await readUnfinishedJournal(stateDirectoryOf(mountedAt));
  // While an update holds the lock, its journal looks like that of an interrupted update.
  if (pending && !holder)
    log.warn(`${formatUnfinishedRunMessage(pending)}; the next update resumes or undoes it first`);
  if (holder)
    log.warn(`an update may be in progress: ${holder.name} has held the lock since ${holder.since}`);
  // Inspecting the data would stop an earlier updater's leftover containers. If that updater is still running, it needs
  // the containers.
  const withoutData = {
    ...context,
    options: { ...context.options, data: { ...context.options.data, restorePoint: false } },
  };
  const found = await listProjectContainersWithCache(engine, name);
  const before = { ...found, earlier: pending };
  const planned = await inspectAndPlan(holder ? withoutData : context, instance, soFar, before);
  await planned.hostCheck;
  return planned;
}
