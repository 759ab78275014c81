import { expect, it } from 'vitest';
import { Engine } from '../../../../src/engine/cli/engine.ts';
import { ComposeRun } from '../../../../src/updater/compose/loop/compose-run.ts';
import { ComposeStepContext } from '../../../../src/updater/compose/loop/compose-step-context.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { changeover, ending, journalData } from '../../../build.ts';
import { runContext } from '../../../build-plan.ts';
import { startPlainEngine } from '../../../engine/http-engine.ts';

const rollingBack = { at: 'rolling-back', from: 'replacing', ending: ending('failed') } as const;

/** A run on an engine that returns an error for every request. */
async function prepared() {
  const host = await startPlainEngine((_, to) => {
    to.statusCode = 400;
    to.end('{"message":"not today"}');
  });
  const { context } = runContext(new Engine({ host, tls: [], configDirectory: '' }, { home: '/' }));
  const data = journalData({ changeover: changeover(), state: rollingBack });
  const journal = new Journal({ state: '/nonexistent', restore: async () => {} }, data);
  return { context, journal };
}

it('does not inspect containers before data and files are restored', async () => {
  const { context, journal } = await prepared();
  const { now } = await new ComposeRun(context, journal).inspect('rollback');
  expect(now).toEqual({ containers: [], leftovers: [] });
});

it('does not report a rollback as finished if the containers cannot be inspected', async () => {
  const { context, journal } = await prepared();
  const run = new ComposeRun(context, journal, { without: ['restore-files'] });
  await expect(run.inspect('rollback')).rejects.toMatchObject({
    code: 'containers-not-restored',
    outcome: 'broken',
  });
});

it('starts, awaits and compares a recreated container again', async () => {
  const { context, journal } = await prepared();
  const work = new ComposeStepContext(context, journal);
  const kept = ['restore-files', 'rebuild app-1', 'start worker-1'];
  for (const name of [...kept, 'start app-1', 'stop-old app-1', 'connect app-1', 'await-old', 'compare'])
    work.memory.done.add(name);
  work.restoreContext().onRebuilt('app-1');
  expect([...work.memory.done]).toEqual(kept);
  expect([...work.memory.rebuilt]).toEqual(['app-1']);
  work.restoreAgain(['restore-files']);
  expect([[...work.memory.done], work.memory.rebuilt.size]).toEqual([['restore-files'], 0]);
});
