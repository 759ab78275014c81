import { UpdateError } from '../../core/progress/update-error.ts';
import { inspectContainers } from '../../engine/api/query.ts';
import { removeConfig } from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Image, isUp } from '../../engine/container.ts';
import { replicasOf } from '../../engine/swarm.ts';
import { type Ending, endWell, repeatEnding } from '../run/log/ending.ts';
import { type EndingFacts, nothingKnown } from '../run/log/ending-facts.ts';
import { and, seconds } from '../run/log/wording.ts';
import type { FirstContext, RunContext } from '../run/run-context.ts';
import { runToEnd } from '../run/run-to-end.ts';
import { runStamp } from '../run/state/kept-runs.ts';
import { checkImage } from './check-image.ts';
import { checkServices, shortName } from './choose-stack.ts';
import { deployCommand, textToChange } from './files.ts';
import { type FoundStack, inspectStack, lookAtStack } from './inspect.ts';
import { type PlannedStack, planOf, planStack } from './plan.ts';
import { type EarlierStackStep, type Inheritance, inheritanceOf, planEarlierStack } from './plan-earlier.ts';
import { pullEverywhere, pullHere, removePulls } from './pull.ts';
import { maskRulesOfMoves } from './reading.ts';
import { awaitDeath, type FoundRecord, type RecordData, readRecord, StackRecord } from './record.ts';
import { Replacing } from './replace.ts';
import type { ServiceMove } from './specs.ts';
import { isWellNow } from './unchanged.ts';
import { hashesOf, restoreStackFiles, writeFiles } from './write.ts';

/** What a run has found and taken so far, for its last line and its clean-up. */
interface SoFar {
  found: FoundStack | null;
  facts: EndingFacts;
  record: StackRecord | null;
}

/** The story of a run on a stack. Gives the exit code; its last line and the record say the same. */
export async function updateStack(given: FirstContext): Promise<number> {
  const { options, engine } = given;
  const soFar: SoFar = { found: null, facts: { ...nothingKnown, product: options.product }, record: null };
  try {
    return await runToEnd(given, {
      work: () => run(given, soFar),
      facts: () => soFar.facts,
      close: (ending) => close(engine, soFar, ending),
      afterShutdown: 'the next run resumes this update',
    });
  } finally {
    soFar.record?.release();
  }
}

async function close(engine: Engine, { found, record }: SoFar, ending: Ending): Promise<void> {
  if (found === null) return;
  // If the outcome cannot be written, the next run resumes from the record. The log has its last line.
  await record?.note({ outcome: ending }).catch(() => {});
  const { id, restartPolicy } = found.own;
  if (restartPolicy === 'no') return;
  await engine
    .uncancellable()
    .quiet()
    .call(['update', '--restart=no', id])
    .catch(() => {});
}

async function run(given: FirstContext, soFar: SoFar): Promise<Ending> {
  const first = await inspectStack(given);
  soFar.found = first;
  const { context, who } = first;
  const earlier = await endedOrDead(context, first, await readRecord(context.engine, first.chosen.name));
  const found = { ...first, ...(await lookAtStack(context)) };
  const { chosen } = found;
  soFar.facts = { ...soFar.facts, services: [chosen.app, ...chosen.workers].map(({ name }) => name) };
  const { target } = context.options;
  const asked = { holder: who.holder, target: target?.tag ?? null, services: chosen.services };
  const step = planEarlierStack(earlier, asked);
  if (earlier === null || step.kind === 'none') return fromTheBeginning(found, soFar, earlier);
  context.log.addMaskRules(() => maskRulesOfMoves(earlier.data.moves));
  return settle(found, soFar, { earlier, step });
}

/** The record of the run before, once that has ended or is dead. @throws UpdateError update-running, stack-busy */
async function endedOrDead(
  { engine, log }: RunContext,
  { who }: FoundStack,
  found: FoundRecord | null,
): Promise<FoundRecord | null> {
  if (found === null || found.state.outcome !== null) return found;
  const { state } = found;
  if (state.holder === who.holder || state.container === who.container) return found;
  // An updater on the same node can check whether the other one is running.
  if (state.node === who.node) {
    const [holder] = await inspectContainers(engine, [state.container]);
    if (!holder || !isUp(holder)) return found;
  }
  log.info(`the run ${state.run} has locked the stack; waiting up to 45 s to see whether it is still active`);
  return awaitDeath(engine, found);
}

