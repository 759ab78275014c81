import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { execa } from 'execa';
import { expect, inject, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { dockerRun, type UpdaterOptions } from '../rig/updater-run.ts';
import { runUpdater } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';
import { configJson, everything, foundIn, planted, plantedLayout, shell } from './support/planted.ts';
import { createServerInstance } from './support/server.ts';

// docs/contract.md 1.12 and 8.42: the archive for an issue contains no secret, and creating it changes nothing.

const names = [
  'disk.txt',
  'journal.json',
  'labels.txt',
  'last-rehearsal.log',
  'last-run.log',
  'model.json',
  'plan.txt',
  'versions.txt',
];

/** The texts of the files in an archive, by name. */
async function unpacked(archive: Uint8Array): Promise<Map<string, string>> {
  const input = gunzipSync(archive);
  const { stdout } = await execa('tar', ['-t'], { input });
  const texts = stdout.split('\n').map(async (path) => {
    const file = await execa('tar', ['-xO', path], { input });
    return [path.replace('svc-report/', ''), file.stdout] as const;
  });
  return new Map(await Promise.all(texts));
}

async function report(instance: Instance, args: readonly string[], options: UpdaterOptions = {}) {
  const name = `${instance.name}-report`;
  const command = dockerRun(name, instance.directory, ['report', ...args], options);
  const { stdout, stderr } = await execa('docker', command, { encoding: 'buffer' });
  const files = await unpacked(stdout);
  expect([...files.keys()].sort()).toEqual(names);
  const told = Buffer.from(stderr).toString();
  for (const each of names) expect(told).toMatch(new RegExp(`^svc-report/${each}: \\d+ bytes$`, 'm'));
  const found = [...files].flatMap(([path, text]) => foundIn(text).map((secret) => `${path} ${secret}`));
  expect([found, foundIn(told)]).toEqual([[], []]);
  return (file: string) => files.get(file) ?? '';
}

test('report creates an archive without secrets before and after a broken update', async () => {
  const instance = await createInstance({ layout: plantedLayout, shell });
  await instance.publish('v1.2.0', {
    entrypoint: [
      '/bin/sh',
      '-c',
      'if [ "$1" = worker ]; then while :; do sleep 1; done; fi; env; cat /run/secrets/* /data/told; exit 1',
      'sh',
    ],
  });
  await instance.write('data/told', everything());
  await instance.write('login/config.json', configJson(inject('host').registry));
  const changed = `CHANGES=now\nSINCE=${planted.addedSince}`;
  const edit = async (path: string, how: (text: string) => string) =>
    instance.write(path, how(await instance.read(path)));
  await edit('app.env', (text) => text.replace(`CHANGES=${planted.changedSince}`, changed));
  await edit('db.env', (text) => `${text}ASSEMBLED=\${PART}+\${PART}+\${PART}\n`);
  const volumes = [`${instance.directory}/login:/root/.docker:ro`];
  const before = await look(instance);
  const first = await report(instance, ['--target', 'v1.2.0', '--service', 'app', '--service', 'worker'], {
    volumes,
  });
  expect(first('journal.json')).toBe('not available: there is no journal');
  expect(first('last-run.log')).toContain('not available: ');
  expect(first('plan.txt')).toContain('refused (drift)');
  expect(judgeUntouched(before, await look(instance))).toEqual([]);

  const args = ['--target', 'v1.2.0', '--accept-drift'];
  expect((await runUpdater(instance, args, { volumes })).exitCode).toBe(5);
  const files = (await readdir(`${instance.directory}/.svc-updater`)).sort();
  const broken = await report(instance, ['--target', 'v1.2.0'], { volumes });
  expect((await readdir(`${instance.directory}/.svc-updater`)).sort()).toEqual(files);
  expect(broken('last-run.log')).toContain('broken (broken): ');
  const journal = JSON.parse(broken('journal.json'));
  expect([journal.target, journal.state.ending.outcome, journal.blueprints]).toEqual([
    'v1.2.0',
    'broken',
    undefined,
  ]);
  const { services } = JSON.parse(broken('model.json'));
  expect([services.app.image, services.app.environment.LITERAL]).toEqual([`${instance.image}:v1.2.0`, '***']);
  expect(broken('labels.txt')).toMatch(/^ {2}com\.docker\.compose\.service=app$/m);
  expect(broken('versions.txt')).toMatch(
    /^svc-updater .*\ndocker CLI \d.*\ncompose \d.*\nengine \d.*, API \d.*\nkernel Linux \d/,
  );
  expect(broken('disk.txt')).toMatch(/^\/: \d+ of \d+ bytes free/);
});

test('report creates an archive without an instance', async () => {
  const instance = await createInstance();
  const files = await report(instance, [], { mount: null });
  expect(files('plan.txt')).toContain('refused (not-mounted)');
  expect(files('model.json')).toBe('not available: no compose project was found (see plan.txt)');
  expect(files('versions.txt')).toContain('kernel Linux');
});

test('a server creates a report and removes the container that it used', async () => {
  const instance = await createServerInstance();
  const answer = await instance.ask('/api/v1/instance/update/report', {
    signal: AbortSignal.timeout(300_000),
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/gzip']);
  const files = await unpacked(new Uint8Array(await answer.arrayBuffer()));
  expect([...files.keys()].sort()).toEqual(names);
  expect(files.get('labels.txt')).toContain('com.docker.compose.service=app');
  const name = `${instance.name}-svc-updater-report-${instance.project}`;
  expect((await execa('docker', ['inspect', name], { reject: false })).exitCode).toBe(1);
  const label = `label=svc-updater.scratch=${instance.project}`;
  expect((await execa('docker', ['ps', '--all', '--quiet', '--filter', label])).stdout).toBe('');
});
