// A stack of a Swarm (docs/contract.md, chapter 11): the door of this room, and the story of a run.

import { listServices, swarmPlace } from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { swarmLabels } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { findInstance } from '../inspect/find-instance.ts';
import { Log } from '../log/log.ts';
import type { RunContext } from '../process/run-context.ts';
import { stacksWithApp } from './choose-stack.ts';

export { showStackPlan } from './show-plan.ts';
export { updateStack } from './update.ts';

/**
 * Whether the run is about a stack: one that is named, else one with an app where no mounted directory is a compose
 * project's. @throws UpdateError engine-away
 */
export async function isStackRun(context: RunContext): Promise<boolean> {
  const { engine, options } = context;
  if (options.stack !== null) return true;
  if (options.project !== null || options.container !== null) return false;
  // An engine that cannot be used is told of by the one who looks for a project.
  if (!(await hasStackWithApp(engine, options.app).catch(() => false))) return false;
  const quiet = { ...context, log: new Log(() => {}) };
  return findInstance(quiet).then(
    () => false,
    (error) => error instanceof UpdateError && ['not-compose', 'not-mounted'].includes(error.code),
  );
}

async function hasStackWithApp(engine: Engine, app: string): Promise<boolean> {
  if ((await swarmPlace(engine)) === null) return false;
  return stacksWithApp(await listServices(engine, { label: [swarmLabels.stack] }), app).length > 0;
}
