import { fromWord } from '../compose/inspect/describe.ts';
import type { FoundInstance } from '../compose/inspect/find-instance.ts';
import { nameReached } from '../compose/plan/version-sentences.ts';
import { pullAndPrepare } from '../compose/pull/pull-and-prepare.ts';
import type { RunSoFar } from '../compose/resume/run-so-far.ts';
import { type Ending, endWell } from '../run/log/ending.ts';
import { seconds } from '../run/log/wording.ts';
import type { RunContext } from '../run/run-context.ts';
import { planUnlocked } from './show-plan.ts';

/**
 * Has here all that an update would pull, and refuses what it would refuse. Takes no lock, writes nothing, and moves no tag
 * that names an image here: nobody's next `up` sees a difference.
 */
export async function fetchImages(
  context: RunContext,
  instance: FoundInstance,
  soFar: RunSoFar,
): Promise<Ending> {
  const planned = await planUnlocked(context, instance, soFar);
  const { installation, plan } = planned;
  const { filePlan } = await pullAndPrepare(context, planned, null);
  const to = nameReached(plan, filePlan);
  const took = seconds(performance.now() - context.beganAt);
  return endWell(
    context.log,
    'fetched',
    `fetched ${to} in ${took}: all images are on this machine; ${fromWord(installation)} is still running`,
    { to, images: [...new Set(filePlan.references.values())] },
  );
}
