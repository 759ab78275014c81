import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Preparation } from '../../../src/instance/contract/options.ts';
import { goodRun, lineOf, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { Rig, type Server, until } from './rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const booted = async (more: Parameters<Rig['server']>[1] = {}): Promise<Server> => {
  const one = await rig.server({}, more);
  await one.updates.boot();
  return one;
};
const stateOf = async ({ updates }: Server) => (await updates.record())?.run.state;
const ended = async (one: Server) => {
  await quiet(rig);
  return (await one.updates.record())?.run;
};
const updaters = () => rig.engine.containers.filter((one) => rig.engine.isUpdater(one));

describe('a start', () => {
  it('holds the queue before it looks for jobs, and again right before the container is made', async () => {
    const one = await booted();
    rig.state.calls.length = 0;
    await one.ask();
    await ended(one);
    const asked = rig.state.calls
      .map(({ part }) => part)
      .filter((part) => ['hold', 'jobs', 'resume'].includes(part));
    expect(asked).toEqual(['hold', 'jobs', 'hold', 'jobs', 'resume']);
  });

  it('is refused for jobs that are in the way, each of them told, and lets the queue go on', async () => {
    const one = await booted();
    rig.state.jobs.push(
      {
        kind: 'backup',
        state: 'running',
        title: 'nightly',
        stuck: true,
        since: new Date('2026-11-21T10:00:00Z'),
      },
      { kind: 'deployment', state: 'queued', title: 'web' },
      { kind: 'cron', state: 'queued' },
      { kind: 'a new kind', state: 'a new state', since: new Date(Number.NaN) },
    );
    const jobs = [
      { kind: 'backup', state: 'running', title: 'nightly', since: '2026-11-21T10:00:00.000Z', stuck: true },
      { kind: 'deployment', state: 'queued', title: 'web', since: null, stuck: false },
      { kind: 'job', state: 'running', title: null, since: null, stuck: false },
    ];
    const { reason } = await one.updates.status();
    expect(await one.ask()).toEqual({ reason });
    expect(reason).toMatchObject({ code: 'deployment-queued', jobs });
    await quiet(rig);
    expect([rig.past, updaters(), one.host.calls('onEnd')]).toEqual([[], [], []]);
  });

  it('is refused for a job that begins while the image is pulled', async () => {
    const one = await booted({ updaterPull: 'always' });
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    expect(await one.ask()).toHaveProperty('run');
    await until(() => pull.hits > 0);
    rig.state.jobs.push({ kind: 'job', state: 'running' });
    pull.release();
    expect(await ended(one)).toMatchObject({
      outcome: 'refused',
      code: 'job-running',
      advice: expect.any(String),
    });
    expect(updaters()).toEqual([]);
  });

  it('by force looks at no job', async () => {
    const one = await booted();
    rig.state.mayCutJobs = true;
    rig.state.jobs.push({ kind: 'job', state: 'running' }, { kind: 'deployment', state: 'queued' });
    expect(await one.ask({ force: true })).toHaveProperty('run');
    expect((await ended(one))?.outcome).toBe('updated');
    expect(one.host.calls('jobs')).toEqual([]);
  });

  it('beside the boot waits for it', async () => {
    const one = await rig.server();
    one.host.fail('get', { how: { slow: 100 } });
    const [, answer] = await Promise.all([one.updates.boot(), one.ask()]);
    expect(answer).toHaveProperty('run');
    expect((await ended(one))?.outcome).toBe('updated');
  });

  it.each(['broken', 'crashed'])('to what runs is taken again after %s', async (outcome) => {
    const one = await booted({ version: '1.5.0' });
    rig.state.store.set('history', JSON.stringify([]));
    rig.engine.updaterDoes(
      outcome === 'crashed'
        ? [{ exit: 0 }]
        : [
            {
              say: { phase: 'done', level: 'error', message: 'broken (not-healthy): it is away. Next: See.' },
            },
            { exit: 0 },
          ],
    );
    await one.ask({ target: 'v1.6.0' });
    expect((await ended(one))?.outcome).toBe(outcome);
    // Somebody has mended it by hand, to what was gone to.
    const two = await rig.server({ name: 'svc-app-2' }, { version: 'v1.6.0' });
    await two.updates.boot();
    rig.engine.updaterDoes([
      { say: { phase: 'done', message: 'unchanged: app and worker run v1.6.0' } },
      { exit: 0 },
    ]);
    expect(await two.ask({ target: 'v1.6.0' })).toHaveProperty('run');
    expect((await ended(two))?.outcome).toBe('unchanged');
    expect(await two.ask({ target: 'v1.6.0' })).toMatchObject({ reason: { code: 'up-to-date' } });
  });
});

