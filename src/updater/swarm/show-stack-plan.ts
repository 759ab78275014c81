import { relative } from 'node:path';
import { logUpdatePlanResult } from '../run/last-lines.ts';
import { formatFileDifference } from '../run/log/difference.ts';
import { joinWithAnd } from '../run/log/format-values.ts';
import type { InitialRunContext } from '../run/run-context.ts';
import { inspectStack } from './plan/inspect-stack.ts';
import { planServiceUpdates } from './plan/plan-service-updates.ts';
import { describeServiceUpdate, planStackUpdate } from './plan/plan-stack.ts';
import { planStackRecovery } from './record/plan-stack-recovery.ts';
import { readStackRecord, stackRunPhaseOf } from './record/stack-record.ts';
import { listEligibleNodes, requireUpdatableServices } from './services/choose-stack.ts';
import { describeOverriddenUpdateConfig, hasOverlappingTasks, isActiveNode } from './services/specs.ts';

/** Logs what `update` would change, and returns the exit code. Changes nothing, pulls nothing and takes no lock. */
export async function showStackPlan(given: InitialRunContext): Promise<number> {
  const found = await inspectStack(given);
  const { context, chosen, nodes } = found;
  const { log, engine } = context;
  const previous = await readStackRecord(engine, chosen.name);
  const isOpen = previous !== null && previous.labels.state.at !== 'ended';
  if (isOpen)
    log.warn(
      `the run ${previous.data.run} is in progress or was interrupted during the ${stackRunPhaseOf(previous.labels)} phase; the next update resumes or undoes it first`,
    );
  requireUpdatableServices(chosen, found, { isOurs: isOpen });
  log.enterPhase('plan');
  const own = { holder: found.who.holder, services: chosen.services };
  const step = planStackRecovery(previous, own, context.options);
  const inherits = 'inherits' in step ? step.inherits : 'nothing';
  const plan = planServiceUpdates(chosen, found.tasks, context.options);
  const { from, to } = plan;
  const { stopFirst, moves, files, warnings } = await planStackUpdate(found, previous, { plan, inherits });
  log.info(`${from} → ${to}`);
  for (const move of moves) {
    log.info(describeServiceUpdate(chosen.name, move));
    const aside = describeOverriddenUpdateConfig(move.wanted);
    if (aside.length > 0)
      log.info(
        `while ${move.name} is being updated, ${joinWithAnd(aside)}; the original settings will be restored afterwards`,
      );
    const together = move.role === 'app' && hasOverlappingTasks(move.wanted) && !stopFirst;
    if (together)
      log.info(
        `old and new tasks of ${move.name} will briefly run at the same time; use --stop-first to prevent this`,
      );
  }
  const may = listEligibleNodes(chosen, nodes);
  log.info(
    `images are pulled on ${joinWithAnd(may.filter(isActiveNode).map(({ name }) => name))} before services are changed`,
  );
  if (files !== null) {
    const { directory, draft } = files;
    for (const change of draft.changes)
      for (const line of formatFileDifference(relative(directory, change.path), change, draft.files))
        log.info(line);
    if (draft.changes.length === 0) log.info('no file changes');
  }
  for (const warning of warnings) log.warn(warning);
  return logUpdatePlanResult(log).exitCode;
}
