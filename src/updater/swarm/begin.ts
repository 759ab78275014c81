import { removeConfig } from '../../engine/api/swarm.ts';
import { logUnchanged } from '../run/last-lines.ts';
import type { Ending } from '../run/log/ending.ts';
import { requestOf } from '../run/options.ts';
import { runStamp } from '../run/state/kept-runs.ts';
import { checkServices } from './choose-stack.ts';
import { planStack } from './plan.ts';
import { planMoves } from './plan-moves.ts';
import { type RecordData, StackRecord } from './record.ts';
import type { StackSoFar, StackStart } from './settle.ts';
import { StackRun } from './stack-run.ts';
import { isWellNow } from './unchanged.ts';
import { versionsSentence } from './updated.ts';
import { hashesOf } from './write.ts';

/** Plans an update and makes its record; or ends it, if there is nothing to do. */
export async function beginStack(
  { found, ended, inherits }: StackStart,
  soFar: StackSoFar,
): Promise<StackRun | Ending> {
  const { context, chosen, who } = found;
  const { engine, log, options } = context;
  checkServices(chosen, found, { isOurs: inherits === 'halfway' });
  log.enter('plan');
  const plan = planMoves(chosen, found.tasks, options);
  const { from, to } = plan;
  soFar.facts = { ...soFar.facts, version: from };
  const planned = await planStack(found, ended, { plan, inherits });
  const { stopFirst, moves, files } = planned;
  for (const warning of planned.warnings) log.warn(warning);
  if (await isWellNow(found, planned)) {
    // What a killed run has left of itself before it touched anything.
    if (ended !== null && ended.labels.state.at !== 'ended') await removeConfig(engine, ended.config);
    return logUnchanged(context, versionsSentence({ stack: chosen.name, to, moves }), to);
  }
  const data: RecordData = {
    format: 2,
    run: runStamp(context.startedAt),
    stack: chosen.name,
    target: requestOf(options).target,
    from,
    to,
    stopFirst,
    moves,
    tasks: found.tasks.map(({ id }) => id),
    files: files === null ? [] : hashesOf(files.draft),
  };
  soFar.record?.release();
  soFar.record = await StackRecord.make(engine, data, who, ended);
  context.notifier.start(from, to);
  soFar.run = new StackRun(found, soFar.record, { planned });
  return soFar.run;
}
