import { isUp } from '../../engine/objects/container.ts';
import type { OutcomeDetails } from '../run/log/outcome-details.ts';
import { logLastLine } from '../run/log/run-outcome.ts';
import type { InitialRunContext, RunContext } from '../run/run-context.ts';
import { runSteps } from '../run/run-steps.ts';
import type { RecoveryResult } from '../run/run-update.ts';
import { runOutcomeOf, unfinishedStateOf } from '../run/state/run-state.ts';
import { fetchStackState, type InspectedStack, inspectStack } from './plan/inspect-stack.ts';
import { removePullServices } from './pull/pull-stack.ts';
import { planStackRecovery, type SpecInheritance, specInheritanceOf } from './record/plan-stack-recovery.ts';
import {
  type FoundStackRecord,
  readStackRecord,
  StackRecord,
  stackRunPhaseOf,
  waitUntilRecordHolderInactive,
} from './record/stack-record.ts';
import { StackRun } from './rollout/stack-run.ts';
import { restoreStackFiles } from './rollout/write-stack-files.ts';
import { createServiceUpdateMaskRules } from './services/service-mask-rules.ts';

/** State of a run so far, for its last log line and its cleanup. */
export interface StackRunProgress {
  found: InspectedStack | null;
  facts: OutcomeDetails;
  /** Record of this run or, until that record is created, the record taken over from the previous run. */
  record: StackRecord | null;
  /** Run whose changes have not been rolled back; null if there is none. */
  run: StackRun | null;
}

export interface StackUpdateInput {
  found: InspectedStack;
  /** Record of the previous run, which this run's record replaces. */
  previousRecord: FoundStackRecord | null;
  inherits: SpecInheritance;
}

/** Finds the stack, and resumes or undoes the previous run if necessary. */
export async function recoverStackRun(
  given: InitialRunContext,
  soFar: StackRunProgress,
): Promise<RecoveryResult<StackUpdateInput, StackRun>> {
  const first = await inspectStack(given);
  soFar.found = first;
  const { context, who, directory } = first;
  const { engine, log, cancellation, options } = context;
  const ended = await awaitPreviousRun(context, first, await readStackRecord(engine, first.chosen.name));
  const found = { ...first, ...(await fetchStackState(context)) };
  const { chosen } = found;
  soFar.facts = { ...soFar.facts, services: [chosen.app, ...chosen.workers].map(({ name }) => name) };
  const settled = (left: Partial<StackUpdateInput> = {}) =>
    ({ kind: 'settled', left: { found, previousRecord: ended, inherits: 'nothing', ...left } }) as const;
  const step = planStackRecovery(ended, { holder: who.holder, services: chosen.services }, options);
  if (ended === null || step.kind === 'none') return settled();
  const { data, labels } = ended;
  log.addMaskRules(() => createServiceUpdateMaskRules(data.moves));
  const story = describePreviousRun(ended);
  switch (step.kind) {
    case 'repeat':
      return { kind: 'ended', ending: logLastLine({ ...step.ending, exitCode: 0 }, log) };
    case 'set-aside':
      log.warn(
        `${story}; the stack has been changed since, so this run undoes nothing and discards the record of that run`,
      );
      return settled({ inherits: step.inherits });
    case 'succeed':
      log.warn(`${story}; this run keeps the changes made so far and continues the update`);
      soFar.facts = {
        ...soFar.facts,
        interruptedState: `the changes made by run ${data.run} (to ${data.to}) were kept`,
      };
      return settled({ inherits: step.inherits });
    case 'files-back':
      log.warn(`${story}; no service was changed, so the update starts again from the beginning`);
      await restoreStackFiles(context, data, directory);
      return settled({ inherits: step.inherits });
    case 'go-on':
    case 'back': {
      log.warn(`${story}; ${step.kind === 'back' ? 'undoing its changes first' : 'resuming it'}`);
      const record = await StackRecord.takeOver(engine, ended, who, step.state);
      const run = new StackRun(found, record, { earlier: labels.state });
      soFar.record = record;
      soFar.run = run;
      soFar.facts = { ...soFar.facts, version: data.from };
      await removePullServices(engine, data.stack);
      cancellation.disable();
      log.enterPhase('recreate');
      if (step.kind === 'go-on') return { kind: 'resume', run };
      await runSteps(run, 'rollback', log);
      soFar.run = null;
      // Keep the previous run's record until it is replaced. If this run is killed first, the next run sees that the
      // rollback is complete.
      return settled({
        found: { ...found, ...(await fetchStackState(context)) },
        previousRecord: await readStackRecord(engine, data.stack),
        inherits: specInheritanceOf(data),
      });
    }
  }
}

function describePreviousRun({ data, labels }: FoundStackRecord): string {
  const name = `the run ${data.run} (${data.from} → ${data.to})`;
  const ending = runOutcomeOf(labels.state);
  const during =
    unfinishedStateOf(labels.state) === null ? '' : ` during the ${stackRunPhaseOf(labels)} phase`;
  return ending
    ? `${name} ended with the outcome ${ending.outcome}${during}`
    : `${name} was interrupted${during}`;
}

/**
 * Waits until the previous run has ended or seems dead. Returns that run's record; null if there is no record.
 * @throws UpdateError update-running, stack-busy
 */
async function awaitPreviousRun(
  { engine, log }: RunContext,
  { who }: InspectedStack,
  found: FoundStackRecord | null,
): Promise<FoundStackRecord | null> {
  if (found === null) return found;
  const { state, run, holder, container, node } = found.labels;
  if (state.at === 'ended' || holder === who.holder || container === who.container) return found;
  // The engine on this node shows whether the other updater's container is still running.
  if (node === who.node) {
    const [other] = await engine.inspectContainers([container]);
    if (!other || !isUp(other)) return found;
  }
  log.info(`the run ${run} has locked the stack; waiting up to 45 s to see whether it is still active`);
  return waitUntilRecordHolderInactive(engine, found);
}
