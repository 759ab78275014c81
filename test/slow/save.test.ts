import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectWords } from '../e2e/support/attempt.ts';
import {
  allUp,
  createWithData,
  during,
  expectAsBefore,
  expectSavedAndUpdated,
  type HeldRun,
  heldImages,
  pointsOf,
  statesOf,
} from '../e2e/support/own-data.ts';
import { startBadEngine } from '../rig/bad-engine.ts';

// docs/contract.md 5.20 to 5.22: whatever happens while data is saved, the old version never runs on new data, and all
// services that were running are running afterwards.

const good = ['--target', 'v1.1.0', '--restore-point'];

describe('while the data is copied', () => {
  test('another version is started, and the update continues without a restore point', async () => {
    const instance = await createWithData();
    const up = ['compose', '-f', 'compose.yaml', 'up', '-d', 'app', 'worker'];
    const env = { SVC_VERSION: 'v1.1.0' };
    await execa('docker', ['compose', 'pull', '--quiet', 'app'], { cwd: instance.directory, env });
    const result = await during(instance, { args: good, verb: 'cold' }, () =>
      execa('docker', up, { cwd: instance.directory, env }),
    );
    expectWords(result, {
      exitCode: 0,
      says: [
        'another version of app and worker was started while the data was being saved; the update continues without a restore point',
      ],
      ends: [/^updated v1\.0\.0 → v1\.1\.0 /],
    });
    await instance.waitUntilHealthy();
    expect(await statesOf(instance), result.log).toEqual(allUp);
    expect(await instance.version()).toBe('v1.1.0');
    const boots = await instance.boots();
    expect(boots.filter((line) => line === 'app v1.0.0')).toHaveLength(1);
    expect(await pointsOf(instance), result.log).toEqual([]);
    expect(await heldImages(instance), result.log).toEqual([]);
  });

  test('the response to the creation of the helper container is lost, and no helper container is left', async () => {
    const instance = await createWithData();
    const socket = `${instance.directory}-lost.sock`;
    const engine = await startBadEngine(socket);
    onTestFinished(() => engine.close());
    const run = instance.startUpdate(good, { socket });
    await run.waitFor('copying the data (');
    engine.loseAnswer(/^POST \/containers\/create/);
    const { exitCode, log } = await run.done;
    expect(exitCode, log).toBe(0);
    await expectSavedAndUpdated(instance, log);
    const own = ['ps', '--all', '--quiet', '--filter', `label=svc-updater.scratch=${instance.project}`];
    expect((await execa('docker', own)).stdout, log).toBe('');
  });

  test.each(['warm', 'cold'] as const)('SIGTERM cancels the update in the %s copy', async (verb) => {
    const instance = await createWithData();
    const result = await during(instance, { args: good, verb }, async (run) => {
      await run.kill('SIGTERM');
      await run.waitFor(/SIGTERM|signal|cancel/i);
    });
    expectWords(result, { exitCode: 143, says: [], ends: [/^cancelled: /] });
    await expectAsBefore(instance, result.log);
  });
});

/** A database whose behaviour is set by a file in its volume: by default, it listens after a second. */
const moody = (lines: string) => ({
  text: {
    extra: {
      db: `entrypoint: [/bin/sh, -c, 'trap "exit 0" TERM; mood=$$(cat /var/lib/db/mood); sleep 1; [ "$$mood" = deaf ] || httpd -f -p 5432 & wait; sleep 3600 & wait']\n${lines}`,
    },
    restart: "'no'",
  },
});
const listens = `expose: ['5432']`;
const isChecked = `healthcheck: { test: [CMD, wget, -qO-, 'http://127.0.0.1:5432/etc/svc-version'], interval: 1s, timeout: 2s, retries: 1, start_period: 2s }`;

describe('a data service that the engine does not restart', () => {
  test.each([
    ['with a port, does not listen', listens, 'deaf'],
    ['with a health check, is not healthy', isChecked, 'deaf'],
  ])('%s: the outcome is broken, and the next run starts all services', async (_, lines, mood) => {
    const instance = await createWithData(moody(lines));
    const { stdout: volume } = await execa('docker', [
      ...['volume', 'inspect', '--format', '{{.Mountpoint}}', `${instance.project}_db`],
    ]);
    const held = { args: [...good, '--wait-timeout', '8'], verb: 'cold' } satisfies HeldRun;
    const broken = await during(instance, held, () => writeFile(join(volume, 'mood'), mood));
    expectWords(broken, {
      exitCode: 5,
      says: [`${instance.project}-db-1`],
      ends: [/^broken \(containers-not-restored\): /],
    });
    await writeFile(join(volume, 'mood'), '');
    const next = await instance.update([...good, '--wait-timeout', '30']);
    expectWords(next, { exitCode: 0, says: [], ends: [/^updated v1\.0\.0 → v1\.1\.0 /] });
    await expectSavedAndUpdated(instance, next.log);
  });
});

test('an update that is cancelled after another version was started on saved data is rolled back', async () => {
  const instance = await createWithData();
  const script = `import fs from 'node:fs/promises';import{syncBuiltinESMExports}from'node:module';const{rename,access}=fs;
    const until=async(path)=>{for(;;){try{await access(path);return}catch{await new Promise((end)=>setTimeout(end,50))}}};
    fs.rename=async(from,to)=>{await rename(from,to);if(to.endsWith('/.env'))await until('/tmp/go')};
    syncBuiltinESMExports()`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
  const run = instance.startUpdate(good, { env });
  await expect.poll(() => instance.read('.env'), { timeout: 60_000 }).toContain('v1.1.0');
  await instance.compose('up', '-d', '--no-deps', 'app');
  await expect.poll(() => instance.version(), { timeout: 60_000 }).toBe('v1.1.0');
  await instance.write('data/note', 'of v1.1.0\n');
  await run.kill('SIGTERM');
  await execa('docker', ['exec', run.name, 'touch', '/tmp/go']);
  const result = await run.done;
  expectWords(result, {
    exitCode: 4,
    says: ['the update was cancelled after another version was started'],
    ends: [/^failed \(rolled-back\): v1\.0\.0 is running again with the data saved at /],
  });
  await instance.waitUntilHealthy();
  expect(await statesOf(instance), result.log).toEqual(allUp);
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
});
