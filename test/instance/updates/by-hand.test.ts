import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { goodRun, lineOf, type Script, workOf } from '../../rig/engine-double/script.ts';
import { judge, quiet } from './invariants.ts';
import { patient, Rig, type Server, until } from './rig.ts';
import { atWork, endGood, id, leaveOpen, updater } from './scene.ts';

// An operator beside the server: updaters that are started, started again or removed by hand, and what logs may hold.

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const booted = async (...more: Parameters<Rig['server']>): Promise<Server> => {
  const one = await rig.server(...more);
  await one.updates.boot();
  return one;
};
const runOf = async ({ updates }: Server) => (await updates.record())?.run;
const outcomes = () => rig.past.map(({ run }) => run.outcome);

describe('an updater by hand', () => {
  it.each([
    ['the image is pulled', /images\/create/, 1],
    ['the name is cleared', /^GET .*\/containers\/svc-updater\/json/, 2],
  ])('beside a request, as %s: that one fails, this one is held for', async (_, match, nth) => {
    // Nobody else asks for that name meanwhile.
    const timing = { watch: 600_000, watchClosely: 600_000 };
    const one = await booted({}, { updaterPull: 'always', timing, patience: patient });
    const fault = rig.engine.fault({ kind: 'hang', match, nth });
    expect(await one.ask()).toHaveProperty('run');
    await until(() => fault.hits > 0);
    const container = atWork(rig, null);
    fault.release();
    await until(() => rig.past.length === 1);
    expect(rig.past[0]?.run).toMatchObject({ outcome: 'failed', code: 'launch-taken' });
    await until(async () => (await runOf(one))?.state === 'verify');
    expect(rig.state.isHeld).toBe(true);
    endGood(container);
    await quiet(rig);
    expect(outcomes()).toEqual(['updated', 'failed']);
  });

  it('that was only made is no leftover: it is not removed', async () => {
    const one = await booted();
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
    const container = updater(rig, null);
    await one.ask();
    await quiet(rig);
    expect([outcomes(), container.isGone]).toEqual([['failed'], false]);
    rig.state.isHeld = true;
    container.start();
    await until(async () => (await runOf(one))?.state === 'verify');
    endGood(container);
    await quiet(rig);
    expect(outcomes()).toEqual(['updated', 'failed']);
  });

  it('after another one: each has its own run, and is told', async () => {
    const one = await booted();
    for (const nth of [1, 2]) {
      const container = atWork(rig, null);
      await until(async () => (await runOf(one))?.state === 'verify');
      endGood(container);
      await quiet(rig);
      expect([outcomes().length, rig.ends.length]).toEqual([nth, nth]);
      container.vanish();
    }
    expect(one.told).toEqual(['start v1.5.0', 'end updated', 'start v1.5.0', 'end updated']);
  });

  it('that is started again after its end, and repeats its last line, is the same run', async () => {
    const one = await booted();
    const container = atWork(rig);
    await until(() => one.told.length === 1);
    endGood(container);
    await quiet(rig);
    rig.state.isHeld = true;
    container.start();
    rig.state.isHeld = false;
    endGood(container);
    await sleep(100);
    await quiet(rig);
    expect(rig.past.map(({ run }) => [run.id, run.outcome])).toEqual([[id, 'updated']]);
  });

  it.each([1, 2, 3, 4, 6, 7, 8])('that is removed after %d lines has crashed', async (lines) => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, lines));
    const one = await booted();
    await one.ask();
    await until(() => rig.open?.updater && rig.engine.updater.log.length === lines);
    rig.engine.updater.vanish();
    await quiet(rig);
    expect(rig.past).toMatchObject([{ run: { outcome: 'crashed', code: 'updater-gone' } }]);
    expect(rig.ends).toHaveLength(1);
  });

  it('that is removed between its making and its start fails the launch', async () => {
    const one = await booted();
    const made = rig.engine.fault({ kind: 'hang', match: /containers\/create/ });
    await one.ask();
    await until(() => made.hits > 0);
    rig.engine.updater.vanish();
    made.release();
    expect(await judge(rig, { accepted: true })).toEqual([]);
    expect(rig.past).toMatchObject([{ run: { outcome: 'failed', code: 'launch-failed' } }]);
  });
});

