import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { listProject, type ProjectContainers } from '../../../engine/api/project-containers.ts';
import { composeMessages } from '../../../engine/cli/compose-output.ts';
import { isConnectionLost } from '../../../engine/cli/engine.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../../engine/container.ts';
import { wereEdited } from '../../run/log/ending-facts.ts';
import { withHeartbeat } from '../../run/log/heartbeat.ts';
import { and } from '../../run/log/wording.ts';
import { newHasStarted } from '../../run/state/changeover.ts';
import { pullWhatIsGone } from '../pull/obtain-images.ts';
import { awaitServices } from './await-services.ts';
import { giveNames, removeLeftovers, stopAll } from './containers.ts';
import { findSaved } from './find-saved.ts';
import { StartTimes } from './health.ts';
import { planSteps, type Step, type StepOf } from './plan-steps.ts';
import type { Replacement } from './replacement.ts';
import { runOnce } from './run-once.ts';
import type { ContainersSeen } from './same-containers.ts';
import { awaitHooks, hookFailure } from './start-hooks.ts';

/** For all that `up` does but stopping, which takes as long as the containers' own grace periods ask. */
const upDeadlineMs = 900_000;
const tries = 4;
const pauseMs = 500;

/** Milliseconds. A disk that takes longer for what is written in between is one beside which people have time for much. */
const freshMs = 500;

type Executors = { [K in Step['kind']]: (step: StepOf<K>, work: RecreateWork) => Promise<void> };

const executors: Executors = {
  'remove-leftovers': ({ containers }, work) => removeLeftovers(work, containers),
  'give-name': ({ containers }, work) => giveNames(work, containers),
  stop: ({ containers }, work) => stopAll(work, containers),
  up: (step, context) => bringUp(step, context),
  'run-once': (step, context) =>
    runOnce(step, context, () => bringUp({ ...step, kind: 'up', start: true, force: false }, context)),
  'await-healthy': async ({ service: name, dependent }, work) => {
    work.log.info(`waiting for ${name}, which ${dependent} depends on`);
    // It is waited for by its service and not by its id: another call may replace the container meanwhile.
    const moved = work.changeover.moved.filter((each) => each.name === name);
    const changeover = { ...work.changeover, moved };
    await awaitServices({ ...work, changeover, starts: new StartTimes() }, name);
  },
  'stop-again': async ({ service: name, numbers }, work) => {
    const { containers } = await listProject(work.engine, work.compose.project.name);
    await stopAll(
      work,
      containers.filter((each) => serviceOf(each) === name && numbers.includes(numberOf(each))),
    );
  },
};

/**
 * Does what is left to do. Gives the last look at the project where it was taken after the last step, else null.
 * @param look the last one at the project before it, as old as it may be
 * @throws UpdateError recreate-failed, broken
 */
export async function recreate(
  given: Replacement,
  look: ContainersSeen | null = null,
): Promise<ProjectContainers | null> {
  const { engine, journal, changeover, starts } = given;
  const isFresh = look !== null && performance.now() - look.at < freshMs;
  const seen = isFresh ? look.found : await listProject(engine, journal.data.project.name);
  starts.note(seen.containers, null);
  const work = { ...given, seen };
  const steps = planSteps(changeover, seen);
  for (const step of steps) {
    const execute = executors[step.kind] as (step: Step, work: RecreateWork) => Promise<void>;
    await execute(step, work);
  }
  return steps.at(-1)?.kind === 'up' ? work.seen : null;
}

interface RecreateWork extends Replacement {
  /** The project as it was at the last look, which follows each `up`. */
  seen: ProjectContainers;
}

/** Says what is about to be replaced, where the run has not come to `verify` before it was killed. */
export function announce({ log, journal, changeover: { moved } }: Replacement): void {
  if (journal.data.state.at === 'verifying') {
    log.enter('verify');
    return;
  }
  log.enter('recreate');
  const lasting = moved.filter(({ follows, runsOnce }) => !follows && !runsOnce);
  const names = lasting.map(({ name }) => name);
  const workers = lasting.filter(({ isApp }) => !isApp).map(({ name }) => name);
  const migrations = moved.flatMap(({ name, runsOnce }) => (runsOnce ? [name] : []));
  const followers = moved.filter(({ follows }) => follows).map(({ name }) => name);
  // A restore point was made of what had been stopped.
  const stopping = workers.length > 0 && !journal.data.point ? `stopping ${and(workers)}, then ` : '';
  const running = migrations.length > 0 ? `running ${and(migrations)}, then ` : '';
  log.info(`${stopping}${running}replacing ${and([...names, ...followers])}`);
  if (followers.length > 0) {
    log.info(`also replacing ${and(followers)} because of the namespace shared with ${names.join(' or ')}`);
  }
}

