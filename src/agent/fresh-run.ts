import { listProject } from '../engine/api/project-containers.ts';
import type { Engine } from '../engine/cli/engine.ts';
import { type Container, type Image, isUp, serviceOf } from '../engine/container.ts';
import { checkTargets } from '../files/check-targets.ts';
import { stateName } from '../progress/state-name.ts';
import { Cancelled, Interrupted } from '../progress/stops.ts';
import { UpdateError } from '../progress/update-error.ts';
import { describeInstallation, fromWord } from './inspect/describe.ts';
import type { FoundInstance } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import type { Installation } from './inspect/installation.ts';
import { type Ending, end, endingOf } from './log/ending.ts';
import { remember } from './log/ending-facts.ts';
import { seconds } from './log/words.ts';
import { candidateFiles } from './plan/candidate-files.ts';
import { checkDrift } from './plan/check-drift.ts';
import { describePlan } from './plan/describe.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import { askModelEarly, type FilePlan, planFiles } from './plan/plan-files.ts';
import { planUpdate, type UpdatePlan } from './plan/plan-update.ts';
import { versionWarnings, whatRuns } from './plan/words.ts';
import type { RunContext } from './process/run-context.ts';
import { pullAdded, pullMoves } from './pull/obtain-images.ts';
import { tagsBefore } from './pull/tags.ts';
import { enterRecreate } from './replace/keep-way-back.ts';
import { recreateAndVerify } from './replace/replace-containers.ts';
import { markGoingBack, restoreInstance } from './replace/restore-instance.ts';
import { wasInterrupted } from './resume/was-interrupted.ts';
import { type Changeover, type ContainerRecord, recordOf, type WasInterrupted } from './state/changeover.ts';
import { emptyJournal, isPending, Journal, type JournalData, type JournalPlace } from './state/journal.ts';
import { runStamp } from './state/kept-runs.ts';
import type { Lock } from './state/lock.ts';
import { writeChanges } from './write-files.ts';

/** From the pull to the end. Nothing in the compose directory changes before every image is here. */
async function freshRun(
  context: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  journal: Journal,
  earlier: WasInterrupted,
): Promise<Ending> {
  const { engine, options, log } = context;
  const texts = new Map<string, string>();
  let changeover: Changeover;
  try {
    log.phase = 'pull';
    const deadline = Date.now() + options.pullTimeoutMs;
    const ahead = askModelEarly(installation, plan);
    // What a pull has to say comes first.
    ahead.catch(() => {});
    const images = await pullMoves(context, installation, plan, deadline);
    const backup = `${stateName}/backup/${journal.data.run}`;
    const filePlan = await planFiles(engine, installation, plan, images, backup, ahead);
    await pullAdded(context, installation, filePlan, images, journal, deadline);
    for (const warning of filePlan.warnings) log.warn(warning);
    if (isUnchanged(installation, filePlan, images)) {
      log.phase = 'done';
      return endUnchanged(context, plan, filePlan, images);
    }
    for (const { path, before } of filePlan.changes) if (before !== null) texts.set(path, before);
    const containers = await sameContainers(engine, installation, earlier);
    changeover = planChangeover(installation, plan, filePlan, images, containers, journal.data.from);
    await writeChanges(context, installation, filePlan, journal);
    await enterRecreate(context, journal, changeover, installation.model);
  } catch (error) {
    await undoBeforeRecreate(context, journal, error, texts);
    throw error;
  }
  return recreateAndVerify(context, journal, changeover, texts);
}

/** The containers right before the first byte changes. @throws UpdateError containers-changed */
async function sameContainers(
  engine: Engine,
  { project, services, followers }: Installation,
  earlier: WasInterrupted,
): Promise<ContainerRecord[]> {
  const { containers } = await listProject(engine, project.name);
  for (const { name, containers: before } of [...services, ...followers]) {
    const ids = (list: readonly Container[]) =>
      list
        .filter((container) => serviceOf(container) === name)
        .map(({ id }) => id)
        .sort()
        .join();
    if (ids(before) === ids(containers)) continue;
    throw new UpdateError('containers-changed', `${name} was replaced by somebody else during the update`);
  }
  return containers.map((container) => recordOf(container, earlier));
}

/** A run that ends before `recreate` has files and tags to put back. */
async function undoBeforeRecreate(
  context: RunContext,
  journal: Journal,
  error: unknown,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  const { engine, log, known, options, cancellation } = context;
  if (error instanceof Interrupted) throw error;
  const isThere = await engine.answers();
  // An engine that asks for an end and does not answer is shutting down: it starts this container again.
  if (error instanceof Cancelled && !isThere) throw new Interrupted();
  // One that is only away may start it again, too, and then the update is begun anew.
  if (isThere)
    await markGoingBack(journal, log, endingOf(error, log.phase, known, cancellation.signalNumber));
  await cancellation.shield(engine, () =>
    restoreInstance(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs, texts }),
  );
}

/** The containers run exactly these images and there is nothing to write. */
function isUnchanged(
  installation: Installation,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
): boolean {
  return (
    filePlan.changes.length === 0 &&
    installation.services.every(
      ({ name, containers, isApp, running }) =>
        running === containers.filter(isUp).length &&
        (!isApp || running > 0) &&
        containers.every(({ imageId }) => imageId === images.get(filePlan.references.get(name) ?? '')?.id),
    )
  );
}

function endUnchanged(
  { log, startedAt }: RunContext,
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
): Ending {
  for (const warning of versionWarnings(plan, filePlan, images)) log.warn(warning);
  return end(
    log,
    'unchanged',
    `unchanged: ${whatRuns(plan, filePlan, images)} already; nothing to do (${seconds(Date.now() - startedAt)})`,
    { to: plan.goal },
  );
}

/** A run from its beginning. */
export async function begin(
  context: RunContext,
  met: FoundInstance,
  held: RunHandles,
  place: JournalPlace,
  earlier: JournalData | null,
): Promise<Ending> {
  const { engine, options, log, known } = context;
  const isMeant = wasInterrupted(earlier);
  const installation = await inspectInstallation(engine, met, options, log, isMeant);
  await met.fits;
  const { project, services, containers } = installation;
  const from = fromWord(installation);
  remember(
    known,
    from,
    project,
    services.map(({ name }) => name),
  );
  describeInstallation(installation, log);

  log.phase = 'plan';
  const plan = planUpdate(installation, options.target);
  await checkDrift(engine, installation, options.acceptDrift, log);
  await checkTargets(candidateFiles(installation, plan), installation.paths);
  describePlan(installation, plan, log);

  const isAgain = earlier !== null && isPending(earlier) && earlier.containerId === met.own.id;
  held.journal = new Journal(place, {
    ...emptyJournal,
    run: runStamp(context.startedAt),
    containerId: met.own.id,
    attempt: isAgain ? earlier.attempt + 1 : 1,
    project,
    target: options.target?.tag ?? null,
    services: options.services,
    from,
    tags: await tagsBefore(
      engine,
      plan.moves.map(({ to }) => to),
    ),
    containers: containers.map((container) => recordOf(container, isMeant)),
  });
  await held.journal.write();
  return freshRun(context, installation, plan, held.journal, isMeant);
}

/** What a run holds on to until its end. */
export interface RunHandles {
  own: Container | null;
  lock: Lock | null;
  journal: Journal | null;
}
