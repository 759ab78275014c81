// A stack of a Swarm (docs/contract.md, chapter 11): the door of this room, and the story of a run.

import { UpdateError } from '../../core/progress/update-error.ts';
import { listServices, swarmPlace } from '../../engine/api/swarm.ts';
import { swarmLabels } from '../../engine/labels.ts';
import type { RunContext } from '../run/run-context.ts';
import { stacksWithApp } from './choose-stack.ts';

export { showStackPlan } from './show-plan.ts';
export { updateStack } from './update.ts';

/**
 * Whether a run that has found no project is about a stack: the engine manages a Swarm that has one with an app. It is asked
 * only then, so that an instance of compose waits for no question more.
 * @param error of the search for a project
 */
export async function isStackInstead({ engine, options }: RunContext, error: unknown): Promise<boolean> {
  const isNone = error instanceof UpdateError && ['not-compose', 'not-mounted'].includes(error.code);
  if (!isNone || options.project !== null || options.container !== null) return false;
  try {
    if ((await swarmPlace(engine)) === null) return false;
    return stacksWithApp(await listServices(engine, { label: [swarmLabels.stack] }), options.app).length > 0;
  } catch {
    return false;
  }
}
