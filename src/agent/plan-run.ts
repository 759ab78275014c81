import type { ProjectContainers } from '../engine/api/project-containers.ts';
import { describeInstallation } from './inspect/describe.ts';
import { type FoundInstance, refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { makePlan } from './make-plan.ts';
import type { World } from './process/world.ts';
import type { RunSoFar } from './resume/run-so-far.ts';
import type { JournalData } from './state/journal.ts';
import { wasInterrupted } from './state/was-interrupted.ts';

/** What a run is about, and what it is going to do. */
export type PlannedRun = Awaited<ReturnType<typeof planRun>>;

/** The phases `inspect` and `plan`, of an update and of `plan` alike. `earlier` is the journal of the run before. */
export async function planRun(
  world: World,
  instance: FoundInstance,
  soFar: RunSoFar,
  { containers, leftovers, earlier }: ProjectContainers & { earlier: JournalData | null },
) {
  refuseForeignContainers(containers, instance, world.options, earlier);
  const interrupted = wasInterrupted(earlier, leftovers);
  const installation = await inspectInstallation(world, instance, interrupted, containers);
  soFar.installation = installation;
  describeInstallation(installation, world.log);
  world.log.enter('plan');
  const plan = await makePlan(world, installation, instance.own.id);
  return { installation, plan, interrupted };
}
