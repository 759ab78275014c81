import type { ComposeModel } from '../../engine/cli/compose.ts';
import type { CachedProjectContainers } from '../../engine/containers/project-containers.ts';
import type { Container } from '../../engine/objects/container.ts';
import { listDatabaseHosts } from '../data/selection/find-external-databases.ts';
import { hasTagChange } from '../plan/release-plan.ts';
import { deferRejection } from '../run/defer-rejection.ts';
import { storedRequestOf } from '../run/options/update-options.ts';
import { readExpectedDigests } from '../run/release/expected-digests.ts';
import { readRecalls } from '../run/release/recalls.ts';
import type { RunContext } from '../run/run-context.ts';
import { createInterruptionPredicate } from '../run/state/interruption-predicate.ts';
import {
  initialJournalFields,
  isRunUnfinished,
  Journal,
  type JournalData,
  nextAttemptFieldsOf,
} from '../run/state/journal.ts';
import { containerRecordOf } from '../run/state/rollout.ts';
import { formatRunName } from '../run/state/run-names.ts';
import {
  type MountCheck,
  requireRestartableContainers,
  startMountCheck,
} from './checks/require-restartable-containers.ts';
import { awaitIdleProject } from './concurrent-changes/await-concurrent-compose.ts';
import { type FoundInstance, requireNoUnrelatedContainers } from './inspect/find-project/find-instance.ts';
import { inspectInstallation } from './inspect/inspect-installation.ts';
import { logInstallation } from './inspect/log-installation.ts';
import { ComposeRun } from './loop/compose-run.ts';
import { tryPlanUpdate } from './plan/plan-update.ts';
import type { ProjectUpdatePlan } from './plan/prepared-plan.ts';
import { createPlanBeforePull } from './prepare/create-plan-before-pull.ts';
import { requestPlannedModel } from './prepare/prepare-plan.ts';
import { BackgroundPull } from './pull/background-pull.ts';
import { readTagsBeforePull } from './pull/local-tags.ts';
import { requireSpaceToPull } from './pull/require-space-to-pull.ts';
import {
  type LockedInstance,
  type ProjectRunState,
  projectOutcomeFactsOf,
} from './recovery/project-run-state.ts';

/**
 * Inspects the project, plans the update, and creates the run's journal.
 * @param previous - the journal of the previous run, which has already been recovered; null if there was none
 */
export async function beginUpdate(
  context: RunContext,
  { instance, lock }: LockedInstance,
  soFar: ProjectRunState,
  previous: JournalData | null,
): Promise<ComposeRun> {
  const found = await awaitIdleProject(context, instance.location.name, previous);
  const backgroundPull = new BackgroundPull(context);
  try {
    const before = { ...found, earlier: previous, backgroundPull };
    const {
      plan,
      plannedModel: early,
      hostCheck: checked,
    } = await inspectAndPlan(context, instance, soFar, before);
    if (plan.point !== null && instance.own.restartPolicy === 'no')
      context.log.warn(
        "the updater's container has no restart policy: if the updater crashes after stopping services, they stay stopped until the next run. Start the updater with --restart on-failure:3 and without --rm",
      );
    // Without a tag change, the `pull` step decides later whether to wait for the host check.
    if (plan.updates.some(hasTagChange)) await checked;
    const journal = await beginJournal(context, { instance, lock }, plan, before);
    soFar.journal = journal;
    const preparation = {
      plan,
      earlyModel: early,
      checked,
      backgroundPull,
      earlier: previous,
      debris: found.debris,
    };
    return new ComposeRun(context, journal, { preparation, facts: () => projectOutcomeFactsOf(soFar) });
  } catch (error) {
    await backgroundPull.cancel();
    throw error;
  }
}

/** Input of planning: the project's containers, the previous run's journal, and the background pull. */
interface PlanningInput extends CachedProjectContainers {
  earlier: JournalData | null;
  backgroundPull?: BackgroundPull;
}

/**
 * Runs the `inspect` and `plan` phases, the only ones of the `plan` command. Await the host check `hostCheck` before
 * stopping the first container.
 */
export async function inspectAndPlan(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
  { containers, leftovers, cachedEngine, earlier: previous, backgroundPull }: PlanningInput,
): Promise<{
  plan: ProjectUpdatePlan;
  plannedModel: Promise<ComposeModel | null>;
  hostCheck: Promise<void>;
}> {
  requireNoUnrelatedContainers(containers, instance, context.options, previous);
  const expected = await readExpectedDigests(context.options, instance.platform);
  const recalls = await readRecalls(context);
  let fits = Promise.resolve();
  let earlyCheck: MountCheck | null = null;
  let checked = Promise.resolve();
  let plannedModel: Promise<ComposeModel | null> = Promise.resolve(null);
  try {
    const installation = await inspectInstallation(context, instance, {
      containers,
      cachedEngine,
      wasInterrupted: createInterruptionPredicate(previous, leftovers),
      onGuess: (replaced) => {
        // With a restore point, more containers are stopped.
        if (!context.options.data.restorePoint)
          earlyCheck = startMountCheck(context, instance, cachedEngine, replaced);
      },
      onRead: (read, dryRun) => {
        const planned = tryPlanUpdate(read, context.options);
        const updates = planned?.updates ?? [];
        if (planned !== null) plannedModel = deferRejection(requestPlannedModel(planned));
        fits = deferRejection(
          requireSpaceToPull({ ...context, engine: cachedEngine }, read, updates, expected),
        );
        backgroundPull?.begin(read, updates, fits);
        const input = { project: read, cachedEngine, dryRun, earlyCheck };
        checked = deferRejection(requireRestartableContainers(context, instance, input));
      },
    });
    soFar.installation = installation;
    context.log.addMaskRules(() => ({ hosts: listDatabaseHosts(installation.containers) }));
    logInstallation(installation, context.log);
    context.log.enterPhase('plan');
    const known = { installation, expected, recalls };
    const plan = await createPlanBeforePull(context, instance, cachedEngine, known);
    await fits;
    return { plan, plannedModel, hostCheck: checked };
  } catch (error) {
    // Otherwise, a helper container of the host check could be created after this run has removed its helper containers.
    await Promise.allSettled([checked, (earlyCheck as MountCheck | null)?.refusals]);
    throw error;
  }
}

async function beginJournal(
  { engine, options, startedAt }: RunContext,
  { instance: { own }, lock }: LockedInstance,
  { installation, updates, from }: ProjectUpdatePlan,
  before: { earlier: JournalData | null; leftovers: readonly Container[]; backgroundPull: BackgroundPull },
): Promise<Journal> {
  const { earlier: previous, leftovers, backgroundPull } = before;
  const interrupted = createInterruptionPredicate(previous, leftovers);
  const isNew = await backgroundPull.references();
  const isAgain = previous !== null && isRunUnfinished(previous) && previous.containerId === own.id;
  const journal = new Journal(lock, {
    ...initialJournalFields,
    run: formatRunName(startedAt),
    containerId: own.id,
    ...(isAgain ? nextAttemptFieldsOf(previous) : { attempt: 1 }),
    project: installation.project,
    ...storedRequestOf(options),
    from,
    tags: await readTagsBeforePull(
      engine,
      updates.flatMap(({ to }) => (isNew.has(to) ? [] : [to])),
    ),
    containers: installation.containers.map((container) => containerRecordOf(container, interrupted)),
  });
  await journal.write();
  return journal;
}
