import { Cancelled } from '../../core/progress/stops.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { and } from '../run/log/wording.ts';
import { startEarly } from '../run/start-early.ts';
import { isThereAlready } from '../run/state/changeover.ts';
import type { ComposeRun } from './compose-run.ts';
import { replacedServices } from './inspect/installation.ts';
import type { ComposeStep, ComposeView, StepKind, StepOf } from './next-step.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import { pullAndPrepare } from './pull/pull-and-prepare.ts';
import { announce } from './replace/announce.ts';
import { awaitServices } from './replace/await-services.ts';
import { bringUp } from './replace/bring-up.ts';
import { giveNames, removeLeftovers, stopAll } from './replace/containers.ts';
import { dataDoors, writePointState } from './replace/data-services.ts';
import { freeable } from './replace/end-updated.ts';
import { StartTimes } from './replace/health.ts';
import { endRestorePoint } from './replace/rollback/end-restore-point.ts';
import { restoreExecutors } from './replace/rollback/restore-containers.ts';
import { restoreData, standStill, startDataAgain } from './replace/rollback/restore-data.ts';
import { restoreFilesAndTags } from './replace/rollback/restore-files-and-tags.ts';
import { mayBeStopping, type RestoreStep } from './replace/rollback/restore-steps.ts';
import { runOnce } from './replace/run-once.ts';
import { sameContainers } from './replace/same-containers.ts';
import { saveCold, saveWarm } from './replace/save.ts';
import { verify } from './replace/verify.ts';
import { isUnchanged } from './unchanged.ts';
import { writeUpdate } from './write-update.ts';

type RunStepKind = Exclude<StepKind, RestoreStep['kind']>;
type Executors = {
  [K in RunStepKind]: (step: StepOf<K>, run: ComposeRun, view: ComposeView) => Promise<void>;
};

/** How often a new version that is started during a restore is removed. */
const rounds = 3;

