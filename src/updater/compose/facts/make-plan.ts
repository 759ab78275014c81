import { checkReplaceableFiles } from '../../../core/files/check-targets.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { checkPublished } from '../../plan/check-published.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { promptValues } from '../../run/ask-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import { startEarly } from '../../run/start-early.ts';
import { checkDrift } from '../drift/index.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { listCandidateFiles } from '../plan/candidate-files.ts';
import { describePlan, logComposeFileReminder } from '../plan/describe.ts';
import { findMissingImages } from '../plan/gone-images.ts';
import { requireExistingDependencies } from '../plan/new-services.ts';
import type { Plan } from '../plan/plan.ts';
import { planUpdate } from '../plan/plan-update.ts';
import { findNewSettings } from './new-settings.ts';
import { checkLocalBuilds } from './own-builds.ts';
import { planRestorePoint } from './plan-point.ts';
import { readModelEarly } from './prepare-files.ts';

/**
 * Creates, checks and logs the plan before the pull. `early` is compose's model of the new files, which compose
 * computes during the checks.
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
