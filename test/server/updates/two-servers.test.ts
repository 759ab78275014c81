import { beforeEach, expect, it } from 'vitest';
import { workOf } from '../../rig/engine-double/script.ts';
import { judge, quiet } from './invariants.ts';
import { freshRigs, rig, runOf, type Server, until } from './rig.ts';
import { endGood } from './scene.ts';

// Two servers of one instance behind one proxy share one run, whichever server receives a request.

let one: Server;
let two: Server;
freshRigs();
beforeEach(async () => {
  one = await rig.booted({ name: 'svc-app-1' });
  two = await rig.booted({ name: 'svc-app-2' });
});

it('two servers start one run for two simultaneous requests, and both report it once', async () => {
  rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
  const answers = await Promise.all([one.ask(), two.ask()]);
  expect(answers.filter((answer) => 'run' in answer)).toHaveLength(1);
  expect(answers.find((answer) => 'reason' in answer)).toMatchObject({
    reason: { code: 'update-running' },
  });
  for (const server of [one, two]) await until(async () => (await runOf(server))?.state === 'verify');
  expect((await runOf(one))?.id).toBe((await runOf(two))?.id);
  endGood(rig.engine.updater);
  expect(await judge(rig, { accepted: true })).toEqual([]);
  expect(rig.ends).toHaveLength(1);
  for (const { told } of [one, two]) expect(told).toEqual(['start v1.5.0', 'end updated']);
  expect(await one.updates.history()).toEqual(await two.updates.history());
});

it('a server follows a run that another server prepares', async () => {
  const job = rig.state.startJob('backup');
  await one.ask({ when: 'idle' });
  await until(() => rig.open?.run.state === 'waiting');
  const three = await rig.server({ name: 'svc-app-3' }, { timing: { watch: 600_000 } });
  await three.updates.boot();
  if (job) rig.state.endJob(job);
  await until(() => three.told.includes('end updated'));
  await quiet(rig);
});

it.each(['waiting', 'preparing', 'launching'])(
  'any server can cancel the run of another server in the state %s',
  async (state) => {
    const three = await rig.server(
      { name: 'svc-app-3' },
      {
        updaterPull: 'always',
        beforeUpdate: () => (state === 'preparing' ? new Promise(() => {}) : undefined),
      },
    );
    await three.updates.boot();
    if (state === 'waiting') rig.state.startJob('backup');
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await three.ask({ when: 'idle' });
    await until(async () => (await runOf(two))?.state === state && (state !== 'launching' || pull.hits > 0));
    expect(await two.updates.cancel('ben')).toMatchObject({ run: { cancelRequestedBy: 'ben' } });
    await quiet(rig);
    for (const server of [one, two, three]) {
      await until(async () => (await runOf(server))?.outcome === 'cancelled');
      expect(await runOf(server)).toMatchObject({ cancelRequestedBy: 'ben' });
    }
    expect([rig.ends.length, rig.updaters]).toEqual([1, []]);
  },
);

it('the remaining server ends a waiting run whose server has died', async () => {
  rig.state.startJob('backup');
  await one.ask({ when: 'idle' });
  await until(async () => (await runOf(two))?.state === 'waiting');
  await one.die();
  one.place.container.vanish();
  await until(async () => (await runOf(two))?.outcome === 'cancelled');
  rig.state.jobs.length = 0;
  await quiet(rig);
  expect([rig.past.length, rig.ends.length]).toEqual([1, 1]);
});