const executors: Executors = {
  pull: async (_, { context, journal, preparation: begun }) => {
    const pulling = pullAndPrepare(context, begun.plan, { ...begun, journal });
    begun.prepared = await pulling.catch(async (error) => {
      await begun.begun.end();
      throw error;
    });
    // A run that may have nothing to do stops nothing.
    if (!isUnchanged(begun.prepared)) await begun.checked;
  },
  'copy-warm': async (_, { context, journal, preparation: { plan } }) => {
    if (plan.point !== null) await saveWarm(context, journal, plan.point);
  },
  'record-containers': async (_, run) => {
    const { context, preparation: begun } = run;
    const { installation } = begun.plan;
    const replaced = replacedServices(installation);
    const same = await sameContainers(context, installation.project.name, replaced, begun);
    begun.changeover = planChangeover(run.prepared(), same.containers);
    begun.look = same.look;
  },
  'copy-cold': async (_, run) => {
    const { context, journal, preparation: begun } = run;
    const { point, installation } = begun.plan;
    const changeover = run.planned();
    begun.saved = point && (await saveCold(context, journal, { point, changeover, installation }));
  },
  write: async (_, run) => {
    const { context, journal, preparation: begun } = run;
    const { saved = null, look, earlier } = begun;
    const changeover = run.planned();
    await writeUpdate(context, journal, run.prepared(), { changeover, saved });
    saved?.endWatch();
    // Without its restore point if another version was started in the meantime.
    run.record = journal.data.point ? (saved?.record ?? null) : null;
    if (look && earlier?.started && isThereAlready(changeover, look.found.containers))
      await journal.note({ started: true });
    if (context.cancellation.signal.aborted) throw new Cancelled();
    context.cancellation.tooLate();
    if (look) await run.saw(look, null);
  },
  announce: async (_, run) => {
    run.beginReplacing();
    announce(run.replacement());
  },
  'remove-leftovers': ({ containers }, { lasting }) => removeLeftovers(lasting, containers),
  'give-name': ({ containers }, { lasting }) => giveNames(lasting, containers),
  stop: ({ containers }, { lasting }) => stopAll(lasting, containers),
  'stop-again': ({ containers }, { lasting }) => stopAll(lasting, containers),
  'await-healthy': async ({ service: name, dependent }, run) => {
    const work = run.replacement();
    work.log.info(`waiting for ${name}, which ${dependent} depends on`);
    // It is waited for by its service and not by its id: another call may replace the container meanwhile.
    const moved = work.changeover.moved.filter((each) => each.name === name);
    const changeover = { ...work.changeover, moved };
    await awaitServices({ ...work, changeover, starts: new StartTimes() }, name);
  },
  up: (step, run, view) => upOnce(step, run, view),
  'run-once': (step, run, view) =>
    runOnce(step, run.replacement(), () =>
      upOnce({ ...step, kind: 'up', start: true, force: false }, run, view),
    ),
  verify: async (_, run, { now }) => {
    const { lasting, journal, record } = run;
    // They are read beside the new version's start, and not while nothing answers.
    record?.hash(await dataDoors(lasting, journal));
    // The old image is no longer needed, and the engine has time while the new version starts.
    run.freed = startEarly(freeable(lasting.engine, run.changeover()));
    await verify(run.replacement(), now);
  },

  'restore-data': (_, { lasting, journal, startsWhileRestoring }) =>
    restoreData(lasting, journal, startsWhileRestoring),
  'restore-files': (_, run) => restoreFilesAndTags(run.lasting, run.journal, run.oldTexts()),
  'restore-again': async (_, run) => {
    const { lasting, journal } = run;
    // If this run ends here, the next one restores the data again.
    await writePointState(journal, { state: 'saved' });
    if (run.restoreAgain('rounds') < rounds) {
      lasting.log.warn(
        'the new version was started while the old version was being restored; restoring again',
      );
      return;
    }
    await standStill(lasting, journal);
    throw new UpdateError(
      'data-not-restored',
      'the new version was started repeatedly while the old version was being restored',
    );
  },
  'start-data-services': (_, run) => startDataAgain(run.lasting, run.journal, run.changeover()),
  // What is being stopped would end after it was found running: a second stop ends with the first one.
  'end-stops': async (_, run, { now }) => {
    run.beginRestoring(now);
    const ending = mayBeStopping(run.changeover(), now, run.stopsUnderWay());
    await stopAll(run.lasting, ending, ' (already requested)');
  },
  'restore-removed': async ({ names }, run) => {
    run.lasting.log.warn(`another process removed ${and(names)} during the rollback; trying again`);
    run.restoreAgain('removals');
  },
  'end-restore-point': async ({ isOvertaken }, run) => {
    const { from } = run.journal.data;
    run.isOvertaken = isOvertaken;
    if (isOvertaken)
      run.lasting.log.warn(
        `another version was started in the meantime, so ${from} will not be started again`,
      );
    await endRestorePoint(run.lasting, run.journal, isOvertaken);
  },
};

async function upOnce(step: StepOf<'up'>, run: ComposeRun, { now }: ComposeView): Promise<void> {
  const look = () => run.lookAfterUp(now);
  await bringUp(step, run.replacement(), { before: now.containers, look, tried: run.triesOf(step.service) });
}

export const stepKinds = [...Object.keys(executors), ...Object.keys(restoreExecutors)] as readonly StepKind[];

const isRestoreStep = (step: ComposeStep): step is RestoreStep => step.kind in restoreExecutors;

/** Every kind of step has its executor in one of the two tables. */
export function executeStep(step: ComposeStep, run: ComposeRun, view: ComposeView): Promise<unknown> {
  if (isRestoreStep(step)) {
    const execute = restoreExecutors[step.kind] as (step: RestoreStep, work: unknown) => Promise<unknown>;
    return execute(step, run.restoreWork());
  }
  const execute = executors[step.kind] as (
    step: ComposeStep,
    run: ComposeRun,
    view: ComposeView,
  ) => Promise<void>;
  return execute(step, run, view);
}
