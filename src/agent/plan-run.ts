import type { ProjectContainers } from '../engine/api/project-containers.ts';
import { describeInstallation } from './inspect/describe.ts';
import { type FoundInstance, refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { makePlan } from './make-plan.ts';
import type { RunContext } from './process/run-context.ts';
import type { RunSoFar } from './resume/run-so-far.ts';
import type { JournalData } from './state/journal.ts';
import { wasInterrupted } from './state/was-interrupted.ts';

/** What a run is about, and what it is going to do. */
export type PlannedRun = Awaited<ReturnType<typeof planRun>>;

/** The phases `inspect` and `plan`, of an update and of `plan` alike. `earlier` is the journal of the run before. */
export async function planRun(
  context: RunContext,
  instance: FoundInstance,
  soFar: RunSoFar,
  { containers, leftovers, earlier }: ProjectContainers & { earlier: JournalData | null },
) {
  refuseForeignContainers(containers, instance, context.options, earlier);
  const interrupted = wasInterrupted(earlier, leftovers);
  const installation = await inspectInstallation(context, instance, interrupted, containers);
  soFar.installation = installation;
  describeInstallation(installation, context.log);
  context.log.enter('plan');
  const plan = await makePlan(context, installation, instance.own.id);
  return { installation, plan, interrupted };
}
