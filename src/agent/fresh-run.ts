import { setTimeout as sleep } from 'node:timers/promises';
import { removeScratches } from '../engine/api/scratch.ts';
import { type Container, type Image, isUp, serviceOf } from '../engine/container.ts';
import { stateName } from '../progress/state-name.ts';
import { Cancelled, Interrupted } from '../progress/stops.ts';
import { UpdateError } from '../progress/update-error.ts';
import { describeInstallation, fromWord } from './inspect/describe.ts';
import { refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { type Installation, movedServices } from './inspect/installation.ts';
import { type Ending, endingOf, endWell } from './log/ending.ts';
import { and, seconds } from './log/words.ts';
import { makePlan } from './make-plan.ts';
import { isUnchanged } from './plan/is-unchanged.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import type { FilePlan } from './plan/plan-files.ts';
import { movesOf, type UpdatePlan } from './plan/plan-update.ts';
import { askModelEarly, prepareFiles } from './plan/prepare-files.ts';
import { versionWarnings, whatRuns } from './plan/words.ts';
import { startEarly } from './process/start-early.ts';
import type { World } from './process/world.ts';
import { pullAdded, pullHookImages, pullMoves, withUntagged } from './pull/obtain-images.ts';
import { tagsBefore } from './pull/tags.ts';
import { awaitOthers } from './replace/await-others.ts';
import { type Look, replaceContainers } from './replace/replace-containers.ts';
import { verifyUnchanged } from './replace/verify.ts';
import { keepWayBack } from './replace/way-back/keep-way-back.ts';
import { markGoingBack, restoreInstance } from './replace/way-back/restore-instance.ts';
import { begun, endingFacts, type RunHandles } from './resume/run-handles.ts';
import { wasInterrupted, wasLeftDown } from './resume/was-interrupted.ts';
import { type Changeover, isThereAlready, recordOf, type WasInterrupted } from './state/changeover.ts';
import { emptyJournal, isPending, Journal, type JournalData } from './state/journal.ts';
import { runStamp } from './state/kept-runs.ts';
import { recordContainers } from './state/record-containers.ts';
import { writeFiles } from './write-files.ts';

/** A run from its beginning. `earlier` is the journal of the run before, which is settled. */
export async function freshRun(
  world: World,
  handles: RunHandles,
  earlier: JournalData | null,
): Promise<Ending> {
  const { engine, options, log } = world;
  const { instance, lock } = begun(handles);
  if (lock.takenOver) await removeScratches(engine, instance.place.name);
  const services = new Set([options.app, ...options.workers]);
  const ignores = wasLeftDown(earlier);
  const own = { services, ignores };
  const { containers, leftovers, debris } = await awaitOthers(world, instance.place.name, own);
  refuseForeignContainers(containers, instance, options, earlier);
  const interrupted = wasInterrupted(earlier, leftovers);
  const installation = await inspectInstallation(world, instance, interrupted, containers);
  handles.installation = installation;
  describeInstallation(installation, log);

  log.enter('plan');
  const plan = await makePlan(world, installation, instance.own.id);

  const journal = new Journal(
    lock,
    await firstEntry(world, handles, { installation, plan, earlier, interrupted }),
  );
  handles.journal = journal;
  await journal.write();
  const texts = new Map<string, string>();
  let changeover: Changeover;
  let look: Look;
  try {
    const pulled = await pullAndPrepare(world, installation, plan, journal);
    if (isUnchanged(installation, pulled.filePlan, pulled.images)) {
      // Not awaited here: containers that run already and are not well are no reason to put anything back.
      return endUnchanged(world, journal, { installation, plan }, pulled);
    }
    for (const { path, before } of pulled.filePlan.changes) if (before !== null) texts.set(path, before);
    const same = await sameContainers(world, installation, earlier, debris);
    const { containers } = same;
    look = same.look;
    const { from } = journal.data;
    changeover = planChangeover(installation, plan, pulled.filePlan, { ...pulled, containers, from });
    await writeFiles(world, installation, pulled.filePlan, journal);
    await keepWayBack(world, journal, changeover, installation);
    if (earlier?.started && isThereAlready(changeover, look.found.containers)) {
      await journal.note({ started: true });
    }
  } catch (error) {
    await undoBeforeRecreate(world, handles, journal, { error, texts });
    throw error;
  }
  return replaceContainers(world, journal, changeover, { texts, look });
}

/** What the journal says before anything is pulled. */
async function firstEntry(
  { engine, options, startedAt }: World,
  handles: RunHandles,
  {
    installation,
    plan,
    earlier,
    interrupted,
  }: {
    installation: Installation;
    plan: UpdatePlan;
    earlier: JournalData | null;
    interrupted: WasInterrupted;
  },
): Promise<JournalData> {
  const { own } = begun(handles).instance;
  const isAgain = earlier !== null && isPending(earlier) && earlier.containerId === own.id;
  const references = movesOf(plan).map(({ to }) => to);
  return {
    ...emptyJournal,
    run: runStamp(startedAt),
    containerId: own.id,
    attempt: isAgain ? earlier.attempt + 1 : 1,
    project: installation.project,
    target: options.target?.tag ?? null,
    services: [options.app, ...options.workers],
    from: fromWord(installation),
    tags: await tagsBefore(engine, references),
    containers: installation.containers.map((container) => recordOf(container, interrupted)),
  };
}

/** What the run has before its first byte is written. */
interface Preparation {
  filePlan: FilePlan;
  /** Local images by the references of the plan. */
  images: ReadonlyMap<string, Image>;
}

/** The phase `pull`: every image is here, and what is to be written is proven. Nothing in the compose directory changes. */
async function pullAndPrepare(
  world: World,
  installation: Installation,
  plan: UpdatePlan,
  journal: Journal,
): Promise<Preparation> {
  const { engine, options, log } = world;
  log.enter('pull');
  const deadline = performance.now() + options.pullTimeoutMs;
  const early = askModelEarly(installation, plan);
  // A failed pull is told before a rejected model: the person has to mend the pull first.
  if (early !== null) startEarly(early.model);
  const pulled = await pullMoves(world, installation, plan, deadline);
  const backup = `${stateName}/backup/${journal.data.run}`;
  const filePlan = await prepareFiles(engine, installation, plan, { images: pulled, backup, early, log });
  const images = withUntagged(pulled, filePlan.references.values());
  const added = new Map([...filePlan.references].filter(([, reference]) => !images.has(reference)));
  const more = await pullAdded(world, installation, added, { journal, deadline });
  const names = [...filePlan.references.keys(), ...installation.followers.map(({ name }) => name)];
  await pullHookImages(world, installation, filePlan.model, { names, deadline });
  for (const warning of filePlan.warnings) log.warn(warning);
  return { filePlan, images: new Map([...images, ...more]) };
}

/** From the end of a container's stop to its start, where somebody restarts it. */
const restartMs = 5_000;
const restartLookMs = 250;

/** The containers right before the first byte changes. @throws UpdateError containers-changed, compose-busy */
async function sameContainers(
  world: World,
  installation: Installation,
  earlier: JournalData | null,
  debris: readonly Container[],
): Promise<{ containers: Changeover['containers']; look: Look }> {
  const moved = [...movedServices(installation), ...installation.followers];
  const services = new Set(moved.map(({ name }) => name));
  // What stood still at the beginning is not waited for again.
  const ignores = (container: Container) =>
    wasLeftDown(earlier)(container) || debris.some(({ id }) => id === container.id);
  const ran = new Set(moved.flatMap((each) => each.containers.filter(isUp).map(({ id }) => id)));
  let at = 0;
  const look = () => {
    at = performance.now();
    return awaitOthers(world, installation.project.name, { services, ignores });
  };
  const isBack = ({ containers }: { containers: readonly Container[] }) =>
    !containers.some((container) => ran.has(container.id) && !isUp(container));
  let found = await look();
  // Somebody's `restart` has stopped it and starts it again at once: it must not be taken for one that stays stopped.
  for (const end = performance.now() + restartMs; !isBack(found) && performance.now() < end; ) {
    await sleep(restartLookMs);
    found = await look();
  }
  const { containers, leftovers } = found;
  for (const { name, containers: before } of moved) {
    const ids = (list: readonly Container[]) =>
      list
        .filter((container) => serviceOf(container) === name)
        .map(({ id }) => id)
        .sort()
        .join();
    if (ids(before) === ids(containers)) continue;
    const isGone = ids(containers) === '';
    throw new UpdateError(
      'containers-changed',
      `${name} was ${isGone ? 'removed' : 'replaced'} by somebody else during the update`,
    );
  }
  const interrupted = wasInterrupted(earlier, leftovers);
  return { containers: await recordContainers(world.engine, containers, interrupted), look: { found, at } };
}

/** A run that ends before `recreate` has files and tags to put back. `texts` are the old ones of the written files. */
async function undoBeforeRecreate(
  { engine, log, options, cancellation }: World,
  handles: RunHandles,
  journal: Journal,
  { error, texts }: { error: unknown; texts: ReadonlyMap<string, string> },
): Promise<void> {
  if (error instanceof Interrupted) throw error;
  const isThere = await engine.answers();
  // An engine that has sent a signal and no longer answers is shutting down; it starts this container again afterwards.
  if (error instanceof Cancelled && !isThere) throw new Interrupted();
  // Where the engine does not answer, the journal is left without an end: a restarted container begins the update anew.
  if (isThere) {
    const facts = { ...endingFacts(handles), product: options.product };
    await markGoingBack(journal, log, endingOf(error, facts, cancellation.signalNumber));
  }
  await restoreInstance(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs, texts });
}

/** Nothing is to be done, and all is well. @throws UpdateError not-well */
async function endUnchanged(
  world: World,
  journal: Journal,
  { installation, plan }: { installation: Installation; plan: UpdatePlan },
  { filePlan, images }: Preparation,
): Promise<Ending> {
  const { log, beganAt } = world;
  const services = movedServices(installation);
  await verifyUnchanged(world, journal, services);
  log.enter('done');
  for (const warning of versionWarnings(plan, filePlan, images)) log.warn(warning);
  const lasting = services.filter(({ name }) => !filePlan.migrations.includes(name));
  const stopped = lasting.filter(({ running }) => running === 0).map(({ name }) => name);
  const alone = lasting
    .filter(({ running }) => running > 0)
    .flatMap(({ containers }) => containers.filter((each) => !isUp(each)).map(({ name }) => name));
  const down = [...stopped, ...alone];
  const runs = whatRuns(plan, filePlan, images, stopped);
  const took = seconds(performance.now() - beganAt);
  const left = down.length === 0 ? '' : `, ${and(down)} ${down.length > 1 ? 'are' : 'is'} stopped`;
  const message = `unchanged: ${runs} already${left}; nothing to do (${took})`;
  return endWell(log, 'unchanged', message, { to: plan.goal });
}
