// A stack of a Swarm (docs/contract.md, chapter 11): the door of this room.

import { UpdateError } from '../../core/progress/update-error.ts';
import { listServices, swarmPlace } from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { swarmLabels } from '../../engine/labels.ts';
import type { Ending } from '../run/log/ending.ts';
import { nothingKnown } from '../run/log/ending-facts.ts';
import type { FirstContext, RunContext } from '../run/run-context.ts';
import { runToEnd } from '../run/run-to-end.ts';
import { update } from '../run/update.ts';
import { beginStack } from './begin.ts';
import { stacksWithApp } from './choose-stack.ts';
import { type StackSoFar, settleStack } from './settle.ts';

export { showStackPlan } from './show-plan.ts';

/** Updates a stack. Gives the exit code; the last line and the record say the same. */
export async function updateStack(given: FirstContext): Promise<number> {
  const { options, engine, log } = given;
  const facts = { ...nothingKnown, product: options.product };
  const soFar: StackSoFar = { found: null, facts, record: null, run: null };
  return runToEnd(given, {
    work: () =>
      update({ settle: () => settleStack(given, soFar), begin: (start) => beginStack(start, soFar) }, log),
    facts: () => ({ ...soFar.facts, touched: soFar.run?.isReplacing ?? false }),
    close: (ending) => close(engine, soFar, ending),
    recordCrash: () => (soFar.found?.own.restartPolicy ?? 'no') !== 'no',
    afterShutdown: 'the next run resumes this update',
  });
}

async function close(engine: Engine, { found, record }: StackSoFar, ending: Ending): Promise<void> {
  if (found === null) return;
  // If the outcome cannot be written, the next run resumes from the record. The log has its last line.
  await record?.end(ending).catch(() => {});
  record?.release();
  const { id, restartPolicy } = found.own;
  if (restartPolicy === 'no') return;
  const quiet = engine.uncancellable().quiet();
  await quiet.setRestartPolicy(id, 'no').catch(() => {});
}

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
