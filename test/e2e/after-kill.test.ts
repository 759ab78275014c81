import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { killAt, onEngineStep } from '../faults/kill.ts';
import { differs } from '../judge/differs.ts';
import { judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { bump } from './support/bump.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// What the log, `plan` and `bump` report after a kill at one moment. The fault campaigns kill at every moment.

const grace = 'stop_grace_period: 10m';
/** The containers of this release stop only once the test has written `data/go`. */
const stuck = {
  release: { env: { STOP_UNTIL: '/data/go' } },
  text: { extra: { app: grace, worker: grace } },
} satisfies InstanceOptions;

test('plan and bump report a run that was killed while the worker was stopping, and the next run completes the update', async () => {
  const instance = await createInstance(stuck);
  const before = await look(instance);
  const start = () => instance.startUpdate(['--target', 'v1.1.0']);
  const { run, why } = await killAt(onEngineStep(1), instance, start);
  expect(why).toContain('kill of');
  const killed = await run.done;
  // The engine continues with the requested stop. The instance does not change any more once the worker has exited.
  await instance.write('data/go', '');
  const worker = `${instance.project}-worker-1`;
  await expect
    .poll(async () => (await instance.containers())[worker]?.status, { timeout: 60_000, interval: 50 })
    .toBe('exited');

  const halfDone = await look(instance);
  const interrupted =
    /the update to v1\.1\.0 started at 20\S+ \S+ UTC was interrupted during the recreate phase/;
  const plan = await instance.update(['plan', '--target', 'v1.1.0']);
  expect(plan.log).toMatch(interrupted);
  const file = ['--file', 'compose.prod.yaml', '--service', 'app', '--service', 'worker'];
  const bumped = await bump(instance.directory, [...file, '--to', 'v1.2.0']);
  expect(bumped.exitCode, bumped.log).toBe(3);
  expect(bumped.log).toMatch(interrupted);
  expect(bumped.log).toContain('Run the update command first to resume or undo the interrupted update.');
  expect(differs('half done', halfDone, await look(instance))).toEqual([]);

  const { exitCode, log } = await instance.update(['--target', 'v1.1.0']);
  expect(exitCode, log).toBe(0);
  expect(log).toContain(`took over the lock that ${run.name} had held since `);
  expect(log).toMatch(interrupted);
  expect(log).toContain('resuming the interrupted update');
  // A resumed run keeps its plan, and does not plan or pull again.
  expect(log).not.toMatch(/Z INFO {2}(plan|pull|write) /);
  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
  // last-run.log has the lines of both runs, those of the killed run first.
  const kept = await readFile(join(instance.directory, '.svc-updater', 'last-run.log'), 'utf8');
  expect(kept).toBe(killed.log + log);
});

/** Kills the updater right after it has replaced `compose.yaml`: a hook in the updater blocks there. */
async function killAtFile(instance: Instance): Promise<void> {
  const script = `import fs from 'node:fs/promises';import{syncBuiltinESMExports}from'node:module';const{rename}=fs;
    fs.rename=async(from,to)=>{await rename(from,to);if(to.endsWith('/compose.yaml'))await new Promise((end)=>setTimeout(end,1e9))};
    syncBuiltinESMExports()`;
  const text = await instance.read('compose.yaml');
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
  const run = instance.startUpdate(['--target', 'v1.1.0'], { env });
  await expect.poll(() => instance.read('compose.yaml'), { timeout: 120_000 }).not.toBe(text);
  await run.kill();
  await run.done;
}

test('a run to another target first restores the files that a killed run has written', async () => {
  const instance = await createInstance({ kind: 'generated' });
  const before = await look(instance);
  await killAtFile(instance);
  expect(JSON.parse(await instance.read('.svc-updater/journal.json'))).toMatchObject({
    state: { at: 'writing' },
  });
  expect((await instance.snapshot()).files).not.toEqual(before.files);

  const { exitCode, log } = await instance.update(['--target', 'v1.9.9']);
  expect(exitCode, log).toBe(4);
  expect(log).toMatch(/inspect the update to v1\.1\.0 started at .* was interrupted during the write phase/);
  expect(log).toContain('the interrupted update was undone, and v1.0.0 has been restored');
  expect(log).toContain(
    'done failed (pull-unknown): nothing was changed; v1.0.0 is still running. Next: Check that',
  );
  expect(judgeUntouched(before, await look(instance))).toEqual([]);
});

test('an updater container gives up after four interruptions, and repeats its last line if started again after its run', async () => {
  const instance = await createInstance({ ...alone, ...stuck });
  const before = await look(instance);
  const run = instance.startUpdate(['--target', 'v1.1.0'], { keep: true });
  await run.waitFor('recreate stopping worker');
  await run.kill();
  await run.done;
  // The number of attempts that the restart policy of the launcher allows.
  const journal = JSON.parse(await instance.read('.svc-updater/journal.json'));
  await instance.write('.svc-updater/journal.json', JSON.stringify({ ...journal, attempt: 4 }));
  await instance.write('data/go', '');

  const startAgain = ({ name }: { name: string }) =>
    execa('docker', ['start', '--attach', name], { reject: false, all: true });
  const again = await startAgain(run);
  expect(again.exitCode, again.all).toBe(4);
  expect(again.all).toContain('this updater was interrupted 4 times during the recreate phase');
  const end =
    /done failed \(killed-repeatedly\): the original files are in place, and v1\.0\.0 is running again\. Next: Find out what killed the updater/;
  expect(again.all).toMatch(end);
  const third = await startAgain(run);
  expect(third.exitCode, third.all).toBe(0);
  expect(third.all).toMatch(end);
  await execa('docker', ['rm', run.name]);
  expect(judgeBroughtBack(before, await look(instance))).toEqual([]);

  // A completed run that is started again repeats its last line and changes nothing.
  const next = instance.startUpdate(['--target', 'v1.1.0'], { keep: true });
  const { exitCode, log } = await next.done;
  expect(exitCode, log).toBe(0);
  expect(log).not.toContain('interrupted');
  const updated = await look(instance);
  const repeated = await startAgain(next);
  expect(repeated.exitCode, repeated.all).toBe(0);
  expect(repeated.all).toContain(log.trimEnd().split('\n').at(-1)?.replace(/^\S+ /, ''));
  await execa('docker', ['rm', next.name]);
  expect(judgeUntouched(updated, await look(instance))).toEqual([]);
});
