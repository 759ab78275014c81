// Entry point for updating a compose project. `src/updater/run/run-update.ts` defines the order of the steps.

import type { RunOutcome } from '../run/log/run-outcome.ts';
import type { RunContext } from '../run/run-context.ts';
import { runUpdate } from '../run/run-update.ts';
import { takeLock } from '../run/state/lock.ts';
import { beginUpdate } from './begin-update.ts';
import type { FoundInstance } from './inspect/find-project/find-instance.ts';
import type { ProjectRunState } from './recovery/project-run-state.ts';
import { recoverPreviousRun } from './recovery/recover-previous-run.ts';
import { removePreviousRehearsal } from './rehearsal/rehearsal-record.ts';

export async function updateProject(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): Promise<RunOutcome> {
  const lock = await takeLock(context, instance.own, instance.location.mountedAt);
  soFar.lock = lock;
  await removePreviousRehearsal(context, instance);
  const locked = { instance, lock };
  const previous = await recoverPreviousRun(context, locked, soFar);
  return runUpdate(previous, (left) => beginUpdate(context, locked, soFar, left), context.log);
}
