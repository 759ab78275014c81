import { chmod, chown, copyFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Api } from '../../feed/forge.ts';
import { clientOf, type Rig, startRig, workerAsset, workerOf } from './rig.ts';

let old = '';
let fresh = '';
let rig: Rig;

beforeAll(async () => {
  [old, fresh] = await Promise.all([clientOf('v1.4.2'), clientOf('v1.5.0')]);
});
beforeEach(async () => {
  rig = await startRig(old);
});
afterEach(() => rig.close());

const version = async (file: string) => (await execa(process.execPath, [file, '--version'])).stdout;

describe('svc update', () => {
  it.each<Api>(['gitHub', 'gitea', 'gitLab', 'static'])('replaces itself from %s', async (api) => {
    rig.useApi(api);
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    expect(await rig.run([])).toEqual({
      exitCode: 0,
      stdout: '✓ svc v1.5.0 is in place of v1.4.2.',
      stderr: '',
      signal: undefined,
    });
    expect(await rig.read(rig.svc)).toBe(fresh);
    expect(await version(rig.svc)).toBe('svc v1.5.0');
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: 'svc v1.5.0 is the newest on stable.' });
  });

  it('takes the newest of the channel that is named', async () => {
    const canary = await clientOf('v1.6.0-canary.2');
    rig.publish('v1.6.0-canary.2', { 'svc.mjs': canary });
    expect((await rig.run([])).stdout).toBe('svc v1.4.2 is the newest on stable.');
    expect((await rig.run(['--channel', 'canary'])).stdout).toBe(
      '✓ svc v1.6.0-canary.2 is in place of v1.4.2.',
    );
  });

  it('never goes back', async () => {
    rig.publish('v1.3.9', { 'svc.mjs': fresh });
    rig.forge.publish({ tag: 'v1.3.9', files: ['svc.mjs', 'SHA256SUMS'] });
    expect(await rig.run([])).toMatchObject({
      exitCode: 0,
      stdout: 'svc v1.4.2 stays: it is newer than v1.3.9, the newest on stable.',
    });
    rig.forge.publish();
    expect(await rig.run([])).toMatchObject({
      exitCode: 0,
      stdout: 'svc v1.4.2 stays: nothing is published on stable yet.',
    });
    expect(await rig.read(rig.svc)).toBe(old);
  });

  it('keeps mode and owner, and the links that lead to it', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) await chown(rig.svc, 1234, 4321);
    await chmod(rig.svc, 0o2754);
    const link = join(rig.directory, 'svc');
    await symlink(rig.svc, link);
    expect(await rig.run([], {}, link)).toMatchObject({ exitCode: 0 });
    const { mode, uid, gid } = await stat(rig.svc);
    expect(mode & 0o7777).toBe(0o2754);
    if (isRoot) expect([uid, gid]).toEqual([1234, 4321]);
    expect(await rig.read(link)).toBe(fresh);
    expect((await rig.names()).includes('svc')).toBe(false);
  });

  it('has no need of an ending in its name', async () => {
    const plain = join(rig.bin, 'svc');
    await copyFile(rig.svc, plain);
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    expect(await rig.run([], {}, plain)).toMatchObject({ exitCode: 0 });
    expect(await rig.read(plain)).toBe(fresh);
    expect(await rig.read(rig.svc)).toBe(old);
  });
});