describe('instances that share an engine', () => {
  const elsewhere = { name: 'other-app-1', project: 'other', directory: '/srv/other' };

  it('under names of their own update side by side, each with its own updater', async () => {
    const one = await booted();
    const other = await rig.server(elsewhere, { containerName: 'svc-updater-other' });
    await other.updates.boot();
    const lead = workOf('v1.4.2', 'v1.5.0');
    rig.engine.updaterDoes(lead);
    // They share the platform's double here, so the one that is not asked has nothing to say.
    await one.ask();
    await until(async () => (await runOf(one))?.state === 'verify');
    const container = rig.engine.updater;
    expect(container.name).toBe('svc-updater');
    expect((await other.updates.status()).run?.state ?? null).not.toBe('crashed');
    expect(await one.ask()).toMatchObject({ reason: { code: 'update-running' } });
    endGood(container);
    await quiet(rig);
    expect(outcomes()).toEqual(['updated']);
  });
});

describe('a log', () => {
  const ends = { say: { phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' } } as const;
  const alien = [
    '2026-11-21T10:42:07.000Z INFO  teleport moving svc',
    '2026-11-21T10:42:07.000Z FATAL verify it is away',
    'Error: out of memory',
    '',
    '{"level":30,"msg":"hello"}',
    '2026-11-21T10:42:07.000Z INFO  done',
    '2026-11-21T10:42:07.000Z INFO  done sublimated: nobody knows this word',
    '2026-11-21T10:42:07.000Z INFO  verify 300% done',
  ];

  it('with lines of a version that is not known is read past them', async () => {
    const says = alien.map((say) => ({ say }));
    rig.engine.updaterDoes([...workOf('v1.4.2', 'v1.5.0'), ...says, ends, { exit: 0 }]);
    const one = await booted();
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'updated', code: null, warnings: [] });
  });

  it('with an end that is not known is no success', async () => {
    rig.engine.updaterDoes([...workOf('v1.4.2', 'v1.5.0'), { say: alien[6] ?? '' }, { exit: 0 }]);
    const one = await booted();
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'crashed', code: 'updater-ended' });
  });

  it('of 5000 lines is read to its end, once', async () => {
    const line = lineOf({ phase: 'pull', message: 'some of acme/svc:v1.5.0', percent: 1 });
    rig.engine.updaterDoes([{ say: `${line}\n`.repeat(5_000) }, ends, { exit: 0 }]);
    const one = await booted();
    let lines = 0;
    one.updates.listeners.on('line', () => lines++);
    await one.ask();
    await quiet(rig);
    const record = await one.updates.record();
    expect([record?.run.outcome, record?.lineCount, lines]).toEqual(['updated', 5_001, 5_001]);
  });

  it('of an updater that is started again three times is one run, each line told once', async () => {
    const dies: Script = [...workOf('v1.4.2', 'v1.5.0').slice(0, 3), { exit: 137 }];
    rig.engine.restartPauseMs = 20;
    rig.engine.updaterDoes(dies, dies, dies, goodRun('v1.4.2', 'v1.5.0'));
    const one = await booted();
    const lines: string[] = [];
    one.updates.listeners.on('line', ({ line }) => lines.push(line.phase));
    await one.ask();
    await quiet(rig);
    expect([outcomes(), rig.ends.length]).toEqual([['updated'], 1]);
    expect(lines).toHaveLength(3 * 3 + 9);
  });

  it('of one that dies a fourth time is a crash, with its code', async () => {
    const dies: Script = [...workOf('v1.4.2', 'v1.5.0').slice(0, 3), { exit: 137 }];
    rig.engine.restartPauseMs = 20;
    rig.engine.updaterDoes(dies, dies, dies, dies);
    const one = await booted();
    await one.ask();
    await quiet(rig);
    expect((await runOf(one))?.message).toBe('the updater ended with code 137, without an outcome');
    expect(rig.engine.updater.restartCount).toBe(3);
  });
});

it('a run whose server is gone, and whose container somebody starts, is followed', async () => {
  leaveOpen(rig);
  rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
  const container = updater(rig);
  container.start();
  const one = await booted();
  await until(async () => (await runOf(one))?.state === 'verify');
  expect((await runOf(one))?.id).toBe(id);
  endGood(container);
  await quiet(rig);
  expect(outcomes()).toEqual(['updated']);
});
