import { setTimeout as sleep } from 'node:timers/promises';
import { listProject, type ProjectContainers } from '../../engine/api/project-containers.ts';
import type { Compose } from '../../engine/cli/compose.ts';
import { composeMessages } from '../../engine/cli/compose-output.ts';
import { type Engine, isConnectionLost } from '../../engine/cli/engine.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { withHeartbeat } from '../log/heartbeat.ts';
import type { Log } from '../log/log.ts';
import { pullWhatIsGone } from '../pull/obtain-images.ts';
import type { Changeover } from '../state/changeover.ts';
import { awaitServices } from './await-services.ts';
import { giveNames, removeLeftovers } from './leftovers.ts';
import { planSteps, type Step, type StepOf } from './plan-steps.ts';
import { runOnce } from './run-once.ts';
import { awaitHooks, hookFailure, listenToHooks } from './start-hooks.ts';
import type { StartTimes } from './start-times.ts';
import { stopAll } from './stop-all.ts';
import { missingMs } from './watched-services.ts';

/** For all that `up` does but stopping, which takes as long as the containers' own grace periods ask. */
const upDeadlineMs = 900_000;
const tries = 4;
const pauseMs = 500;

export interface RecreateContext {
  engine: Engine;
  compose: Compose;
  changeover: Changeover;
  waitTimeoutMs: number;
  pullTimeoutMs: number;
  log: Log;
  /** A look at the project of just now; null where there is none. */
  before: ProjectContainers | null;
  /** Asked before each `up`: it would start what files say that somebody has saved meanwhile. */
  checkFiles: (service: string) => Promise<void>;
  /** Told before a step that runs commands of the new version: what they do cannot be undone. */
  beforeHook: () => Promise<void>;
  /** Told after each step that may have started something new, with what there is then. */
  afterUp: (containers: readonly Container[]) => Promise<void>;
  /** Learns what each step has started. */
  starts: StartTimes;
  /** Nothing of the new version has started. */
  mayGoBack: () => boolean;
}

type Executors = { [K in Step['kind']]: (step: StepOf<K>, work: RecreateWork) => Promise<void> };

const executors: Executors = {
  'remove-leftovers': ({ containers }, { engine, log }) => removeLeftovers(engine, containers, log),
  'give-name': ({ containers }, { engine, log }) => giveNames(engine, containers, log),
  stop: async ({ containers }, { engine, log }) => stopAll(engine, containers, log),
  up: (step, context) => bringUp(step, context),
  'run-once': (step, context) =>
    runOnce(step, context, () => bringUp({ ...step, kind: 'up', start: true, force: false }, context)),
  'await-healthy': async (
    { service: name, dependent },
    { engine, compose, changeover, waitTimeoutMs, log },
  ) => {
    log.info(`waiting for ${name}, which ${dependent} depends on`);
    // By service, not by the ids of this moment: somebody else may replace the container meanwhile, or begin to.
    const moved = changeover.moved.filter((each) => each.name === name);
    const rules = { app: name, timeoutMs: waitTimeoutMs, missingMs };
    await awaitServices({ engine, log }, compose.project.name, { ...changeover, moved }, rules);
  },
  'stop-again': async ({ service: name, numbers }, { engine, compose, log }) => {
    const { containers } = await listProject(engine, compose.project.name);
    await stopAll(
      engine,
      containers.filter((each) => serviceOf(each) === name && numbers.includes(numberOf(each))),
      log,
    );
  },
};

/**
 * Does what is left to do. Gives the project as it was after that, null where nobody has looked then.
 * @throws UpdateError recreate-failed, broken
 */
export async function recreate(context: RecreateContext): Promise<ProjectContainers | null> {
  const { engine, compose, changeover, starts } = context;
  const before = context.before ?? (await listProject(engine, compose.project.name));
  starts.note(before.containers, null);
  const work = { ...context, seen: before };
  const steps = planSteps(changeover, before);
  for (const step of steps) await run(step, work);
  return steps.at(-1)?.kind === 'up' ? work.seen : null;
}

interface RecreateWork extends RecreateContext {
  /** The project as it was at the last look, which follows each `up`. */
  seen: ProjectContainers;
}

const run = <K extends Step['kind']>(step: StepOf<K>, work: RecreateWork): Promise<void> =>
  (executors[step.kind] as (step: StepOf<K>, work: RecreateWork) => Promise<void>)(step, work);

/** What the engine says while it is still busy with what a killed compose call, or a killed engine, had begun. */
const stillBusy =
  /is already in use by container|removal of container \S+ is already in progress|No such container|is marked for removal|cannot stop container/i;

/** A killed engine has left a task behind that no start of this container gets past: only a new one does. */
const stuck = /task \S+ already exists/i;

async function bringUp(step: StepOf<'up'>, context: RecreateWork): Promise<void> {
  const { engine, compose, changeover, log, mayGoBack } = context;
  let { force } = step;
  let [cause, isOfBusy]: [string | null, boolean] = [null, true];
  await context.checkFiles(step.service);
  if (step.hook) await context.beforeHook();
  for (let attempt = 1; ; attempt++) {
    const deadlineMs = deadlineOfUp(step.service, context.seen.containers);
    const service = { project: compose.project.name, name: step.service };
    if (step.hook) await awaitHooks(engine, service, log);
    const hooks = step.hook ? await listenToHooks(engine, service, { log, deadlineMs }) : null;
    const up = compose.up(step.service, {
      scale: step.scale,
      start: step.start,
      forceRecreate: force,
      deadlineMs,
    });
    const result = await withHeartbeat(log, `waiting for compose to replace ${step.service}`, up).finally(
      () => hooks?.close(),
    );
    context.seen = await listProject(engine, compose.project.name);
    context.starts.note(context.seen.containers, performance.now());
    await context.afterUp(context.seen.containers);
    if (result.exitCode === 0) return;
    const messages = composeMessages(result.stderr);
    // It would fail again, and has perhaps done half of its work: whoever wrote it has to say.
    const failed = hooks && (await hookFailure(step.service, messages, hooks));
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
    if (attempt < tries && (isBusy || !mayGoBack())) {
      log.warn(
        lost
          ? `the engine went away while ${step.service} was replaced; once more`
          : `${messages.at(-1) ?? 'the engine was busy'}; once more`,
      );
      await sleep(pauseMs * attempt);
      const { leftovers } = await listProject(engine, compose.project.name);
      const own = leftovers.filter((container) => serviceOf(container) === step.service);
      await removeLeftovers(engine, own, log);
      continue;
    }
    throw new UpdateError(
      'recreate-failed',
      result.timedOut
        ? `compose did not replace ${step.service} within ${deadlineMs / 60_000} minutes`
        : `compose could not replace ${step.service}: ${cause ?? 'no reason given'}`,
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
