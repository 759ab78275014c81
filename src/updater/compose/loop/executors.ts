import { UpdateError } from '../../../core/errors/update-error.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { RetryableError } from '../../run/run-steps.ts';
import { isTargetReached } from '../../run/state/rollout.ts';
import { requireSameContainers } from '../concurrent-changes/require-same-containers.ts';
import { createDataContext, writeRestorePointState } from '../data-services/stop-data-services.ts';
import { hasNothingToUpdate } from '../finish/finish-unchanged.ts';
import { findUnusedOldImages } from '../finish/finish-updated.ts';
import { ContainerStartTimes } from '../health/health-evaluator.ts';
import { replacedServicesOf } from '../inspect/installation.ts';
import { formatRunningVersion } from '../inspect/log-installation.ts';
import { planRollout } from '../plan/plan-rollout.ts';
import { newVersionNameOf } from '../plan/version-sentences.ts';
import { runPullPhase } from '../pull/run-pull-phase.ts';
import { replaceService } from '../replace/replace-service.ts';
import { runServiceToCompletion } from '../replace/run-service-to-completion.ts';
import {
  formatContainerNames,
  removeLeftoverContainers,
  renameContainers,
  stopAndRemoveContainers,
  stopContainers,
} from '../replace/stop-containers.ts';
import { findStoppingContainers, type RestoreStep } from '../rollback/list-restore-steps.ts';
import { removeUnusedRestorePoint } from '../rollback/remove-unused-restore-point.ts';
import { restoreStepExecutors } from '../rollback/restore-containers.ts';
import {
  restartDataServices,
  restoreData,
  rethrowJournalWriteError,
  stopCoveredServices,
} from '../rollback/restore-data.ts';
import { restoreFilesAndTags } from '../rollback/restore-files-and-tags.ts';
import { saveDataWhileRunning, saveDataWhileStopped } from '../save/save-data.ts';
import { awaitUpdatedServices } from '../verify/await-services.ts';
import { verifyReplacement } from '../verify/verify-replacement.ts';
import type { ComposeStepContext } from './compose-step-context.ts';
import { logReplacement } from './log-replacement.ts';
import type { ComposeRunView, ComposeStep, ComposeStepKind, ComposeStepOfKind } from './next-step.ts';
import { runWritePhase } from './run-write-phase.ts';

type RunStepKind = Exclude<ComposeStepKind, RestoreStep['kind']>;
type Executors = {
  [K in RunStepKind]: (
    step: ComposeStepOfKind<K>,
    work: ComposeStepContext,
    view: ComposeRunView,
  ) => Promise<void>;
};

/** Maximum number of starts of the new version during a restore before the rollback fails. */
const maxNewVersionStarts = 3;

