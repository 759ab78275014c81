import type { Compose } from '../engine/compose.ts';
import { composeMessages } from '../engine/compose-output.ts';
import { type Container, hasStarted, isMeantToRun, numberOf, service } from '../engine/container.ts';
import { type Engine, isConnectionLost } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import { type Installation, isLeftover, type ServiceFacts } from './installation.ts';
import type { Log } from './log.ts';
import type { Step, StepOf } from './recreate-steps.ts';
import { awaitWell, idsToRun, projectContainers } from './verify.ts';

/** Stopping honours each container's own grace period; this comes on top. */
const upDeadlineMs = 900_000;
const stopDeadlineMs = 900_000;
const tries = 3;

export interface RecreateContext {
  engine: Engine;
  compose: Compose;
  installation: Installation;
  waitTimeoutMs: number;
  log: Log;
}

type Executors = { [K in Step['kind']]: (step: StepOf<K>, context: RecreateContext) => Promise<void> };

const executors: Executors = {
  'remove-leftovers': ({ containers }, { engine, log }) => removeContainers(engine, containers, log),
  stop: async ({ containers }, { engine }) => {
    await engine.ask(['stop', ...containers.map(({ id }) => id)], { deadlineMs: stopDeadlineMs });
  },
  up: (step, context) => bringUp(step, context),
  'await-healthy': async ({ service: name, dependent }, { engine, installation, waitTimeoutMs, log }) => {
    log.info(`waiting for ${name}, which ${dependent} depends on`);
    const containers = await projectContainers(engine, installation.project.name);
    const awaited = installation.services.filter((facts) => facts.name === name);
    await awaitWell(engine, idsToRun(containers, awaited), waitTimeoutMs, log);
  },
  'stop-again': async ({ service: name, numbers }, { engine, installation }) => {
    const containers = await projectContainers(engine, installation.project.name);
    const own = containers.filter((each) => service(each) === name && numbers.includes(numberOf(each)));
    await engine.ask(['stop', ...own.map(({ id }) => id)], { deadlineMs: stopDeadlineMs });
  },
};

/** Runs the steps in order. @throws UpdateError recreate-failed, broken */
export async function runSteps(steps: readonly Step[], context: RecreateContext): Promise<void> {
  for (const step of steps) await run(step, context);
}

const run = <K extends Step['kind']>(step: StepOf<K>, context: RecreateContext): Promise<void> =>
  (executors[step.kind] as (step: StepOf<K>, context: RecreateContext) => Promise<void>)(step, context);

async function bringUp(
  step: StepOf<'up'>,
  { engine, compose, installation, log }: RecreateContext,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const result = await compose.up(step.service, {
      scale: step.scale,
      start: step.start,
      forceRecreate: step.force,
      deadlineMs: upDeadlineMs,
    });
    if (result.exitCode === 0) return;
    const messages = composeMessages(result.stderr);
    if (attempt < tries && isConnectionLost(result.stderr)) {
      log.warn(`the engine went away while ${step.service} was replaced; once more`);
      await removeContainers(engine, await findLeftovers(engine, installation.project.name), log);
      continue;
    }
    throw new UpdateError(
      'recreate-failed',
      result.timedOut
        ? `compose did not replace ${step.service} within ${upDeadlineMs / 60_000} minutes`
        : `compose could not replace ${step.service}: ${messages.at(-1) ?? 'no reason given'}`,
      { detail: messages.slice(0, -1) },
    );
  }
}

/** What a killed or failed `up` leaves behind: it would block the next one with a name that is taken. */
export async function findLeftovers(engine: Engine, project: string): Promise<Container[]> {
  const all = await engine.containers([`label=com.docker.compose.project=${project}`]);
  return all.filter(isLeftover);
}

async function removeContainers(engine: Engine, containers: readonly Container[], log: Log): Promise<void> {
  if (containers.length === 0) return;
  // Without --volumes: an anonymous volume may be the one of the container it was to replace.
  await engine.ask(['rm', '--force', ...containers.map(({ id }) => id)]);
  log.info(
    `removed what an earlier compose call left behind: ${containers.map(({ name }) => name).join(', ')}`,
  );
}

/** Whether any container of the new version has run: from then on there is no way back. */
export async function newHasStarted(engine: Engine, installation: Installation): Promise<boolean> {
  const names = new Set(installation.services.map(({ name }) => name));
  const known = new Set(installation.containers.map(({ id }) => id));
  const all = await engine.containers([`label=com.docker.compose.project=${installation.project.name}`]);
  return all.some(
    (container) => names.has(service(container)) && !known.has(container.id) && hasStarted(container),
  );
}

/**
 * Brings the old version back after a `recreate` that started nothing new; the files and tags are the old ones again.
 * @throws UpdateError not-brought-back
 */
export async function bringBack(context: RecreateContext): Promise<void> {
  try {
    await restoreContainers(context);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError('not-brought-back', error.message, { detail: error.detail, cause: error });
  }
}

async function restoreContainers(context: RecreateContext): Promise<void> {
  const { engine, installation, log } = context;
  const known = new Set(installation.containers.map(({ id }) => id));
  const moved = [...installation.services, ...installation.followers];
  const names = new Set(moved.map(({ name }) => name));
  const now = await engine.containers([`label=com.docker.compose.project=${installation.project.name}`]);
  const fresh = now.filter(
    (container) => names.has(service(container)) && !known.has(container.id) && !hasStarted(container),
  );
  if (fresh.length > 0) await engine.ask(['rm', '--force', ...fresh.map(({ id }) => id)]);
  const there = new Set(now.map(({ id }) => id));
  const isWhole = ({ containers }: ServiceFacts) => containers.every(({ id }) => there.has(id));
  const followers = new Set(installation.services.every(isWhole) ? [] : installation.followers);
  // One that cannot come back must not keep the others down.
  const failures: unknown[] = [];
  for (const facts of moved) {
    // What lived in a namespace of a container that is gone needs the new one's.
    const force = followers.has(facts);
    await (isWhole(facts) && !force ? startAgain(facts, engine) : makeAgain(facts, force, context)).catch(
      (error) => failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
  const containers = await projectContainers(engine, installation.project.name);
  const asBefore = moved.map((facts) => ({ ...facts, isApp: false }));
  await awaitWell(engine, idsToRun(containers, asBefore), context.waitTimeoutMs, log);
}

async function startAgain({ containers }: ServiceFacts, engine: Engine): Promise<void> {
  const ran = containers.filter(isMeantToRun);
  if (ran.length === 0) return;
  await engine.ask(['start', ...ran.map(({ id }) => id)], { deadlineMs: stopDeadlineMs });
}

async function makeAgain(
  { name, containers, running }: ServiceFacts,
  force: boolean,
  context: RecreateContext,
): Promise<void> {
  context.log.info(`bringing ${name} back from the old image`);
  await bringUp({ kind: 'up', service: name, scale: containers.length, start: running > 0, force }, context);
}