describe('when idle', () => {
  it('waits until what runs has ended, keeps what is queued waiting, then goes', async () => {
    const one = await booted();
    const job = rig.state.startJob('backup', { title: 'nightly' });
    rig.state.jobs.push({ kind: 'deployment', state: 'queued' });
    expect(await one.ask({ when: 'idle' })).toMatchObject({
      run: { state: 'waiting', jobs: [{ title: 'nightly' }] },
    });
    await until(async () => (await one.updates.record())?.run.until);
    expect((await one.updates.record())?.run).toMatchObject({
      state: 'waiting',
      message: 'waiting for 1 job to end',
      jobs: [{ kind: 'backup', title: 'nightly' }],
    });
    expect([rig.state.isHeld, rig.state.startJob('cron')]).toEqual([true, null]);
    if (job) rig.state.endJob(job);
    expect((await ended(one))?.outcome).toBe('updated');
    expect((await one.updates.record())?.run.steps.map(({ state }) => state).slice(0, 2)).toEqual([
      'waiting',
      'launching',
    ]);
  });

  it('waits again for work that is found at the second look, and prepares once', async () => {
    const beforeUpdate = () => undefined;
    const one = await booted({ updaterPull: 'always', beforeUpdate });
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask({ when: 'idle' });
    await until(() => pull.hits > 0);
    const job = { kind: 'job', state: 'running' };
    rig.state.jobs.push(job);
    pull.release();
    await until(async () => (await stateOf(one)) === 'waiting');
    rig.state.endJob(job);
    const run = await ended(one);
    expect(run?.outcome).toBe('updated');
    expect(run?.steps.map(({ state }) => state).slice(0, 4)).toEqual([
      'preparing',
      'launching',
      'waiting',
      'launching',
    ]);
  });

  it.each([
    ['at once', 0],
    ['later', 60],
  ])('is refused for a job that is stuck %s', async (_, ms) => {
    const one = await booted();
    const job = rig.state.startJob('backup', { stuck: ms === 0 });
    const answer = await one.ask({ when: 'idle' });
    if (ms === 0) {
      expect(answer).toMatchObject({
        reason: { code: 'backup-running', message: expect.stringContaining('stuck') },
      });
    } else {
      await sleep(ms);
      if (job) job.stuck = true;
      expect(await ended(one)).toMatchObject({ outcome: 'refused', code: 'backup-running' });
    }
    await quiet(rig);
    expect(updaters()).toEqual([]);
  });

  it('gives up in the end, with the code of the first job in the way', async () => {
    const one = await booted({ idleTimeout: 0.1 });
    rig.state.startJob('cron');
    await one.ask({ when: 'idle' });
    expect(await ended(one)).toMatchObject({
      outcome: 'refused',
      code: 'cron-running',
      message: expect.stringMatching(/nothing was changed/),
    });
  });
});

describe('beforeUpdate', () => {
  it('runs once between hold and launch, and what it says is told', async () => {
    const asked: Preparation[] = [];
    const done = Promise.withResolvers<void>();
    const one = await booted({
      preparation: 'A dump of the database is made first.',
      beforeUpdate: async (preparation) => {
        asked.push(preparation);
        preparation.say('pg_dump: 42 MB');
        await done.promise;
      },
    });
    await one.ask({ target: 'v2.0.0' });
    await until(async () => (await one.updates.record())?.run.message === 'pg_dump: 42 MB');
    expect(asked).toMatchObject([{ from: 'v1.4.2', target: 'v2.0.0', major: true, run: rig.open?.run.id }]);
    expect([rig.state.isHeld, updaters(), await stateOf(one)]).toEqual([true, [], 'preparing']);
    await until(() => rig.open?.run.state === 'preparing');
    expect((await one.updates.status()).preparation).toBe('A dump of the database is made first.');
    done.resolve();
    await ended(one);
    expect([asked.length, asked[0]?.signal.aborted]).toEqual([1, true]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('pg_dump: no space');
      },
      'pg_dump: no space',
    ],
    ['gives a sentence', () => 'The dump is 2 days old.', 'The dump is 2 days old.'],
    ['hangs', () => new Promise(() => {}), 'beforeUpdate() did not answer within 0.1 s'],
  ])('that %s refuses the update', async (_, beforeUpdate, cause) => {
    const one = await booted({ beforeUpdate, preparationTimeout: 0.1 });
    await one.ask();
    expect(await ended(one)).toMatchObject({ outcome: 'refused', code: 'not-prepared', cause });
    expect(updaters()).toEqual([]);
  });
});

