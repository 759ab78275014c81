import type { ProjectContainers } from '../../engine/api/project-containers.ts';
import { expectationsOf } from '../run/expectations.ts';
import { type Ending, repeatEnding } from '../run/log/ending.ts';
import type { RunContext } from '../run/run-context.ts';
import { startEarly } from '../run/start-early.ts';
import type { Journal, JournalData } from '../run/state/journal.ts';
import { takeLock } from '../run/state/lock.ts';
import { wasInterrupted } from '../run/state/was-interrupted.ts';
import { checkHost } from './facts/check-host.ts';
import { makePlan, type Planned } from './facts/make-plan.ts';
import { planPoint } from './facts/plan-point.ts';
import { describeInstallation } from './inspect/describe.ts';
import { type FoundInstance, refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { movesOf } from './plan/plan-update.ts';
import { EarlyPull } from './pull/early-pull.ts';
import { pullAndPrepare } from './pull/pull-and-prepare.ts';
import { awaitQuiet } from './replace/await-others.ts';
import { dataDoors } from './replace/data-services.ts';
import { endUpdated, freeable } from './replace/end-updated.ts';
import { announce, recreate } from './replace/recreate.ts';
import {
  type OldTexts,
  type PlannedReplacement,
  replacing,
  undoBeforeRecreate,
} from './replace/rollback/roll-back.ts';
import { saveCold, saveWarm } from './replace/save.ts';
import { verify } from './replace/verify.ts';
import { beginJournal } from './resume/begin-journal.ts';
import { endingFacts, type Locked, type PlannedRun, type RunSoFar } from './resume/run-so-far.ts';
import { settleEarlier } from './resume/settle-earlier.ts';
import { endUnchanged, isUnchanged } from './unchanged.ts';
import { oldTexts, planReplacement, writeUpdate } from './write-update.ts';

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
  const planned = await planRun(context, instance, soFar, { ...found, earlier, begun }).catch(endPull);
  // A run that may have nothing to do stops nothing.
  if (movesOf(planned.plan).some(({ pin, tag }) => tag !== pin.tag.text))
    await planned.checked.catch(endPull);
  const journal = await beginJournal(context, { instance, lock }, { ...planned, begun }, earlier).catch(
    endPull,
  );
  soFar.journal = journal;
  const undo = (texts?: OldTexts) => (error: unknown) =>
    undoBeforeRecreate(context, journal, error, { facts: endingFacts(soFar), texts });
  const pulled = await pullAndPrepare(context, planned, journal, begun).catch(endPull).catch(undo());
  // Containers that run already and are not well are no reason to put anything back.
  if (isUnchanged(planned.installation, pulled)) return endUnchanged(context, journal, planned, pulled);
  const texts = oldTexts(pulled.filePlan);
  const saving = saveAndWrite(context, journal, planned, { ...pulled, ...found, earlier });
  const { saved, ...written } = await saving.catch(undo(texts));
  // Without its restore point if another version was started in the meantime.
  const record = journal.data.point ? (saved?.record ?? null) : null;
  return replace(context, { journal, ...written, texts, record });
}

/** The phases save (only with a restore point) and write. */
async function saveAndWrite(
  context: RunContext,
  journal: Journal,
  planned: PlannedRun & Checked,
  before: Parameters<typeof planReplacement>[3],
) {
  const { point, installation } = planned;
  await planned.checked;
  if (point !== null) await saveWarm(context, journal, point);
  const replacement = await planReplacement(context, journal, planned, before);
  const { changeover } = replacement;
  const saved = point && (await saveCold(context, journal, point, changeover, installation));
  try {
    await writeUpdate(context, journal, planned, before, { ...replacement, saved });
    return { ...replacement, saved };
  } finally {
    saved?.endWatch();
  }
}

interface Checked {
  /** Of the host, until before the first container is stopped. */
  checked: Promise<void>;
}

/** What there is before anything is planned, and the pull that may begin meanwhile. */
interface LookBefore extends ProjectContainers {
  earlier: JournalData | null;
  begun?: EarlyPull;
}

/** The phases `inspect` and `plan`, which the command `plan` ends with. */
export async function planRun(
  context: RunContext,
  instance: FoundInstance,
  soFar: RunSoFar,
  { containers, leftovers, earlier, begun }: LookBefore,
): Promise<PlannedRun & Planned & Checked> {
  refuseForeignContainers(containers, instance, context.options, earlier);
  const expected = await expectationsOf(context.options, instance.platform);
  const interrupted = wasInterrupted(earlier, leftovers);
  const installation = await inspectInstallation(context, instance, {
    containers,
    wasInterrupted: interrupted,
    onRead: (read) => begun?.begin(read),
  });
  soFar.installation = installation;
  describeInstallation(installation, context.log);
  const checked = startEarly(checkHost(context, instance, installation));
  context.log.enter('plan');
  const planned = await makePlan(context, installation, instance.own.id);
  const point = await planPoint(context, instance, installation);
  return { installation, ...planned, interrupted, point, expected, checked };
}

/** The phases `recreate`, `verify` and `done`, from the journal alone: a run that goes on after a kill takes the same way. */
const replace = (context: RunContext, planned: PlannedReplacement): Promise<Ending> =>
  replacing(context, planned, async (work) => {
    announce(work);
    const seen = await recreate(work, planned.look);
    // They are read beside the new version's start, and not while nothing answers.
    planned.record?.hash(await dataDoors(context, planned.journal));
    // Nobody needs the old image any more, and the engine has time while the new one is waited for.
    const freed = startEarly(freeable(work.engine, work.changeover));
    await verify(work, seen);
    return endUpdated(work, freed, planned.record ?? null);
  });
