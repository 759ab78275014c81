import { requireReplaceableFiles } from '../../../core/files/transaction/check-replaceable-files.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { requirePublishedTags } from '../../plan/check-published.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { promptForSettingValues } from '../../run/prompt-for-setting-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import { checkLocalBuilds } from '../checks/check-local-builds.ts';
import { checkDrift } from '../drift/index.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { listFilesToWrite } from '../plan/files/list-files-to-write.ts';
import { logComposeFileReminder, logPlan } from '../plan/log-plan.ts';
import { findMissingImageWarnings } from '../plan/missing-images.ts';
import { requireExistingDependencies } from '../plan/new-services.ts';
import { planUpdate } from '../plan/plan-update.ts';
import type { ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import { planRestorePoint } from '../restore-point/plan-restore-point.ts';
import { findNewSettings } from './find-new-settings.ts';

/**
 * Creates, checks and logs the plan before the pull.
 * @param cachedEngine - view of the engine that has read the installation
 */
export async function createPlanBeforePull(
  context: RunContext,
  instance: FoundInstance,
  cachedEngine: Engine,
  { installation, expected, recalls }: Pick<ProjectUpdatePlan, 'installation' | 'expected' | 'recalls'>,
): Promise<ProjectUpdatePlan> {
  const { options, log } = context;
  const plan: ProjectUpdatePlan = {
    ...planUpdate(installation, options),
    expected,
    recalls,
    given: await promptForSettingValues(context),
    unconfirmed: [],
    point: null,
  };
  findNewSettings(plan);
  requireExistingDependencies(installation);
  await requirePublishedTags(plan, createTagLookup(options.proof.archive === null ? cachedEngine : null));
  const unconfirmed = await checkLocalBuilds({ ...context, engine: cachedEngine }, plan);
  await checkDrift({ engine: cachedEngine, log }, installation, {
    ownId: instance.own.id,
    accepted: options.acceptDrift,
    planned: new Map(plan.updates.map(({ service, to }) => [service, to])),
  });
  const untold = await requireReplaceableFiles(listFilesToWrite(plan), installation.paths);
  logPlan(plan, log);
  logComposeFileReminder(plan, options, log);
  for (const warning of [...untold, ...findMissingImageWarnings(installation)]) log.warn(warning);
  return { ...plan, unconfirmed, point: await planRestorePoint(context, instance, installation) };
}