describe('cancel', () => {
  const cancel = (one: Server) => one.updates.cancel('ben');
  const stopped = {
    outcome: 'cancelled',
    cancelAskedBy: 'ben',
    message: expect.stringMatching(/nothing was changed/),
  };

  it('of nothing is refused', async () => {
    const one = await booted();
    expect(await cancel(one)).toMatchObject({ reason: { code: 'not-running' } });
    await one.ask();
    await ended(one);
    expect(await cancel(one)).toMatchObject({ reason: { code: 'not-running' } });
  });

  it.each([['its start', /\/start$/]])(
    'in launching, at %s: the updater is never started',
    async (_, match) => {
      rig.engine.updaterDoes([]);
      const one = await booted();
      // Two looks are the request's own.
      const fault = rig.engine.fault({
        kind: 'hang',
        match,
        nth: String(match).includes('svc-updater') ? 2 : 1,
      });
      await one.ask();
      await until(() => fault.hits > 0);
      const asked = cancel(one);
      expect(await asked).toHaveProperty('run');
      expect(await ended(one)).toMatchObject({ outcome: 'cancelled', cancelAskedBy: 'ben' });
      expect(updaters().filter(({ status }) => status === 'created')).toEqual([]);
    },
  );

  it.each([
    ['inspect', 2],
    ['write', 6],
  ] as const)('in %s: asked of the updater', async (phase, lines) => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, lines));
    const one = await booted();
    await one.ask();
    await until(async () => (await stateOf(one)) === phase);
    expect(await cancel(one)).toMatchObject({ run: { cancelAskedBy: 'ben' } });
    expect(await ended(one)).toMatchObject({ ...stopped, message: 'nothing was changed, v1.4.2 runs on' });
  });

  it.each([['recreate', 7]] as const)('in %s is too late', async (phase, lines) => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, lines));
    const one = await booted();
    await one.ask();
    await until(async () => (await stateOf(one)) === phase);
    expect(await cancel(one)).toMatchObject({ reason: { code: 'too-late' } });
    rig.engine.updater.say(lineOf({ phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' }));
    rig.engine.updater.exit(0);
    expect(await ended(one)).toMatchObject({ outcome: 'updated', cancelAskedBy: null });
  });
});

describe('the end of the server', () => {
  it.each(['waiting', 'preparing', 'launching'] as const)('in %s ends the run', async (state) => {
    const one = await booted({
      updaterPull: 'always',
      beforeUpdate: () => (state === 'preparing' ? new Promise(() => {}) : undefined),
    });
    if (state === 'waiting') rig.state.startJob('backup');
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask({ when: 'idle' });
    await until(async () => (await stateOf(one)) === state && (state !== 'launching' || pull.hits > 0));
    await one.updates.close();
    expect([rig.open, rig.past[0]?.run.outcome, rig.state.isHeld, updaters()]).toEqual([
      null,
      'cancelled',
      false,
      [],
    ]);
    expect(rig.ends).toHaveLength(1);
  });

  it('in a run leaves it alone, and the next one measures the absence', async () => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
    const one = await booted();
    await one.ask();
    await until(async () => (await stateOf(one)) === 'verify');
    await one.updates.close();
    expect([rig.open?.run.id !== undefined, rig.state.isHeld]).toEqual([true, true]);
    await expect(one.ask()).rejects.toThrow('closing');
    await sleep(250);
    const two = await rig.server({ name: 'svc-app-1b' }, { version: 'v1.5.0' });
    const stoppedAt = () => (rig.open as { serverStoppedAt?: unknown } | null)?.serverStoppedAt;
    expect(stoppedAt()).toEqual(expect.any(String));
    await two.updates.boot();
    // A later boot does not measure from that end again.
    expect(stoppedAt()).toBeNull();
    rig.engine.updater.say(lineOf({ phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' }));
    rig.engine.updater.exit(0);
    const run = await ended(two);
    expect(run).toMatchObject({ outcome: 'updated', by: 'anna' });
    expect(run?.away).toBeGreaterThan(0.1);
    expect(run?.away).toBeLessThan(5);
    expect((await two.updates.history()).map(({ id }) => id)).toEqual([run?.id]);
  });
});

it('names build servers that stay behind', async () => {
  const buildServers = () => [
    { name: 'build-1', version: '1.5.0', command: 'apt upgrade' },
    { name: 'build-2', version: 'v1.4.0', command: 'svc-worker update' },
    { name: 'build-3', version: 'unknown', command: 'apt upgrade' },
  ];
  const one = await booted({ buildServers });
  expect((await one.updates.status()).buildServers).toEqual([
    { name: 'build-1', version: 'v1.5.0', behind: false, command: 'apt upgrade' },
    { name: 'build-2', version: 'v1.4.0', behind: true, command: 'svc-worker update' },
    { name: 'build-3', version: 'unknown', behind: true, command: 'apt upgrade' },
  ]);
  rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
  await one.ask();
  expect((await ended(one))?.warnings).toEqual([
    'build server build-2 stays behind with v1.4.0: svc-worker update',
    'build server build-3 stays behind with unknown: apt upgrade',
  ]);
});
