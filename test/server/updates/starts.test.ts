import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Preparation } from '../../../src/server/contract/instance-options.ts';
import { noQueue } from '../../../src/server/contract/validate-options.ts';
import type { ImageDouble } from '../../rig/engine-double/images.ts';
import { badRun, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { freshRigs, rig, runOf, type Server, until } from './rig.ts';

freshRigs();

const booted = (more: Parameters<typeof rig.booted>[1] = {}) => rig.booted({}, more);
const stateOf = async (one: Server) => (await runOf(one))?.state;
const ended = async (one: Server) => {
  await quiet(rig);
  return await runOf(one);
};

describe('the start of an update', () => {
  it('is rejected because of blocking jobs, lists them and resumes the queue', async () => {
    const one = await booted();
    const since = new Date('2026-11-21T10:00:00Z');
    rig.state.jobs.push(
      { kind: 'deployment', state: 'queued', title: 'web', stuck: true, since },
      { kind: 'cron', state: 'queued' },
      { kind: 'a new kind', state: 'a new state', since: new Date(Number.NaN) },
    );
    const jobs = [
      { kind: 'deployment', state: 'queued', title: 'web', since: since.toISOString(), stuck: true },
      { kind: 'job', state: 'running', title: null, since: null, stuck: false },
    ];
    const { reason } = await one.updates.status();
    expect(await one.ask()).toEqual({ reason });
    expect(reason).toMatchObject({ code: 'deployment-queued', jobs });
    await quiet(rig);
    expect([rig.past, rig.updaters, one.host.calls('onEnd')]).toEqual([[], [], []]);
  });

  it('is refused because of a job that starts during the pull', async () => {
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
    expect(rig.updaters).toEqual([]);
  });

  it('with force ignores jobs', async () => {
    const one = await booted();
    rig.state.mayCutJobs = true;
    rig.state.jobs.push({ kind: 'job', state: 'running' }, { kind: 'deployment', state: 'queued' });
    expect(await one.ask({ force: true })).toHaveProperty('run');
    expect((await ended(one))?.outcome).toBe('updated');
    expect(one.host.calls('jobs')).toEqual([]);
  });

  it('waits until the server has started', async () => {
    const one = await rig.server();
    const slow = one.host.fail('get', { how: 'hang' });
    const both = Promise.all([one.ask(), one.updates.boot()]);
    await until(() => slow.hits > 0);
    slow.release();
    expect((await both)[0]).toHaveProperty('run');
    expect((await ended(one))?.outcome).toBe('updated');
  });

  it.each([
    ['broken', [...badRun([], 'broken', 'not-healthy').slice(0, -1), { exit: 0 }]],
    ['crashed', [{ exit: 0 }]],
  ])('with the running version as target is allowed after the outcome %s', async (outcome, script) => {
    const one = await booted({ version: '1.5.0' });
    rig.engine.updaterDoes(script);
    await one.ask({ target: 'v1.6.0' });
    expect((await ended(one))?.outcome).toBe(outcome);
    // An admin has manually completed the update to the target version.
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

describe('an update when idle', () => {
  it('waits again for jobs that start later, and prepares once', async () => {
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
  ])('is refused because of a stuck job %s', async (_, ms) => {
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
    expect(rig.updaters).toEqual([]);
  });
});

describe('beforeUpdate', () => {
  it('runs once between hold and launch, and its messages are reported', async () => {
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
    await until(async () => (await runOf(one))?.message === 'pg_dump: 42 MB');
    expect(asked).toMatchObject([{ from: 'v1.4.2', target: 'v2.0.0', major: true, run: rig.open?.run.id }]);
    expect([rig.state.isHeld, rig.updaters, await stateOf(one)]).toEqual([true, [], 'preparing']);
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
    ['hangs', () => new Promise(() => {}), 'beforeUpdate() did not respond within 0.1 s'],
  ])('that %s causes the outcome refused', async (_, beforeUpdate, cause) => {
    const one = await booted({ beforeUpdate, preparationTimeoutSeconds: 0.1 });
    await one.ask();
    expect(await ended(one)).toMatchObject({ outcome: 'refused', code: 'not-prepared', cause });
    expect(rig.updaters).toEqual([]);
  });
});

describe('a cancel', () => {
  const cancel = (one: Server) => one.updates.cancel('ben');

  it('during the launch prevents the start of the updater', async () => {
    rig.engine.updaterDoes([]);
    const one = await booted();
    const fault = rig.engine.fault({ kind: 'hang', match: /\/start$/ });
    await one.ask();
    await until(() => fault.hits > 0);
    expect(await cancel(one)).toHaveProperty('run');
    expect(await ended(one)).toMatchObject({ outcome: 'cancelled', cancelRequestedBy: 'ben' });
    expect(rig.updaters.filter(({ status }) => status === 'created')).toEqual([]);
  });

  it('in the phase write is passed to the updater', async () => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 6));
    const one = await booted();
    await one.ask();
    await until(async () => (await stateOf(one)) === 'write');
    expect(await cancel(one)).toMatchObject({ run: { cancelRequestedBy: 'ben' } });
    expect(await ended(one)).toMatchObject({
      outcome: 'cancelled',
      cancelRequestedBy: 'ben',
      message: 'nothing was changed; v1.4.2 is still running',
    });
  });
});

describe('an updater from the image of its server', () => {
  it.each<[found: string, by: RegExp, change: (image: ImageDouble) => unknown]>([
    ['its digest', /^acme\/svc@sha256:/, () => {}],
    [
      'the digest in its own repository',
      /^acme\/svc@/,
      ({ digests }) => digests.unshift('other/svc@sha256:1'),
    ],
    [
      'its digest with the registry in its name',
      /^docker\.io\/acme\/svc@/,
      (image) => Object.assign(image, { digests: [`docker.io/${image.digests[0]}`] }),
    ],
    // With the containerd store, a pull of a moved tag removes the digest.
    ['its id', /^sha256:/, (image) => Object.assign(image, { references: [], digests: [] })],
  ])('is created by %s, without a pull', async (_, reference, change) => {
    const one = await booted({ updaterImage: null, updaterPull: 'always' });
    change(rig.engine.images.find('acme/svc:v1.4.2') as ImageDouble);
    const pull = rig.engine.fault({ kind: 'refuse', match: /images\/create/ });
    await one.ask();
    expect((await ended(one))?.outcome).toBe('updated');
    expect([rig.updaters[0]?.spec.Image, pull.hits]).toEqual([expect.stringMatching(reference), 0]);
  });

  it.each([[null], ['acme/svc:v1.4.2']])(
    'is not created if the image is of the product: %s',
    async (updaterImage) => {
      const one = await booted({ updaterImage });
      const image = rig.engine.images.find('acme/svc:v1.4.2') as ImageDouble;
      image.entrypoint = ['docker-entrypoint.sh'];
      await one.ask();
      const detail = 'is not an image of svc-updater, or built from one; nothing was changed';
      const message = `${updaterImage ?? image.digests[0]} ${detail}`;
      expect(await ended(one)).toMatchObject({ outcome: 'failed', code: 'launch-failed', message });
    },
  );

  it('is not created if a local build has removed the image', async () => {
    const one = await booted({ updaterImage: null });
    rig.engine.images.local.splice(0);
    await one.ask();
    const message = 'the updater could not be started: No such image: acme/svc:v1.4.2; nothing was changed';
    expect(await ended(one)).toMatchObject({ outcome: 'failed', code: 'launch-failed', message });
  });
});

it('updates an application without a job queue', async () => {
  rig.state.isHeld = true; // The rig allows no update of an application whose queue is not held.
  const one = await booted({ queue: noQueue });
  expect(await one.ask({ when: 'idle' })).toHaveProperty('run');
  await until(() => rig.past.length > 0);
  expect(rig.outcomes).toEqual(['updated']);
  expect(rig.state.calls.filter(({ part }) => ['hold', 'resume', 'jobs'].includes(part))).toEqual([]);
  rig.state.isHeld = false;
});

describe('a shutdown of the server', () => {
  it.each(['waiting', 'preparing', 'launching'] as const)('in the state %s ends the run', async (state) => {
    const one = await booted({
      updaterPull: 'always',
      beforeUpdate: () => (state === 'preparing' ? new Promise(() => {}) : undefined),
    });
    if (state === 'waiting') rig.state.startJob('backup');
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask({ when: 'idle' });
    await until(async () => (await stateOf(one)) === state && (state !== 'launching' || pull.hits > 0));
    await one.updates.close();
    await expect(one.ask()).rejects.toThrow('shutting down');
    expect([rig.open, rig.past[0]?.run.outcome, rig.state.isHeld, rig.updaters]).toEqual([
      null,
      'cancelled',
      false,
      [],
    ]);
    expect(rig.ends).toHaveLength(1);
  });
});

it('lists outdated build servers', async () => {
  const buildServers = () => [
    { name: 'build-1', version: '1.5.0', command: 'apt upgrade' },
    { name: 'build-2', version: 'v1.4.0', command: 'svc-worker update' },
    { name: 'build-3', version: 'unknown', command: 'apt upgrade' },
  ];
  const one = await booted({ buildServers });
  const behind = (await one.updates.status()).buildServers.map((server) => server.outdated);
  expect(behind).toEqual([false, true, true]);
  await one.ask();
  expect((await ended(one))?.warnings).toEqual([
    'build server build-2 still runs v1.4.0; update it with: svc-worker update',
    'build server build-3 still runs unknown; update it with: apt upgrade',
  ]);
});
