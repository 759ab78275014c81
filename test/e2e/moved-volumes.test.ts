import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { releases } from '../rig/releases.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { createInstanceFor, expectAttempt } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { ownData } from './support/own-data.ts';

// docs/contract.md 4.12: an update must not start a service without the data in the volumes of its old container.

const toNext = ['--target', 'v1.1.0'];

const read = async ({ project }: Instance, service: string, path: string) =>
  (await execa('docker', ['exec', `${project}-${service}-1`, 'cat', path])).stdout;
const put = ({ project }: Instance, service: string, path: string) =>
  execa('docker', [
    ...['exec', `${project}-${service}-1`, 'sh', '-c'],
    `busybox mkdir -p "$(busybox dirname ${path})" && echo of ${service} >${path}`,
  ]);

/** The lines that the log of a refused update advises to add to the compose file. */
function linesOf({ lines }: UpdateResult): string {
  const messages = lines.map(({ message }) => message);
  const [from, to] = [
    messages.indexOf('services:'),
    messages.findLastIndex((each) => / has data at /.test(each)),
  ];
  return messages.slice(from, to).join('\n');
}

/** Adds these lines to the compose file, as an owner does. */
async function addLines(instance: Instance, refused: UpdateResult): Promise<void> {
  const added = parse(linesOf(refused));
  const file = parseDocument(await instance.read('compose.yaml'));
  for (const [service, { volumes }] of Object.entries<{ volumes: object[] }>(added.services))
    for (const mount of volumes) file.addIn(['services', service, 'volumes'], mount);
  for (const [key, volume] of Object.entries(added.volumes ?? {})) file.setIn(['volumes', key], volume);
  await instance.write('compose.yaml', String(file));
}

const app = (options: InstanceOptions): InstanceOptions => ({
  layout: ownData,
  up: ['--no-deps', 'app'],
  publish: [],
  ...options,
});

describe.concurrent('an update that would start a service without its data is refused, with the lines that mount the data,', () => {
  test.for<[what: string, InstanceOptions, next: string[], file: string, says: RegExp, found: string]>([
    [
      'the image declares another path',
      app({ release: { volumes: ['/notes/data'] } }),
      ['/var/lib/notes'],
      '/notes/data/note',
      /app has data at \/notes\/data \(an unnamed volume\), but a container of \S+:v1\.1\.0 would not have this volume and would have a new volume at \/var\/lib\/notes$/m,
      '/var/lib/notes/note',
    ],
    [
      'the image declares no path any more',
      app({ release: { volumes: ['/notes'] } }),
      [],
      '/notes/note',
      /app has data at \/notes \(an unnamed volume\), but a container of \S+ would not have this volume$/m,
      '/notes/note',
    ],
    [
      'compose does not recognize a path with a slash at its end',
      app({ release: { volumes: ['/notes'] } }),
      ['/notes/'],
      '/notes/note',
      /would not have this volume$/m,
      '/notes/note',
    ],
    [
      'the image declares the parent of a named volume',
      app({ text: { volumes: ['db:/notes/data'] } }),
      ['/notes'],
      '/notes/data/note',
      /app has data at \/notes\/data \(volume \S+_db\), but a container of \S+ would have a new volume at \/notes$/m,
      '/notes/note',
    ],
    [
      'the image declares a directory in a named volume',
      app({ text: { volumes: ['db:/notes'] } }),
      ['/notes/data'],
      '/notes/data/note',
      /app has data at \/notes \(volume \S+_db\), but a container of \S+ would have a new volume at \/notes\/data$/m,
      '/notes/data/note',
    ],
    [
      'the image declares a directory in a bind mount',
      app({ text: { volumes: ['./more:/notes'] } }),
      ['/notes/data'],
      '/notes/data/note',
      /app has data at \/notes \("\S+\/more"\)/,
      '/notes/data/note',
    ],
  ])('if %s', async ([, options, next, file, says, found], { onTestFinished }) => {
    const instance = await createInstanceFor(onTestFinished, options);
    await instance.publish('v1.1.0', { volumes: next });
    await put(instance, 'app', file);
    const refused = await expectAttempt(instance, [...toNext, '--accept-drift'], {
      exitCode: 3,
      says: [says],
      ends: [/^refused \(volume-moved\): .*Add the lines above to the compose file/],
    });
    await addLines(instance, refused);
    const { exitCode, log } = await instance.update(toNext);
    expect(exitCode, log).toBe(0);
    expect(await read(instance, 'app', found), log).toBe('of app');
  });
});

test('fetch is refused if only the worker would lose data, and plan is refused once the image was pulled', async () => {
  const instance = await createInstance({ ...app({ release: { volumes: ['/notes'] } }), up: alone.up });
  await instance.publish('v1.1.0', { volumes: ['/var/lib/notes'] });
  await put(instance, 'worker', '/notes/note');
  const ends = [/^refused \(volume-moved\): /];
  const never = ['app has data'];
  const refused = await expectAttempt(instance, ['fetch', ...toNext], { exitCode: 3, says: [], ends, never });
  expect(parse(linesOf(refused)).services).toEqual({ worker: expect.anything() });
  await execa('docker', ['pull', '--quiet', `${instance.image}:v1.1.0`]);
  await expectAttempt(instance, ['plan', ...toNext], { exitCode: 3, says: [], ends, never });
});

test('an update is refused if the compose file of the release mounts another volume at the path of the data', async () => {
  const shipped = generatedCompose('v1.1.0', { volumes: ['db:/notes'] });
  const instance = await createInstance({
    kind: 'generated',
    up: alone.up,
    publish: [],
    release: { volumes: ['/notes'] },
  });
  await instance.publish('v1.1.0', { volumes: ['/notes'], files: { 'compose.yaml': shipped } });
  await put(instance, 'app', '/notes/note');
  const refused = await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [
      /app has data at \/notes \(an unnamed volume\), but a container of \S+ would not have this volume$/m,
    ],
    ends: [/^refused \(volume-moved\): .*add them to compose\.override\.yaml and run docker compose up -d/],
  });
  await instance.write('compose.override.yaml', linesOf(refused));
  await instance.compose('up', '-d', ...alone.up);
  await instance.waitUntilHealthy();
  const { exitCode, log } = await instance.update(toNext);
  expect(exitCode, log).toBe(0);
  expect(await read(instance, 'app', '/notes/note'), log).toBe('of app');
});

test('a rollback attaches the unnamed volume of a restore point, with its data', async () => {
  const layout = (c: LayoutContext) => {
    const { files, flags } = ownData(c);
    return {
      files: { ...files, 'compose.yaml': files['compose.yaml']?.replace("'./data:/data'", '') ?? '' },
      flags,
    };
  };
  // The app writes a line to /data/boots at each start.
  const instance = await createInstance(app({ layout, release: { volumes: ['/data'] } }));
  const volumeOf = async () => Object.values(await instance.containers())[0]?.volumes;
  const before = await volumeOf();
  await instance.publish('v1.1.1', { ...releases['v1.1.1'], volumes: ['/data'] });
  const { exitCode, log } = await instance.update([
    '--target',
    'v1.1.1',
    '--restore-point',
    '--wait-timeout',
    '8',
  ]);
  expect(exitCode, log).toBe(4);
  expect(log).toContain('the restore point will contain app:/data');
  expect(await volumeOf(), log).toEqual(before);
  expect(await read(instance, 'app', '/data/boots'), log).toBe('app v1.0.0\napp v1.0.0');
});