/** Resumes or undoes the previous run. */
async function settle(
  found: FoundStack,
  soFar: SoFar,
  { earlier, step }: { earlier: FoundRecord; step: Exclude<EarlierStackStep, { kind: 'none' }> },
): Promise<Ending> {
  const { context, directory, who } = found;
  const { engine, log } = context;
  const { data, state } = earlier;
  const name = `the run ${data.run} (${data.from} → ${data.to})`;
  const story = state.outcome
    ? `${name} ended with the outcome ${state.outcome.outcome} during the ${state.phase} phase`
    : `${name} was interrupted during the ${state.phase} phase`;
  switch (step.kind) {
    case 'repeat':
      return repeatEnding({ ...(state.outcome as Ending), exitCode: 0 }, log);
    case 'set-aside':
      log.warn(
        `${story}; the stack was changed after that, so nothing is undone, and the record of that run is discarded`,
      );
      return fromTheBeginning(found, soFar, earlier, step.inherits);
    case 'succeed':
      log.warn(`${story}; this run keeps the changes made so far and continues the update`);
      soFar.facts = {
        ...soFar.facts,
        halfDone: `the changes made by run ${data.run} (to ${data.to}) were kept`,
      };
      return fromTheBeginning(found, soFar, earlier, step.inherits);
    case 'files-back':
      log.warn(`${story}; no service was changed, so the update starts again from the beginning`);
      await restoreStackFiles(context, data, directory);
      return fromTheBeginning(found, soFar, earlier, step.inherits);
    case 'go-on':
    case 'back': {
      log.warn(`${story}; ${step.kind === 'back' ? 'undoing its changes first' : 'resuming it'}`);
      const record = await StackRecord.takeOver(engine, earlier, who);
      soFar.record = record;
      soFar.facts = { ...soFar.facts, version: data.from, touched: true };
      await removePulls(engine, data.stack);
      const replacing = new Replacing(found, record, { isResumed: true });
      if (step.kind === 'go-on') return replace(found, replacing);
      context.cancellation.tooLate();
      log.enter('recreate');
      await rollBack(found, replacing);
      // It stays until this run's own takes its place: killed in between, the next run sees that all is back.
      soFar.facts = { ...soFar.facts, touched: false };
      const again = { ...found, ...(await lookAtStack(context)) };
      const ended = await readRecord(engine, data.stack);
      return fromTheBeginning(again, soFar, ended, inheritanceOf(data));
    }
  }
}

/** A run phase by phase. @param ended the record of the run before, which this one's takes the place of */
async function fromTheBeginning(
  found: FoundStack,
  soFar: SoFar,
  ended: FoundRecord | null,
  inherits: Inheritance = 'nothing',
): Promise<Ending> {
  const { context, chosen, directory, paths, who } = found;
  const { engine, log, cancellation, options } = context;
  checkServices(chosen, found, { isOurs: inherits === 'halfway' });
  log.enter('plan');
  const plan = planOf(found);
  soFar.facts = { ...soFar.facts, version: plan.from };
  const planned = await planStack(found, ended, { plan, inherits });
  const { stopFirst, moves, published, files } = planned;
  for (const warning of planned.warnings) log.warn(warning);
  if (await isWellNow(found, planned)) {
    // What a killed run has left of itself before it touched anything.
    if (ended?.state.outcome === null) await removeConfig(engine, ended.config);
    const took = seconds(performance.now() - context.beganAt);
    const runs = whatRuns(chosen.name, moves, plan.to);
    return endWell(log, 'unchanged', `unchanged: ${runs}; nothing to do (${took})`, { to: plan.to });
  }
  const run = runStamp(context.startedAt);
  const data = {
    format: 1,
    ...{ run, stack: chosen.name, target: options.target?.tag ?? null, from: plan.from, to: plan.to },
    stopFirst,
    moves,
    tasks: found.tasks.map(({ id }) => id),
    files: files === null ? [] : hashesOf(files.draft),
  } as const;
  soFar.record?.release();
  const record = await StackRecord.make(engine, data, who, ended);
  soFar.record = record;
  log.enter('pull');
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  const images = new Map<string, Image>();
  for (const each of published) images.set(each.reference, await pullHere(context, each, deadline));
  for (const warning of checkImage(planned, images, options.product)) log.warn(warning);
  await pullEverywhere(context, data, published, deadline);
  if (files !== null && files.draft.changes.length > 0) {
    log.enter('write');
    await record.note({ phase: 'write' });
    await writeFiles(context, files, { paths, run });
  }
  // The last moment at which a signal cancels the run.
  if (cancellation.signal.aborted) {
    await restoreStackFiles(context, data, directory);
    throw engine.abortion;
  }
  soFar.facts = { ...soFar.facts, touched: true };
  return replace(found, new Replacing(found, record, { isResumed: false, published }), planned);
}

