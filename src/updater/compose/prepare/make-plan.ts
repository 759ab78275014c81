import { checkReplaceableFiles } from '../../../core/files/transaction/check-replaceable-files.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { checkPublished } from '../../plan/check-published.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { promptValues } from '../../run/prompt-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import { startEarly } from '../../run/start-early.ts';
import { checkLocalBuilds } from '../checks/check-local-builds.ts';
import { checkDrift } from '../drift/index.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { describePlan, logComposeFileReminder } from '../plan/describe-plan.ts';
import { listCandidateFiles } from '../plan/files/candidate-files.ts';
import { findMissingImages } from '../plan/missing-images.ts';
import { requireExistingDependencies } from '../plan/new-services.ts';
import { planUpdate } from '../plan/plan-update.ts';
import type { Plan } from '../plan/prepared-plan.ts';
import { planRestorePoint } from '../restore-point/plan-restore-point.ts';
import { findNewSettings } from './find-new-settings.ts';
import { readModelEarly } from './prepare-files.ts';

/**
 * Creates, checks and logs the plan before the pull. `early` is compose's model of the new files, requested in parallel
 * with the checks.
 */
export async function makePlan(
  context: RunContext,
  instance: FoundInstance,
  { installation, expected, recalls }: Pick<Plan, 'installation' | 'expected' | 'recalls'>,
): Promise<{ plan: Plan; early: Promise<ComposeModel | null> }> {
  const { engine, options, log } = context;
  const plan: Plan = {
    ...planUpdate(installation, options),
    expected,
    recalls,
    given: await promptValues(context),
    unconfirmed: [],
    point: null,
  };
  findNewSettings(plan);
  requireExistingDependencies(installation);
  const early = startEarly(readModelEarly(plan));
  await checkPublished(plan, createTagLookup(options.proof.archive === null ? engine : null));
  const unconfirmed = await checkLocalBuilds(context, plan);
  await checkDrift(context, installation, {
    ownId: instance.own.id,
    accepted: options.acceptDrift,
    planned: new Map(plan.updates.map(({ service, to }) => [service, to])),
  });
  const untold = await checkReplaceableFiles(listCandidateFiles(plan), installation.paths);
  describePlan(plan, log);
  logComposeFileReminder(plan, options, log);
  for (const warning of [...untold, ...findMissingImages(installation)]) log.warn(warning);
  return {
    plan: { ...plan, unconfirmed, point: await planRestorePoint(context, instance, installation) },
    early,
  };
}