/** @throws UpdateError recreate-failed where the service would get another image than the run's */
async function checkFiles({ engine, journal }: Replacement, service: string): Promise<void> {
  const saved = await findSaved(engine, journal.data);
  if (saved === null) return;
  throw new UpdateError(
    'recreate-failed',
    `${wereEdited(saved.paths)}, so ${service} is not replaced with the image that is now specified`,
  );
}

/** Says in the journal that something new has started, as its container may be gone by the time that somebody asks. */
async function noteStart({ journal, changeover, seen }: RecreateWork): Promise<void> {
  if (!journal.data.started && newHasStarted(changeover, seen.containers))
    await journal.note({ started: true });
}

/** What the engine says while it is still busy with what a killed compose call, or a killed engine, had begun. */
const stillBusy =
  /is already in use by container|removal of container \S+ is already in progress|No such container|is marked for removal|cannot stop container/i;

/** A killed engine has left a task behind that no start of this container gets past: only a new one does. */
const stuck = /task \S+ already exists/i;

async function bringUp(step: StepOf<'up'>, context: RecreateWork): Promise<void> {
  const { engine, compose, changeover, journal, log } = context;
  let { force } = step;
  let [cause, isOfBusy]: [string | null, boolean] = [null, true];
  await checkFiles(context, step.service);
  // What its commands of the new version do cannot be undone.
  if (step.hook && !journal.data.started) await journal.write({ started: true });
  for (let attempt = 1; ; attempt++) {
    const deadlineMs = deadlineOfUp(step.service, context.seen.containers);
    if (step.hook) {
      await awaitHooks(engine, { project: compose.project.name, name: step.service }, log);
      log.info(
        `running the pre_start hook of ${step.service}; the service is unavailable until the hook finishes`,
      );
    }
    const up = compose.up(new Map([[step.service, step.scale]]), {
      start: step.start,
      forceRecreate: force,
      deadlineMs,
    });
    const result = await withHeartbeat(log, `waiting for docker compose to replace ${step.service}`, up);
    const services = new Set(changeover.moved.map(({ name }) => name));
    const { containers } = context.seen;
    context.seen = await listProject(engine, compose.project.name, { containers, services });
    context.starts.note(context.seen.containers, performance.now());
    await noteStart(context);
    if (result.exitCode === 0) return;
    const messages = composeMessages(result.stderr);
    // It would fail again, and has perhaps done half of its work: whoever wrote it has to say.
    const failed = step.hook ? hookFailure(step.service, messages) : null;
    if (failed) throw failed;
    const { image = null } = changeover.moved.find(({ name }) => name === step.service) ?? {};
    if (attempt < tries && image !== null && (await pullWhatIsGone(context, compose, step.service, image)))
      continue;
    const lost = isConnectionLost(result.stderr);
    // There is no way back once the new version has started, so every failure is worth another try then.
    const isStuck = stuck.test(result.stderr);
    const isBusy = lost || isStuck || stillBusy.test(result.stderr);
    // A later call may only meet what the earlier one has left behind, which hides the cause.
    if (isOfBusy || !isBusy) [cause, isOfBusy] = [messages.at(-1) ?? cause, isBusy];
    force ||= isStuck;
    if (attempt < tries && (isBusy || journal.data.started)) {
      log.warn(
        lost
          ? `the connection to the engine was lost while ${step.service} was being replaced; trying again`
          : `${messages.at(-1) ?? 'the engine was busy'}; trying again`,
      );
      await sleep(pauseMs * attempt);
      const { leftovers } = await listProject(engine, compose.project.name);
      const own = leftovers.filter((container) => serviceOf(container) === step.service);
      await removeLeftovers(context, own);
      continue;
    }
    throw new UpdateError(
      'recreate-failed',
      result.timedOut
        ? `docker compose did not replace ${step.service} within ${deadlineMs / 60_000} minutes`
        : `docker compose could not replace ${step.service}: ${cause ?? 'no reason given'}`,
      { detail: messages.filter((message) => message !== cause) },
    );
  }
}

/** In milliseconds. Infinity where a container of the service may take as long as it likes to stop. */
export function deadlineOfUp(service: string, containers: readonly Container[]): number {
  return containers
    .filter((container) => serviceOf(container) === service && isUp(container))
    .reduce((sum, { stopTimeout }) => sum + stopTimeout * 1000, upDeadlineMs);
}
