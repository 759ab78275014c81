import type { FoundInstance } from '../compose/inspect/find-project/find-instance.ts';
import { formatRunningVersion } from '../compose/inspect/log-installation.ts';
import { newVersionNameOf } from '../compose/plan/version-sentences.ts';
import { runPullPhase } from '../compose/pull/run-pull-phase.ts';
import type { ProjectRunState } from '../compose/recovery/project-run-state.ts';
import { formatSeconds } from '../run/log/format-values.ts';
import { logSuccess, type RunOutcome } from '../run/log/run-outcome.ts';
import type { RunContext } from '../run/run-context.ts';
import { planUpdateWithoutLock } from './show-plan.ts';

/**
 * Pulls all images of an update, after the same checks as the update. Takes no lock and writes no files. Moves no tag
 * of a local image, so the next `up` starts the same images as before.
 */
export async function fetchImages(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
): Promise<RunOutcome> {
  const { plan, plannedModel: early } = await planUpdateWithoutLock(context, instance, soFar);
  const prepared = await runPullPhase(context, plan, { earlyModel: early, journal: null });
  const to = newVersionNameOf(prepared);
  const took = formatSeconds(performance.now() - context.beganAt);
  return logSuccess(
    context.log,
    'fetched',
    `fetched ${to} in ${took}: all images are on this machine; ${formatRunningVersion(plan.installation)} is still running`,
    { to, images: [...new Set(prepared.references.values())] },
  );
}
