import { checkTargets } from '../../../core/files/check-targets.ts';
import type { RunContext } from '../../run/run-context.ts';
import { startEarly } from '../../run/start-early.ts';
import { checkDrift } from '../drift/index.ts';
import { type Installation, replacedServices } from '../inspect/installation.ts';
import { candidateFiles } from '../plan/candidate-files.ts';
import { checkPublished } from '../plan/check-published.ts';
import { describePlan, recallFiles } from '../plan/describe.ts';
import { goneImages } from '../plan/gone-images.ts';
import { movesOf, planUpdate, type UpdatePlan } from '../plan/plan-update.ts';
import { askRegistry } from './ask-registry.ts';
import { askModelEarly, type EarlyDraft } from './prepare-files.ts';

/** The first half of the plan, and the request to compose for the second half. */
export interface Planned {
  plan: UpdatePlan;
  early: Promise<EarlyDraft | null>;
}

/**
 * Makes, checks and logs the first half of the plan, before the pull. `ownId` is the ID of the updater's own container.
 * Refusals: those of planUpdate and of each check.
 */
export async function makePlan(
  context: RunContext,
  installation: Installation,
  ownId: string,
): Promise<Planned> {
  const { engine, options, log } = context;
  const plan = planUpdate(installation, options.target);
  const early = startEarly(askModelEarly(installation, plan));
  await askRegistry(options.proof.archive === null ? engine : null, (published) =>
    checkPublished(plan, published),
  );
  const planned = new Map(movesOf(plan).map(({ service, to }) => [service, to]));
  await checkDrift(
    context,
    { ...installation, services: replacedServices(installation) },
    { ownId, accepted: options.acceptDrift, planned },
  );
  const untold = await checkTargets(candidateFiles(installation, plan), installation.paths);
  describePlan(installation, plan, log);
  recallFiles(installation, plan, options, log);
  for (const warning of [...untold, ...goneImages(installation)]) log.warn(warning);
  return { plan, early };
}