/** The version that each service runs. A service with 0 replicas is omitted. */
function whatRuns(stack: string, moves: readonly ServiceMove[], version: string): string {
  const lasting = moves.filter(({ role }) => role !== 'once');
  const on = lasting.filter(({ wanted }) => replicasOf(wanted) !== 0);
  const names = and((on.length > 0 ? on : lasting).map((move) => shortName(stack, move)));
  return on.length > 0
    ? `${names} run${on.length > 1 ? '' : 's'} ${version}`
    : `${version} for ${names} (0 replicas)`;
}

/** The phases `recreate`, `verify` and `done`. They use only the record, so a resumed run takes the same steps. */
async function replace(
  found: FoundStack,
  replacing: Replacing,
  planned: PlannedStack | null = null,
): Promise<Ending> {
  const { context, chosen } = found;
  const { log, cancellation } = context;
  const { data } = replacing.record;
  cancellation.tooLate();
  log.enter('recreate');
  try {
    await replacing.forward();
  } catch (error) {
    replacing.tellOpen();
    throw await afterFailure(found, replacing, error);
  }
  log.enter('done');
  const version = data.to;
  const runs = whatRuns(chosen.name, data.moves, version);
  const took = seconds(performance.now() - context.beganAt);
  const { files, plan } = planned ?? {};
  const next =
    files && (files.withEnv || files.reader === 'compose')
      ? `to deploy these files later, run ${deployCommand(data.stack, files)}`
      : files || data.files.length > 0
        ? `to check it, run docker stack services ${data.stack}`
        : `the stack file still specifies ${data.from}: before the next deployment, change ${plan ? textToChange(plan) : 'the images'} in that file, or ${data.from} will start on migrated data`;
  replacing.tellOpen();
  return endWell(log, 'updated', `updated ${data.from} → ${version} in ${took}: ${runs}; ${next}`, {
    from: data.from,
    to: version,
    images: [...new Set(data.moves.map(({ image }) => image))],
  });
}

/** Rolls back if no new task has started. Gives the error for the last line. */
async function afterFailure(found: FoundStack, replacing: Replacing, error: unknown): Promise<unknown> {
  const { context } = found;
  const { log } = context;
  if (!(error instanceof UpdateError) || error.code === 'update-running') return error;
  if (error.code === 'engine-unavailable') {
    return new UpdateError('engine-lost', error.message, {
      state:
        'the connection to the Swarm was lost while services were being replaced; the progress was recorded',
      advice:
        'Check the nodes with docker node ls on a manager, then run {command} again. The update continues where this run stopped.',
    });
  }
  const detail = [...error.detail, ...(await lastWords(context, replacing))];
  const { data } = replacing.record;
  if (replacing.hasStarted) return stayedNew(data, error, detail);
  log.error(error.message);
  for (const line of detail) log.error(line);
  log.warn(`no task of ${data.to} has started; undoing all changes`);
  try {
    await rollBack(found, replacing);
  } catch (cause) {
    return replacing.hasStarted && cause instanceof UpdateError ? stayedNew(data, cause, []) : cause;
  }
  const isForeign = error.code === 'containers-changed';
  const stack = isForeign ? 'the external changes to the stack were kept' : `${data.from} is running again`;
  return new UpdateError(error.code, error.message, {
    isLogged: true,
    advice: error.advice,
    state: data.files.length > 0 ? `the files were restored, and ${stack}` : stack,
    cause: error,
  });
}

/** Describes the state of a stack that cannot be rolled back any more. */
function stayedNew(data: RecordData, error: UpdateError, detail: readonly string[]): UpdateError {
  const hasWorkers = data.moves.some(({ role }) => role === 'worker');
  return new UpdateError('broken', error.message, {
    detail,
    advice: error.advice,
    state: `${data.to} has started but is not healthy; nothing was rolled back, because its migrations may have run${hasWorkers ? '; no old worker is running' : ''}`,
    cause: error,
  });
}

async function rollBack({ context, directory }: FoundStack, replacing: Replacing): Promise<void> {
  try {
    await replacing.back();
  } finally {
    if (!replacing.hasStarted) await restoreStackFiles(context, replacing.record.data, directory);
  }
}

/** The last log lines of the last failed task, on any node. */
async function lastWords({ engine }: RunContext, replacing: Replacing): Promise<string[]> {
  const { failure } = replacing;
  if (failure === null || failure.node === '') return [];
  const asked = ['service', 'logs', '--raw', '--tail', '20', failure.id];
  const said = await engine
    .uncancellable()
    .call(asked, { deadlineMs: 10_000 })
    .catch(() => null);
  const lines = `${said?.stdout ?? ''}${said?.exitCode === 0 ? said.stderr : ''}`
    .split('\n')
    .filter((line) => line.trim() !== '');
  if (lines.length === 0) return [];
  return [
    `last log lines of the task on ${replacing.nodeName(failure.node)}:`,
    ...lines.map((line) => `  ${line}`),
  ];
}