describe('svc update --program', () => {
  const restart = (file: string) => ['--program', file, '--', file, 'restart'];

  it('replaces a program, and runs the command with the new one in place', async () => {
    const next = workerOf('v1.5.0', 'echo "v1.5.0 told to $*"');
    rig.publish('v1.5.0', { [workerAsset]: next });
    const { exitCode, stdout } = await rig.run(restart(rig.worker));
    expect(stdout.split('\n')).toEqual([
      'Running: DIR/bin/svc-worker restart',
      'v1.5.0 told to restart',
      '✓ svc-worker v1.5.0 is in place of v1.4.2, and its command ended with exit code 0.',
    ]);
    expect(exitCode).toBe(0);
    expect(await rig.read(rig.worker)).toBe(next);
    expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('takes a command as a list, and no shell', async () => {
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', `printf '<%s>' "$@"`) });
    const { stdout } = await rig.run([...restart(rig.worker), '$(id)', "it's; false", '*']);
    expect(stdout).toContain(`Running: DIR/bin/svc-worker restart '$(id)' 'it'\\''s; false' '*'\n`);
    expect(stdout).toContain("<restart><$(id)><it's; false><*>");
  });

  it('knows a program by the name that it was downloaded by', async () => {
    const file = join(rig.bin, workerAsset);
    await rename(rig.worker, file);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0') });
    expect(await rig.run(restart(file))).toMatchObject({ exitCode: 0 });
  });

  it('puts the old file back where the command fails, and runs it again', async () => {
    const before = workerOf('v1.4.2', 'echo old');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'echo new; exit 7') });
    const { exitCode, stdout, stderr } = await rig.run(restart(rig.worker));
    expect(stdout.split('\n')).toEqual([
      'Running: DIR/bin/svc-worker restart',
      'new',
      'With v1.5.0, the command ended with exit code 7. Putting the old file back.',
      'Running: DIR/bin/svc-worker restart',
      'old',
    ]);
    expect(stderr).toBe(
      'v1.5.0 was taken back: its command ended with exit code 7. The old file is in its place again, and with it the command ended with exit code 0.\nNext: see above what the command says, then run the update again.',
    );
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(before);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('puts the old file back on a file system that knows no second names', async () => {
    const before = workerOf('v1.4.2', 'exit 0');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', `[ -x '${rig.worker}.svc-old' ] && exit 7`) });
    const none =
      "import fs from 'node:fs';import { syncBuiltinESMExports } from 'node:module';" +
      "fs.promises.link = async () => { throw Object.assign(new Error('no'), { code: 'EPERM', syscall: 'link' }); };" +
      'syncBuiltinESMExports();';
    const { exitCode, stderr } = await rig.run(restart(rig.worker), {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(none)}`,
    });
    expect(stderr).toContain('its command ended with exit code 7. The old file is in its place again');
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(before);
    expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('says so where the command fails with the old file, too', async () => {
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0') });
    const { exitCode, stderr } = await rig.run(['--program', rig.worker, '--', 'false']);
    expect(stderr).toMatch(
      /^v1\.5\.0 was taken back: its command ended with exit code 1\. With the old file, which is in its place again, the command ended with exit code 1\.\nNext: /,
    );
    expect(exitCode).toBe(5);
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('says where the old file is that cannot be put back', async () => {
    const kept = `${rig.worker}.svc-old`;
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', `rm '${kept}'; exit 1`) });
    const { exitCode, stderr } = await rig.run(restart(rig.worker));
    expect(stderr).toContain('The old file could not be put back into its place, DIR/bin/svc-worker: ');
    expect(stderr).toContain(
      'the old one is DIR/bin/svc-worker.svc-old: mv DIR/bin/svc-worker.svc-old DIR/bin/svc-worker',
    );
    expect(exitCode).toBe(5);
  });

  it.each<[string, string[], string]>([
    ['no command', ['--program', 'svc-worker'], '--program needs a command behind --'],
    ['no program', ['--', 'true'], 'a command behind -- belongs to --program FILE'],
    [
      'a command that is no program',
      ['--program', 'svc-worker', '--', 'no-such-program'],
      'the command after -- cannot be run: there is no program no-such-program',
    ],
    ['a feed that is none', ['SVC_FEED'], 'SVC_FEED should be the web address of a list of releases'],
  ])('refuses %s', async (_, args, sentence) => {
    const isFeed = args[0] === 'SVC_FEED';
    const result = await rig.run(isFeed ? [] : args, isFeed ? { SVC_FEED: 'file:///Zq7secret' } : {});
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain(sentence);
    expect(result.stderr).not.toContain('Zq7secret');
  });
});
