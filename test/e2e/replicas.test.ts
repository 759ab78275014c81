import { rm } from 'node:fs/promises';
import { execa, execaSync } from 'execa';
import { describe, expect, test, vi } from 'vitest';
import { judgeBroughtBack, judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { type ContainerInspection, findContainers } from '../rig/engine-api.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone, type Instance } from './support/instance.ts';

// docs/contract.md 2.11 and 2.13: every service has the containers that it must have before `updated` is said.

const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') } };
/** Its app is not ready before the test says so: `verify` goes on until then. */
const patient = { env: { READY_WHEN: 'ready' } };
const letReady = (instance: Instance) =>
  Promise.all(['app', 'worker'].map((service) => instance.write(`data/ready-${service}`, '')));

async function find({ project }: Instance, name: string): Promise<ContainerInspection> {
  const found = (await findContainers(project)).find(({ Name }) => Name === `/${project}-${name}`);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

/** Until so many workers of the new release have started. */
async function newWorkers(instance: Instance, count: number): Promise<void> {
  const has = async () => (await instance.boots()).filter((boot) => boot === 'worker v1.1.0').length;
  await vi.waitUntil(async () => (await has()) >= count, { timeout: 60_000 });
}

/** The real engine behind a socket that fails as told, until the test has ended. */
async function engineOf(
  { directory }: Instance,
  finished: (close: () => Promise<void>) => void,
): Promise<BadEngine> {
  const engine = await startBadEngine(`${directory}.sock`);
  finished(async () => {
    await engine.close();
    await rm(engine.socket, { force: true });
  });
  return engine;
}

describe.concurrent('containers that are there, or not', () => {
  test('a replica that is removed while the new version gets ready', async ({ onTestFinished }) => {
    const scaled = { up: [...alone.up, '--scale', 'worker=2'], publish: [] };
    const instance = await createInstanceFor(onTestFinished, scaled);
    await instance.publish('v1.1.0', patient);
    const run = instance.startUpdate(toNext);
    await newWorkers(instance, 2);
    await execa('docker', ['rm', '--force', `${instance.project}-worker-2`]);
    await letReady(instance);
    const result = await run.done;
    const words = {
      exitCode: 5,
      says: ['worker has 1 of its 2 containers'],
      ends: [/^broken \([a-z-]+\): /],
    };
    expect(judgeWords(result, words), result.log).toEqual([]);
  });

  test('one that has no name of its own in the end', async ({ onTestFinished }) => {
    const instance = await createInstanceFor(onTestFinished, { ...alone, publish: [] });
    await instance.publish('v1.1.0', patient);
    const before = await look(instance);
    const run = instance.startUpdate(toNext);
    await newWorkers(instance, 1);
    const name = `${instance.project}-worker-1`;
    await execa('docker', ['rename', name, `0123456789ab_${name}`]);
    await letReady(instance);
    const result = await run.done;
    const says = [`0123456789ab_${name} is ${name} now: a compose call ended before it named it`];
    const facts = [
      ...judgeOutcome(result, ['updated']),
      ...judgeGoodLog(result, { says }),
      ...judgeUpdated(before, await look(instance), good),
    ];
    expect(facts, result.log).toEqual([]);
  });

  test('what a killed compose call has left down runs again; what a hook has left is no replica', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, { ...alone, publish: [] });
    // Whose label is read, with the v that it has.
    await instance.publish('v1.1.0', { versionLabel: 'v1.2.0' });
    const before = await look(instance);
    const old = await find(instance, 'worker-1');
    const own = old.Name.slice(1);
    const labelled = (labels: Record<string, string>) =>
      Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
    await execa('docker', ['stop', '--time', '0', own]);
    await execa('docker', [
      ...['create', '--name', `${old.Id.slice(0, 12)}_${own}`, '--network', `${instance.project}_internal`],
      ...labelled({ ...old.Config.Labels, 'com.docker.compose.replace': own }),
      ...['--volume', `${instance.directory}/data:/data`, `${instance.image}:v1.0.0`, 'worker'],
    ]);
    // As compose 5.3 labels it.
    const hook = `${instance.project}-hook`;
    const label = (name: string, value: string) => ({ [`com.docker.compose.${name}`]: value });
    await execa('docker', [
      ...['run', '--name', hook, '--network', 'none', '--entrypoint', '/bin/sh'],
      ...labelled({
        ...label('project', instance.project),
        ...label('service', 'worker'),
        ...label('version', '5.3.0'),
      }),
      ...[`${instance.image}:v1.0.0`, '-c', 'exit 0'],
    ]);
    const result = await instance.update(toNext);
    const { stdout } = await execa('docker', ['rm', hook]);
    expect(stdout).toBe(hook);
    const warns = [
      /worker is stopped since something was interrupted/,
      'which says it is v1.2.0, not v1.1.0',
    ];
    const facts = [
      ...judgeOutcome(result, ['updated']),
      ...judgeGoodLog(result, { warns }),
      ...judgeUpdated(before, await look(instance), good),
    ];
    expect(facts, result.log).toEqual([]);
  });

  // Compose 5 removes and renames replicas side by side, and lets go of all of them where one fails: an old one may be half
  // removed (`dead`) by then.
  test('three replicas: a removal that fails, then a kill between removal and name', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, { up: [...alone.up, '--scale', 'worker=3'] });
    const engine = await engineOf(instance, onTestFinished);
    // The first one is not stopped before its call, so that compose stops all three.
    const args = [...toNext, '--service', 'worker', '--service', 'app'];
    const before = await look(instance);
    let removals = 0;
    engine.fail((asked) => /^DELETE \/v[\d.]+\/containers\//.test(asked) && ++removals === 2);
    const failed = await instance.update(args, engine);
    engine.fail(null);
    const words = {
      exitCode: 4,
      says: [
        'compose could not replace worker: Error response from daemon: something went wrong',
        'nothing of the new version has started: the old one is brought back',
      ],
      ends: [/^failed \(recreate-failed\): the files are as they were and v1\.0\.0 runs again\. Next: /],
    };
    const back = [...judgeWords(failed, words), ...judgeBroughtBack(before, await look(instance))];
    expect(back, failed.log).toEqual([]);

    engine.requests.length = 0;
    engine.hang(/^POST \/v[\d.]+\/containers\/\w+\/rename/);
    const killed = instance.startUpdate(args, engine);
    const renames = () => engine.requests.filter((asked) => /\/rename\?/.test(asked)).length;
    await vi.waitUntil(() => renames() > 0, { timeout: 60_000 });
    await killed.kill();
    await killed.done;
    engine.hang(null);
    const { strays } = await look(instance);
    expect(strays.join('\n')).toMatch(/^[0-9a-f]{12}_\S+-worker-\d \(created\)$/m);
    const result = await instance.update(toNext);
    const facts = [...judgeOutcome(result, ['updated']), ...judgeUpdated(before, await look(instance), good)];
    expect(facts, result.log).toEqual([]);
  });

  test('the first call of compose fails, and what the others meet after it hides no cause', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, alone);
    const engine = await engineOf(instance, onTestFinished);
    const old = await find(instance, 'worker-1');
    const inTheWay = `${old.Id.slice(0, 12)}_${old.Name.slice(1)}`;
    let creations = 0;
    engine.fail((asked) => {
      if (!/^POST \/v[\d.]+\/containers\/create\?/.test(asked) || ++creations !== 2) return false;
      execaSync('docker', ['create', '--name', inTheWay, `${instance.image}:v1.0.0`]);
      return true;
    });
    const broken = await instance.update(toNext, engine);
    await execa('docker', ['rm', inTheWay]);
    const hidden = {
      exitCode: 5,
      says: [
        /WARN {2}recreate .*The container name .* is already in use/,
        'compose could not replace worker: Error response from daemon: something went wrong',
      ],
      ends: [/^broken \([a-z-]+\): /],
    };
    expect(judgeWords(broken, hidden), broken.log).toEqual([]);
  });
});
