import { checkTargets } from '../../../core/files/check-targets.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import { checkPublished } from '../../plan/check-published.ts';
import { tagLookup } from '../../plan/tag-lookup.ts';
import { askValues } from '../../run/ask-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import { startEarly } from '../../run/start-early.ts';
import { checkDrift } from '../drift/index.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { candidateFiles } from '../plan/candidate-files.ts';
import { describePlan, recallFiles } from '../plan/describe.ts';
import { goneImages } from '../plan/gone-images.ts';
import { refuseMissing } from '../plan/new-services.ts';
import type { Plan } from '../plan/plan.ts';
import { planUpdate } from '../plan/plan-update.ts';
import { newSettings } from './new-settings.ts';
import { checkOwnBuilds } from './own-builds.ts';
import { planPoint } from './plan-point.ts';
import { askModelEarly } from './prepare-files.ts';

/**
 * Creates, checks and logs the plan before the pull. `early` is compose's model of the new files, which compose
 * computes in the meantime.
 */
export async function makePlan(
  context: RunContext,
  instance: FoundInstance,
  { installation, expected, recalls }: Pick<Plan, 'installation' | 'expected' | 'recalls'>,
): Promise<{ plan: Plan; early: Promise<Model | null> }> {
  const { engine, options, log } = context;
  const plan: Plan = {
    ...planUpdate(installation, options),
    expected,
    recalls,
    given: await askValues(context),
    unconfirmed: [],
    point: null,
  };
  newSettings(plan);
  refuseMissing(installation);
  const early = startEarly(askModelEarly(plan));
  await checkPublished(plan, tagLookup(options.proof.archive === null ? engine : null));
  const unconfirmed = await checkOwnBuilds(context, plan);
  await checkDrift(context, installation, {
    ownId: instance.own.id,
    accepted: options.acceptDrift,
    planned: new Map(plan.updates.map(({ service, to }) => [service, to])),
  });
  const untold = await checkTargets(candidateFiles(plan), installation.paths);
  describePlan(plan, log);
  recallFiles(plan, options, log);
  for (const warning of [...untold, ...goneImages(installation)]) log.warn(warning);
  return { plan: { ...plan, unconfirmed, point: await planPoint(context, instance, installation) }, early };
}
