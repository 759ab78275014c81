import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { judgeFiles } from '../judge/files.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { bump } from './support/bump.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 5.1: a rewritten file keeps its permissions, and they are never wider in between.

const reader = 1234;
const heir = 1235;
const group = 4321;

/** Runs a program of the updater image on the files of an instance. */
const inImage = async (
  { directory }: Instance,
  user: string,
  command: readonly string[],
  docker: readonly string[] = [],
) => {
  const [program = '', ...args] = command;
  const flags = [...docker, '--rm', '--network', 'none', '--user', user, '-v', `${directory}:${directory}`];
  const place = ['-w', directory, '--entrypoint', program, updaterImage];
  return (await execa('docker', ['run', ...flags, ...place, ...args])).stdout;
};

/** An access-control list in the format of Linux: a version, then tag, permissions and id of each entry. */
const aclOf = (entries: readonly (readonly number[])[]): string => {
  const words = entries.flatMap(([tag = 0, permissions = 0, id = 0xffff_ffff]) => [
    tag | (permissions << 16),
    id,
  ]);
  return `0s${Buffer.from(Uint32Array.of(2, ...words).buffer).toString('base64')}`;
};
const ofEnv = aclOf([
  [1, 6],
  [2, 4, reader],
  [4, 0],
  [16, 4],
  [32, 0],
]);
const ofNewFiles = aclOf([
  [1, 7],
  [2, 7, heir],
  [4, 5],
  [16, 7],
  [32, 5],
]);

/** Access-control lists as in a shared directory: one user can read `.env`, and another user can read all new files. */
async function giveLists(instance: Instance): Promise<void> {
  const sets = [
    `chown 0:${group} .env`,
    'chmod 600 .env',
    `setfattr -n system.posix_acl_access -v ${ofEnv} .env`,
    'setfattr -n user.note -v mine .env',
    `setfattr -n system.posix_acl_default -v ${ofNewFiles} .`,
  ];
  await inImage(instance, '0:0', ['sh', '-ec', sets.join('\n')]);
}

const rightsOf = (instance: Instance) =>
  inImage(instance, '0:0', [
    ...['sh', '-c', 'stat -c "%n %u:%g %a" .env *.yaml; getfattr -d -m - -e base64 .env *.yaml'],
  ]);

/**
 * Tries, as this user, to read each temporary and saved file until `.stop` can be read. Returns the names of all files
 * that it could read.
 */
const prowl = (instance: Instance, user: string) =>
  inImage(instance, user, [
    ...['sh', '-c'],
    'while :; do for f in .* .svc-updater/* .svc-updater/backup/*/.*; do read -r line <"$f" && echo "$f" && [ "$f" = .stop ] && exit; done; done 2>/dev/null',
  ]);

/**
 * Reads `.env` repeatedly, as the user in its access-control list, until `.stop` exists. The CPU limit leaves time for
 * other processes.
 */
const keepReading = (instance: Instance) => {
  const script = 'until [ -e .stop ]; do read -r line <.env || echo kept out; done; echo read';
  return inImage(instance, `${reader}:${reader}`, ['sh', '-c', script], ['--cpus', '0.1']);
};

test('a file keeps its access-control list and attributes through an update, a rollback and a bump, or nothing changes', async () => {
  const instance = await createInstance({ ...alone, publish: ['v1.1.0', 'v1.1.3', 'v1.2.0'] });
  await giveLists(instance);
  const before = await rightsOf(instance);
  expect(before).toContain(`.env 0:${group} 640\n`);
  expect(before).toContain(`system.posix_acl_access=${ofEnv}\nuser.note=`);
  const without = (program: string) => ({ volumes: [`/dev/null:/usr/bin/${program}`] });
  const env = join(instance.directory, '.env');
  await expectAttempt(
    instance,
    ['--target', 'v1.1.0'],
    {
      exitCode: 3,
      says: [
        `${env} would lose its permissions: its access-control list (system.posix_acl_access) cannot be set`,
      ],
      ends: ['refused (rights-lost): nothing was changed; v1.0.0 is still running. Next: '],
    },
    without('setfattr'),
  );
  await expectAttempt(
    instance,
    ['plan', '--target', 'v1.1.0'],
    {
      exitCode: 0,
      says: [/ WARN {2}plan cannot check whether \S+\/\.env has an access-control list, which would be lost/],
      ends: ['planned: nothing was changed'],
    },
    without('getfattr'),
  );

  const watches = Promise.all([prowl(instance, `${heir}:${group}`), keepReading(instance)]);
  const stop = () => instance.write('.stop', 'stop\n');
  onTestFinished(async () => {
    await stop();
    await watches.catch(() => {});
  });

  const { files } = await instance.snapshot();
  const failed = await instance.update(['--target', 'v1.1.3', '--wait-timeout', '20']);
  expectWords(failed, { exitCode: 4, says: ['write .env line '], ends: ['failed (recreate-failed): '] });
  expect(judgeFiles(files, (await instance.snapshot()).files)).toEqual([]);
  expect(await rightsOf(instance)).toBe(before);

  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  await updateWell(instance, ['--target', 'v1.1.0'], { version: 'v1.1.0', changed });
  expect(await rightsOf(instance)).toBe(before);

  const toNext = ['--file', 'compose.prod.yaml', '--to', 'v1.2.0', '--service', 'app'];
  const withoutChown = await bump(instance.directory, toNext, 'image', { docker: ['--cap-drop', 'CHOWN'] });
  expect(withoutChown).toMatchObject({ exitCode: 3 });
  expect(withoutChown.log).toContain(
    `${env} would lose its permissions: its owner cannot be set on a new file`,
  );
  const bumped = await bump(instance.directory, toNext);
  expect(bumped).toMatchObject({ exitCode: 0 });
  expect(await rightsOf(instance)).toBe(before);

  // With an access-control list, the group bits are the mask of the list. Without them, no user in the list of the
  // directory has access.
  for (const name of ['.', 'journal.json', 'last-run.log', 'backup']) {
    expect([name, (await stat(join(instance.directory, '.svc-updater', name))).mode & 0o077]).toEqual([
      name,
      0,
    ]);
  }
  await stop();
  expect(await watches).toEqual(['.stop', 'read']);
  await rm(join(instance.directory, '.stop'));
});
