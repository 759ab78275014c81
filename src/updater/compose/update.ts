import type { ProjectContainers } from '../../engine/api/project-containers.ts';
import type { Model } from '../../engine/cli/compose.ts';
import type { Container } from '../../engine/container.ts';
import { expectationsOf } from '../run/expectations.ts';
import { type Ending, repeatEnding } from '../run/log/ending.ts';
import { recallsOf } from '../run/recalls.ts';
import type { RunContext } from '../run/run-context.ts';
import { startEarly } from '../run/start-early.ts';
import { type Changeover, isThereAlready } from '../run/state/changeover.ts';
import type { Journal, JournalData } from '../run/state/journal.ts';
import { takeLock } from '../run/state/lock.ts';
import { wasInterrupted } from '../run/state/was-interrupted.ts';
import { checkHost } from './facts/check-host.ts';
import { makePlan } from './facts/make-plan.ts';
import { describeInstallation } from './inspect/describe.ts';
import { type FoundInstance, refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { replacedServices } from './inspect/installation.ts';
import type { Plan, PreparedPlan } from './plan/plan.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import { EarlyPull } from './pull/early-pull.ts';
import { pullAndPrepare } from './pull/pull-and-prepare.ts';
import { awaitQuiet } from './replace/await-others.ts';
import { dataDoors } from './replace/data-services.ts';
import { endUpdated, freeable } from './replace/end-updated.ts';
import { announce, recreate } from './replace/recreate.ts';
import { replacementOf } from './replace/replacement.ts';
import {
  type BesideJournal,
  type OldTexts,
  replacing,
  undoBeforeRecreate,
} from './replace/rollback/roll-back.ts';
import { type ContainersSeen, sameContainers } from './replace/same-containers.ts';
import { saveCold, saveWarm } from './replace/save.ts';
import { verify } from './replace/verify.ts';
import { beginJournal } from './resume/begin-journal.ts';
import { endingFacts, type Locked, type RunSoFar } from './resume/run-so-far.ts';
import { settleEarlier } from './resume/settle-earlier.ts';
import { endUnchanged, isUnchanged } from './unchanged.ts';
import { oldTexts, writeUpdate } from './write-update.ts';

/** The story of a run. */
export async function update(context: RunContext, instance: FoundInstance, soFar: RunSoFar): Promise<Ending> {
  const lock = await takeLock(context, instance.own, instance.place.mountedAt);
  soFar.lock = lock;
  const earlier = await settleEarlier(context, { instance, lock }, soFar);
  if (earlier.kind === 'finished') return repeatEnding(earlier.ending, context.log);
  if (earlier.kind === 'resume') return replace(context, earlier);
  return fromTheBeginning(context, { instance, lock }, soFar, earlier.data);
}

/** A run phase by phase, as its log names them. `earlier` is the journal of the run before, which is settled. */
async function fromTheBeginning(
  context: RunContext,
  { instance, lock }: Locked,
  soFar: RunSoFar,
  earlier: JournalData | null,
): Promise<Ending> {
  const found = await awaitQuiet(context, instance.place.name, earlier);
  const begun = new EarlyPull(context);
  const endPull = async (error: unknown): Promise<never> => {
    await begun.end();
    throw error;
  };
  const before = { ...found, earlier, begun };
  const { plan, early, checked } = await planRun(context, instance, soFar, before).catch(endPull);
  if (plan.point !== null && instance.own.restartPolicy === 'no')
    context.log.warn(
      "the updater's container has no restart policy: if the updater crashes while services are stopped, the services stay stopped until the next run. Start the updater with --restart on-failure:3 and without --rm",
    );
  // A run that may have nothing to do stops nothing.
  if (plan.moves.some(({ pin, tag }) => tag !== pin.tag.text)) await checked.catch(endPull);
  const journal = await beginJournal(context, { instance, lock }, plan, before).catch(endPull);
  soFar.journal = journal;
  const undo = (texts?: OldTexts) => (error: unknown) =>
    undoBeforeRecreate(context, journal, error, { facts: endingFacts(soFar), texts });
  const pulling = pullAndPrepare(context, plan, { early, journal, begun });
  const prepared = await pulling.catch(endPull).catch(undo());
  // Containers that run already and are not well are no reason to put anything back.
  if (isUnchanged(prepared)) return endUnchanged(context, journal, prepared);
  const texts = oldTexts(prepared);
  await checked.catch(undo(texts));
  const saving = saveAndWrite(context, journal, prepared, { ...found, earlier });
  const { changeover, look, saved } = await saving.catch(undo(texts));
  // Without its restore point if another version was started in the meantime.
  const record = journal.data.point ? (saved?.record ?? null) : null;
  return replace(context, { journal, changeover }, { look, texts, record });
}

/** The phases save (only with a restore point) and write. `before` is what was found at the beginning. */
async function saveAndWrite(
  context: RunContext,
  journal: Journal,
  plan: PreparedPlan,
  before: { earlier: JournalData | null; debris: readonly Container[] },
) {
  const { point, installation } = plan;
  if (point !== null) await saveWarm(context, journal, point);
  const replaced = replacedServices(installation);
  const { containers, look } = await sameContainers(context, installation.project.name, replaced, before);
  const changeover = planChangeover(plan, containers);
  const saved = point && (await saveCold(context, journal, { point, changeover, installation }));
  try {
    await writeUpdate(context, journal, plan, { changeover, saved });
    if (before.earlier?.started && isThereAlready(changeover, look.found.containers)) {
      await journal.note({ started: true });
    }
    return { changeover, look, saved };
  } finally {
    saved?.endWatch();
  }
}

/** What there is before anything is planned, and the pull that may begin during the planning. */
interface LookBefore extends ProjectContainers {
  earlier: JournalData | null;
  begun?: EarlyPull;
}

/**
 * The phases `inspect` and `plan`, which the command `plan` ends with. `checked` is the check of the host, which must succeed
 * before the first container is stopped.
 */
export async function planRun(
  context: RunContext,
  instance: FoundInstance,
  soFar: RunSoFar,
  { containers, leftovers, earlier, begun }: LookBefore,
): Promise<{ plan: Plan; early: Promise<Model | null>; checked: Promise<void> }> {
  refuseForeignContainers(containers, instance, context.options, earlier);
  const expected = await expectationsOf(context.options, instance.platform);
  const recalls = await recallsOf(context);
  const installation = await inspectInstallation(context, instance, {
    containers,
    wasInterrupted: wasInterrupted(earlier, leftovers),
    onRead: (read) => begun?.begin(read),
  });
  soFar.installation = installation;
  describeInstallation(installation, context.log);
  const checked = startEarly(checkHost(context, instance, installation));
  context.log.enter('plan');
  const { plan, early } = await makePlan(context, instance, { installation, expected, recalls });
  return { plan, early, checked };
}

/**
 * The phases `recreate`, `verify` and `done`. All that they need is in the journal, for a run that resumes after a kill.
 * @param beside what this process has besides: `look` is the last one at the project
 */
function replace(
  context: RunContext,
  { journal, changeover }: { journal: Journal; changeover: Changeover },
  { look, ...beside }: BesideJournal & { look?: ContainersSeen } = {},
): Promise<Ending> {
  const { record = null } = beside;
  const work = replacementOf(context, journal, changeover);
  return replacing(work, beside, async () => {
    announce(work);
    const seen = await recreate(work, look);
    // They are read beside the new version's start, and not while nothing answers.
    record?.hash(await dataDoors(context, journal));
    // The old image is no longer needed, and the engine has time while the new version starts.
    const freed = startEarly(freeable(work.engine, changeover));
    await verify(work, seen);
    return endUpdated(work, freed, record);
  });
}
