import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineDouble } from '../rig/engine-double/engine-double.ts';
import { HostDouble, HostState } from '../rig/host-double/host-double.ts';

// The platform of the tests is believed, too: it fails as it was told to, and sees what must not happen.

const endOf = (asked: () => Promise<unknown>) =>
  (async () => asked())().then(
    (value) => ({ value }),
    (error) => ({ error: (error as Error).message }),
  );
const settles = (asked: Promise<unknown>) => Promise.race([asked.then(() => true), sleep(20, false)]);

describe('the platform of the tests', () => {
  it('fails at the call and in the manner that was planned', async () => {
    const host = new HostDouble();
    host.fail('hold', { how: 'reject', nth: 2 });
    await host.queue.hold();
    expect(host.state.isHeld).toBe(true);
    expect(await endOf(host.queue.hold)).toEqual({ error: 'the platform fails: hold' });
    host.fail('jobs', { how: 'throw', times: 2, error: new Error('no jobs') });
    expect(() => host.queue.jobs()).toThrow('no jobs');
    expect(await endOf(host.queue.jobs)).toEqual({ error: 'no jobs' });
    expect(await host.queue.jobs()).toEqual([]);
    expect(host.calls().map(({ part, end }) => `${part} ${end}`)).toEqual([
      ...['hold done', 'hold failed', 'jobs failed', 'jobs failed', 'jobs done'],
    ]);
  });

  it('hangs until it is released, before what it does or after', async () => {
    const host = new HostDouble();
    host.state.isHeld = true;
    const before = host.fail('resume', { how: 'hang' });
    const resuming = host.queue.resume();
    expect(await settles(resuming)).toBe(false);
    expect(host.state.isHeld).toBe(true);
    before.release();
    await resuming;
    expect(host.state.isHeld).toBe(false);
    const after = host.fail('hold', { how: 'done-then-hang' });
    const holding = host.queue.hold();
    expect(await settles(holding)).toBe(false);
    expect(host.state.isHeld).toBe(true);
    after.release(new Error('away'));
    expect(await endOf(() => holding)).toEqual({ error: 'away' });
  });

  it('compares and sets for all servers, and may lose the answer', async () => {
    const state = new HostState();
    const [one, two] = [new HostDouble({ state }), new HostDouble({ name: 'two', state })];
    expect(await one.store.set('run', 'a', { was: null })).toBe(true);
    expect(await two.store.set('run', 'b', { was: null })).toBe(false);
    two.fail('set', { how: 'done-then-reject', with: ([key]) => key === 'run' });
    expect(await two.store.set('other', 'x', { was: null })).toBe(true);
    expect(await endOf(() => two.store.set('run', 'b', { was: 'a' }))).toEqual({
      error: 'the platform fails: set',
    });
    expect(await one.store.get('run')).toBe('b');
    expect(await one.store.set('run', null, { was: 'b' })).toBe(true);
    expect(await two.store.get('run')).toBeNull();
    expect(one.calls('set')).toHaveLength(2);
    expect(state.calls.map(({ server }) => server)).toEqual([
      'one',
      'two',
      'two',
      'two',
      'one',
      'one',
      'two',
    ]);
  });
});

describe('the watch over the queue', () => {
  let engine: EngineDouble;
  beforeEach(async () => {
    engine = await EngineDouble.start();
  });
  afterEach(() => engine.close());
  const updater = () => engine.create({ name: 'svc-updater', Image: 'acme/svc-updater:v1.0.0' });

  it('sees an updater that begins without a hold, or beside a job', async () => {
    const host = new HostDouble();
    host.state.watch(engine);
    await engine.addServer();
    const job = host.state.startJob('backup');
    updater().start();
    expect(host.state.violations).toEqual([
      'svc-updater began while the queue was not held',
      'svc-updater began while backup ran',
    ]);
    if (job) host.state.endJob(job);
    await host.queue.hold();
    expect(host.state.startJob('backup')).toBeNull();
    await host.queue.resume();
    expect(host.state.violations.slice(2)).toEqual(['the queue was resumed while svc-updater was running']);
    engine.updater.exit(0);
    await host.queue.hold();
    await host.queue.resume();
    expect(host.state.violations).toHaveLength(3);
    expect(host.state.startJob('backup')).not.toBeNull();
  });
});