const executors: Executors = {
  pull: async (_, { context, journal, preparation }) => {
    const pulling = runPullPhase(context, preparation.plan, { ...preparation, journal });
    preparation.prepared = await pulling.catch(async (error) => {
      await preparation.backgroundPull.cancel();
      throw error;
    });
    // If there is nothing to update, no container is stopped, so the host check is not awaited.
    if (hasNothingToUpdate(preparation.prepared)) return;
    await preparation.checked;
    context.notifier.announceRun(
      formatRunningVersion(preparation.plan.installation),
      newVersionNameOf(preparation.prepared),
    );
  },
  'copy-warm': async (_, { context, preparation: { plan } }) => {
    if (plan.point !== null) await saveDataWhileRunning(context, plan.point);
  },
  'record-containers': async (_, work) => {
    const { context, preparation } = work;
    const { installation } = preparation.plan;
    const replaced = replacedServicesOf(installation);
    const same = await requireSameContainers(context, installation.project.name, replaced, preparation);
    preparation.changeover = planRollout(work.prepared(), same.containers);
    preparation.look = same.observation;
  },
  'copy-cold': async (_, work) => {
    const { context, preparation } = work;
    const { point, installation } = preparation.plan;
    const rollout = work.plannedRollout();
    preparation.saved =
      point && (await saveDataWhileStopped(context, { point, changeover: rollout, installation }));
  },
  write: async (_, work) => {
    const { context, journal, preparation } = work;
    const { saved = null, look, earlier: previous } = preparation;
    const rollout = work.plannedRollout();
    await runWritePhase(context, work.prepared(), { changeover: rollout, saved });
    saved?.endWatch();
    // If another version was started during the save, the journal no longer contains the restore point.
    work.record = journal.data.point ? (saved?.record ?? null) : null;
    if (look && previous?.started && isTargetReached(rollout, look.found.containers))
      await journal.tryWrite({ started: true });
    context.cancellation.disable();
    if (look) await work.recordContainers(look, null);
  },
  announce: async (_, work) => {
    work.beginReplacing();
    logReplacement(work.replacement());
  },
  'remove-leftovers': ({ containers }, { lasting }) => removeLeftoverContainers(lasting, containers),
  'give-name': ({ containers }, { lasting }) => renameContainers(lasting, containers),
  stop: ({ containers }, { lasting }) => stopContainers(lasting, containers),
  'stop-again': ({ containers }, { lasting }) => stopContainers(lasting, containers),
  'remove-old': async ({ service, containers }, { lasting }) => {
    await stopAndRemoveContainers(lasting, containers);
    lasting.log.info(
      `removed ${formatContainerNames(containers)}, because the release no longer has the service ${service}`,
    );
  },
  'await-healthy': async ({ service: name, dependent }, work) => {
    const replacement = work.replacement();
    replacement.log.info(`waiting for ${name}, which ${dependent} depends on`);
    // Wait for the service, not a container id: a concurrent compose command may replace the container.
    const moved = replacement.changeover.moved.filter((each) => each.name === name);
    const rollout = { ...replacement.changeover, moved };
    await awaitUpdatedServices(
      { ...replacement, changeover: rollout, starts: new ContainerStartTimes() },
      name,
    );
  },
  up: upOnce,
  'run-once': (step, work, view) =>
    runServiceToCompletion(step, work.replacement(), () =>
      upOnce({ ...step, kind: 'up', start: true, force: false }, work, view),
    ),
  verify: async (_, work, { now }) => {
    const { lasting, record } = work;
    // Hash the restore point only now, because earlier hashing would have extended the downtime.
    record?.startHashing(await createDataContext(lasting));
    // Finds unused old images now, because the engine has little to do while the new version starts.
    work.freed = deferRejection(findUnusedOldImages(lasting.engine, work.changeover()));
    const verified = await verifyReplacement(work.replacement(), now);
    if (verified !== null) await work.recordContainers(verified, null);
  },

  'restore-data': (_, { lasting, startsWhileRestoring }) =>
    restoreData(lasting, startsWhileRestoring).catch(rethrowJournalWriteError),
  'restore-files': (_, work) => restoreFilesAndTags(work.lasting, work.previousTexts()),
  'restore-again': async (_, work) => {
    const { lasting, journal } = work;
    // If the run is interrupted after this line, the state `saved` makes the next run restore the data again.
    await writeRestorePointState(journal, { state: 'saved' }).catch(rethrowJournalWriteError);
    work.restoreAgain([]);
    work.newVersionStarts += 1;
    if (work.newVersionStarts < maxNewVersionStarts) {
      lasting.log.warn(
        'the new version was started while the old version was being restored; restoring again',
      );
      return;
    }
    await stopCoveredServices(lasting);
    throw new UpdateError(
      'data-not-restored',
      'the new version was started repeatedly while the old version was being restored',
    );
  },
  'start-data-services': (_, work) => restartDataServices(work.lasting),
  // The engine reports a container as running until it exits. A second stop request returns once the first stop is
  // complete, so it is used to wait.
  'end-stops': async (_, work, { now }) => {
    work.beginRestoring(now);
    const outcome = findStoppingContainers(work.changeover(), now, work.pendingStops());
    await stopContainers(work.lasting, outcome, { words: ' (stop already requested)' });
  },
  'restore-removed': async ({ names, failure }, work) => {
    work.restoreAgain(['restore-files', 'start-data-services', 'end-stops']);
    const sentence = `another process removed ${joinWithAnd(names)} during the rollback; trying again`;
    throw new RetryableError('removed', failure, { sentence });
  },
  'leave-new-version': async (_, work) => {
    const { from } = work.journal.data;
    work.lasting.log.warn(
      `another version was started in the meantime, so ${from} will not be started again`,
    );
  },
  'end-restore-point': (_, { lasting, isOvertaken }) => removeUnusedRestorePoint(lasting, isOvertaken),
};

async function upOnce(
  step: ComposeStepOfKind<'up'>,
  work: ComposeStepContext,
  { now }: ComposeRunView,
): Promise<void> {
  const look = () => work.listContainersAfterUp(now);
  await replaceService(step, work.replacement(), {
    before: now.containers,
    look,
    tried: work.upAttemptsOf(step.service),
  });
}

export const composeStepKinds = [
  ...Object.keys(executors),
  ...Object.keys(restoreStepExecutors),
] as readonly ComposeStepKind[];

/** Whether the other services are still restored if this step fails for one service. */
export const isRestoreStep = (step: ComposeStep): step is RestoreStep => step.kind in restoreStepExecutors;

export function executeStep(
  step: ComposeStep,
  work: ComposeStepContext,
  view: ComposeRunView,
): Promise<unknown> {
  if (isRestoreStep(step)) {
    const execute = restoreStepExecutors[step.kind] as (step: RestoreStep, work: unknown) => Promise<unknown>;
    return execute(step, work.restoreContext());
  }
  const execute = executors[step.kind] as (
    step: ComposeStep,
    work: ComposeStepContext,
    view: ComposeRunView,
  ) => Promise<void>;
  return execute(step, work, view);
}
