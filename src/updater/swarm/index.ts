// Entry points for updates of Swarm stacks (docs/contract.md, chapter 11).

import { UpdateError } from '../../core/errors/update-error.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { swarmLabels } from '../../engine/objects/labels.ts';
import {
  listSwarmServices,
  readSwarmManagerInfo,
  removeSwarmConfig,
} from '../../engine/swarm/swarm-requests.ts';
import { logUnchangedOutcome } from '../run/last-lines.ts';
import { unknownOutcomeDetails } from '../run/log/outcome-details.ts';
import type { RunOutcome } from '../run/log/run-outcome.ts';
import { storedRequestOf } from '../run/options/update-options.ts';
import { runAndLogOutcome } from '../run/run-and-log-outcome.ts';
import type { InitialRunContext, RunContext } from '../run/run-context.ts';
import { runUpdate } from '../run/run-update.ts';
import { formatRunName } from '../run/state/run-names.ts';
import { isStackUpToDate } from './plan/is-stack-up-to-date.ts';
import { planServiceUpdates } from './plan/plan-service-updates.ts';
import { planStackUpdate } from './plan/plan-stack.ts';
import { StackRecord, type StackRecordData } from './record/stack-record.ts';
import { recoverStackRun, type StackRunProgress, type StackUpdateInput } from './recover-stack.ts';
import { formatServiceVersions } from './rollout/log-updated-stack-outcome.ts';
import { StackRun } from './rollout/stack-run.ts';
import { fileHashesOf } from './rollout/write-stack-files.ts';
import { listStacksWithApp, requireUpdatableServices } from './services/choose-stack.ts';

export { showStackPlan } from './show-stack-plan.ts';

/** Returns the exit code. The last log line and the record report the same outcome. */
export async function updateStack(given: InitialRunContext): Promise<number> {
  const { options, engine, log } = given;
  const facts = { ...unknownOutcomeDetails, product: options.product };
  const soFar: StackRunProgress = { found: null, facts, record: null, run: null };
  return runAndLogOutcome(given, {
    work: async () =>
      runUpdate(await recoverStackRun(given, soFar), (start) => beginStack(start, soFar), log),
    facts: () => ({ ...soFar.facts, mayHaveReplaced: soFar.run?.isReplacing ?? false }),
    close: (outcome) => close(engine, soFar, outcome),
    recordCrash: () => (soFar.found?.own.restartPolicy ?? 'no') !== 'no',
    afterShutdown: 'the next run resumes this update',
  });
}

/** Plans the update and creates its record. Returns an outcome if there is nothing to update. */
async function beginStack(
  { found, previousRecord: ended, inherits }: StackUpdateInput,
  soFar: StackRunProgress,
): Promise<StackRun | RunOutcome> {
  const { context, chosen, who } = found;
  const { engine, log, options } = context;
  requireUpdatableServices(chosen, found, { isOurs: inherits === 'halfway' });
  log.enterPhase('plan');
  const plan = planServiceUpdates(chosen, found.tasks, options);
  const { from, to } = plan;
  soFar.facts = { ...soFar.facts, version: from };
  const planned = await planStackUpdate(found, ended, { plan, inherits });
  const { stopFirst, moves, files } = planned;
  for (const warning of planned.warnings) log.warn(warning);
  if (await isStackUpToDate(found, planned)) {
    // Nothing is left to recover from an interrupted run, so its record is removed.
    if (ended !== null && ended.labels.state.at !== 'ended') await removeSwarmConfig(engine, ended.config);
    return logUnchangedOutcome(context, formatServiceVersions({ stack: chosen.name, to, moves }), to);
  }
  const data: StackRecordData = {
    format: 2,
    run: formatRunName(context.startedAt),
    stack: chosen.name,
    target: storedRequestOf(options).target,
    from,
    to,
    stopFirst,
    moves,
    tasks: found.tasks.map(({ id }) => id),
    files: files === null ? [] : fileHashesOf(files.draft),
  };
  soFar.record?.release();
  soFar.record = await StackRecord.create(engine, data, who, ended);
  context.notifier.announceRun(from, to);
  soFar.run = new StackRun(found, soFar.record, { planned });
  return soFar.run;
}

async function close(
  engine: Engine,
  { found, record }: StackRunProgress,
  outcome: RunOutcome,
): Promise<void> {
  if (found === null) return;
  // If the outcome cannot be recorded, the next run recovers from the record. The last log line is already written.
  await record?.recordOutcome(outcome).catch(() => {});
  record?.release();
  const { id, restartPolicy } = found.own;
  if (restartPolicy === 'no') return;
  const quiet = engine.uncancellable().quiet();
  await quiet.setRestartPolicy(id, 'no').catch(() => {});
}

/**
 * Returns whether to update a stack. Queries the engine only if no compose project was found.
 * @param error - error from the search for a compose project
 */
export async function shouldFallBackToStack(
  { engine, options }: RunContext,
  error: unknown,
): Promise<boolean> {
  const isNone = error instanceof UpdateError && ['not-compose', 'not-mounted'].includes(error.code);
  if (!isNone || options.project !== null || options.container !== null) return false;
  try {
    if ((await readSwarmManagerInfo(engine)) === null) return false;
    return (
      listStacksWithApp(await listSwarmServices(engine, { label: [swarmLabels.stack] }), options.app).length >
      0
    );
  } catch {
    return false;
  }
}
