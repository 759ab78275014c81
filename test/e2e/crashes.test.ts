import { execa } from 'execa';
import { expect, test } from 'vitest';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { allUp, createWithData, statesOf } from './support/own-data.ts';

// docs/contract.md 5.15: an uncaught exception at each step. If the new version has started, the next run rolls back.

/** Throws an uncaught exception, once, at the first step that is not in `KNOWN`. */
const hook = `import{subscribe}from'node:diagnostics_channel';import{existsSync,writeFileSync,writeSync}from'node:fs';
  const{KNOWN='',ONLY='',ONCE=''}=process.env;let isOver=ONCE!==''&&existsSync(ONCE);
  subscribe('svc-updater.step',({goal,kind})=>{const name=goal+' '+kind;
    if(isOver)writeSync(2,'then: '+name+'\\n');
    if(isOver||KNOWN.split(',').includes(name)||(ONLY!==''&&ONLY!==name))return;
    isOver=true;if(ONCE!=='')writeFileSync(ONCE,'');writeSync(2,'throwing at: '+name+'\\n');throw new Error('a bug')})`;
const crashing = (env: Record<string, string>) => ({
  env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`, ...env },
});
const journalOf = (instance: Instance) => instance.read('.svc-updater/journal.json');

/**
 * Updates from release to release. Each run crashes at another step, and is followed by a run without a crash. Returns
 * the steps, and whether the new version had started at the crash.
 */
async function crashAtEveryStep(
  instance: Instance,
  flags: readonly string[],
  expectEnd: (target: string, before: string) => Promise<void>,
): Promise<Map<string, 'started' | 'not started'>> {
  const steps = new Map<string, 'started' | 'not started'>();
  for (let number = 1; ; number++) {
    const before = (await instance.version()) ?? '';
    const target = `v1.${number}.0`;
    await instance.publish(target);
    const args = ['--target', target, ...flags];
    const crashed = await instance.update(args, crashing({ KNOWN: [...steps.keys()].join(',') }));
    const [, name] = /throwing at: (\S+ \S+)/.exec(crashed.log) ?? [];
    if (name === undefined) {
      expect(crashed.exitCode, crashed.log).toBe(0);
      return steps;
    }
    expect(crashed.exitCode, crashed.log).toBe(1);
    // After a step without a wait, the next step may begin before the process exits.
    const [, last = ''] = [...crashed.log.matchAll(/(?:throwing at|then): \S+ (\S+)/g)].at(-1) ?? [];
    const message = `this is a bug in the updater, which crashed in ${last}; `;
    expect(crashed.lines.at(-1)?.message).toMatch(/^crashed: .* Please report the lines above\.$/);
    expect(crashed.lines.at(-1)?.message).toContain(message);
    expect(await journalOf(instance), crashed.log).toContain(message);
    const hasStarted = (await instance.boots()).some((boot) => boot.endsWith(target));
    steps.set(name, hasStarted ? 'started' : 'not started');
    if (hasStarted) {
      await expectEnd(target, before);
    } else {
      const { exitCode, log } = await instance.update(args);
      expect(exitCode, log).toBe(0);
      expect(await instance.version(), log).toBe(target);
    }
  }
}

// About twenty runs, each with its own updater.
const manyRuns = { timeout: 600_000 };

test(
  'with a restore point, the next run after a crash rolls back if the new version has started',
  manyRuns,
  async () => {
    const instance = await createWithData();
    const steps = await crashAtEveryStep(instance, ['--restore-point'], async (target, before) => {
      const { exitCode, log } = await instance.update(['--target', target, '--restore-point']);
      expect(exitCode, log).toBe(4);
      expect(log).toMatch(/this updater crashed during the \S+ phase and will not try again automatically/);
      expect(log).toContain(`done failed (rolled-back): ${before} is running again with the data saved at `);
      await instance.waitUntilHealthy();
      expect(await instance.version(), log).toBe(before);
      expect(await statesOf(instance), log).toEqual(allUp);
      expect((await instance.boots()).join(), log).not.toContain(target);
    });
    expect(await instance.read('data/note')).toBe('of v1.0.0\n');
    expect([...steps.keys()]).toEqual(
      expect.arrayContaining([
        'update pull',
        'update copy-warm',
        'update copy-cold',
        'update write',
        'update up',
      ]),
    );
    expect(steps.get('update verify')).toBe('started');
  },
);

test(
  'without a restore point, the next run after a crash is broken if the new version has started',
  manyRuns,
  async () => {
    const instance = await createInstance({ ...alone, publish: [] });
    const steps = await crashAtEveryStep(instance, [], async (target) => {
      const { exitCode, log } = await instance.update(['--target', target]);
      expect(exitCode, log).toBe(5);
      expect(log).toContain(
        'done broken (broken): the new version has started, but it was not verified; it was not rolled back, because there is no restore point',
      );
      // A user who has read the advice tries again.
      const again = await instance.update(['--target', target]);
      expect(again.exitCode, again.log).toBe(0);
      expect(await instance.version(), log).toBe(target);
    });
    expect(steps.get('update verify')).toBe('started');
  },
);

test('an updater container that the engine restarts after a crash rolls back', async () => {
  const instance = await createWithData({ publish: ['v1.1.0'] });
  const once = crashing({ ONLY: 'update verify', ONCE: `${instance.directory}/data/../crashed` });
  const run = instance.startUpdate(['--target', 'v1.1.0', '--restore-point'], {
    ...{ ...once, keep: true },
    docker: ['--restart', 'on-failure:3'],
  });
  await run.done;
  const logs = async () => (await execa('docker', ['logs', run.name], { all: true })).all;
  await expect
    .poll(logs, { timeout: 120_000 })
    .toMatch(/ done failed \(rolled-back\): v1\.0\.0 is running again /);
  const log = await logs();
  expect(log).toContain(' the updater crashed; its container is started again');
  expect(log.match(/ done /g)).toHaveLength(1);
  await execa('docker', ['wait', run.name]);
  await execa('docker', ['rm', run.name]);
  expect(await instance.version(), log).toBe('v1.0.0');
});

test('a run rolls back after four interruptions in one state, also in another updater container', async () => {
  const instance = await createWithData();
  await instance.publish('v1.1.0', { env: { READY_WHEN: 'well' } });
  const args = ['--target', 'v1.1.0', '--restore-point'];
  const run = instance.startUpdate(args);
  await expect.poll(async () => (await instance.boots()).join(), { timeout: 120_000 }).toContain('v1.1.0');
  await run.kill();
  await run.done;
  const journal = JSON.parse(await journalOf(instance));
  await instance.write('.svc-updater/journal.json', JSON.stringify({ ...journal, attempt: 4 }));
  const { exitCode, log } = await instance.update(args);
  expect(exitCode, log).toBe(4);
  expect(log).toMatch(/this updater was interrupted 4 times during the \S+ phase/);
  expect(log).toContain('done failed (rolled-back): v1.0.0 is running again with the data saved at ');
  expect(await instance.version(), log).toBe('v1.0.0');
});
