import { chmod, chown, copyFile, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { npmCommand } from '../../../src/client/self-update/client-file.ts';
import type { Api } from '../../feed/forge.ts';
import { clientOf, type Rig, startRig } from './rig.ts';

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

const isRoot = process.geteuid?.() === 0;

describe('svc update', () => {
  it.each<Api>(['gitHub', 'gitea', 'gitLab', 'static'])('replaces itself from %s', async (api) => {
    rig.useApi(api);
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const done = { exitCode: 0, stdout: '✓ svc was updated: v1.4.2 → v1.5.0', stderr: '', signal: undefined };
    expect(await rig.run([])).toEqual(done);
    expect(await rig.read(rig.svc)).toBe(fresh);
    expect(await rig.names()).toEqual(['svc.mjs']);
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: 'svc v1.5.0 is the newest on stable.' });
  });

  it('takes the newest release of the given channel', async () => {
    rig.publish('v1.6.0-canary.2', { 'svc.mjs': await clientOf('v1.6.0-canary.2') });
    expect((await rig.run([])).stdout).toBe('svc v1.4.2 is the newest on stable.');
    expect((await rig.run(['--channel', 'canary'])).stdout).toBe(
      '✓ svc was updated: v1.4.2 → v1.6.0-canary.2',
    );
  });

  it('never downgrades', async () => {
    rig.publish('v1.3.9', { 'svc.mjs': fresh });
    rig.forge.publish({ tag: 'v1.3.9', files: ['svc.mjs', 'SHA256SUMS'] });
    const stdout = 'svc v1.4.2 was not changed: it is newer than v1.3.9, the newest on stable.';
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout });
    rig.forge.publish();
    const none = 'svc v1.4.2 was not changed: nothing is published on stable yet.';
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: none });
    expect(await rig.read(rig.svc)).toBe(old);
  });

  it('keeps owner and mode, and links to the file', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const plain = join(rig.bin, 'svc');
    await copyFile(rig.svc, plain);
    if (isRoot) await chown(plain, 1234, 4321);
    await chmod(plain, 0o2754);
    const link = join(rig.directory, 'svc');
    await symlink(plain, link);
    expect(await rig.run([], {}, link)).toMatchObject({ exitCode: 0 });
    const { mode, uid, gid } = await stat(plain);
    expect(mode & 0o7777).toBe(0o2754);
    if (isRoot) expect([uid, gid]).toEqual([1234, 4321]);
    expect(await rig.read(link)).toBe(fresh);
    expect(await rig.names()).toEqual(['svc', 'svc.mjs']);
  });

  it('has the old or the new file in place whenever it is killed', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const states = new Set<string>();
    for (let step = 0; ; step++) {
      await writeFile(rig.svc, old);
      const { exitCode, signal } = await rig.run([], {
        NODE_OPTIONS: `--import=${new URL('kill-at-step.mjs', import.meta.url)}`,
        KILL_AT: String(step),
      });
      const found = await readFile(rig.svc, 'utf8');
      expect([old, fresh]).toContain(found);
      expect((await stat(rig.svc)).mode & 0o7777).toBe(0o755);
      states.add(found === fresh ? 'new' : 'old');
      if (exitCode === 0) break;
      expect(signal).toBe('SIGKILL');
    }
    expect([...states]).toEqual(['old', 'new']);
    // A temporary file that was left behind does not block an update.
    await writeFile(rig.svc, old);
    expect(await rig.run([])).toMatchObject({ exitCode: 0 });
  });
});

describe('a file that svc update does not replace', () => {
  it.each([
    ['/usr/lib/node_modules/svc-updater/dist/svc.mjs', 'npm install --global svc-updater@latest'],
    ['/home/a/.nvm/versions/node/v24/lib/node_modules/@acme/svc/x', 'npm install --global @acme/svc@latest'],
    ['/srv/web/node_modules/a/node_modules/svc/svc.mjs', 'npm install --prefix /srv/web svc@latest'],
    ['/usr/local/bin/svc', null],
  ])('%s: %s', (path, command) => {
    expect(npmCommand(path)).toBe(command);
  });

  it('is one that npm has installed', async () => {
    const folder = join(rig.directory, 'lib/node_modules/svc-updater/dist');
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'svc.mjs');
    await copyFile(rig.svc, file);
    const link = join(rig.bin, 'svc');
    await symlink(file, link);
    expect(await rig.run([], {}, link)).toMatchObject({
      exitCode: 3,
      stderr:
        'DIR/lib/node_modules/svc-updater/dist/svc.mjs was installed by npm.\nNext: npm install --global svc-updater@latest',
    });
    expect(await rig.read(file)).toBe(old);
    expect(rig.forge.seen).toEqual([]);
  });

  it.skipIf(!isRoot)('is one that this user may not replace', async () => {
    await chmod(rig.directory, 0o755);
    await chmod(rig.bin, 0o777);
    const run = async () => {
      const { exitCode, stderr } = await rig.run([], {}, rig.svc, 65534);
      return [exitCode, stderr];
    };
    expect(await run()).toEqual([
      3,
      'DIR/bin/svc.mjs belongs to another user (uid 0).\nNext: run it as that user, or as root: sudo.',
    ]);
    await chmod(rig.bin, 0o755);
    await chown(rig.svc, 65534, 65534);
    expect(await run()).toEqual([
      3,
      'DIR/bin/svc.mjs cannot be replaced: permission was denied.\nNext: run it as the owner of DIR/bin, or as root: sudo.',
    ]);
  });

  it('is a development build', async () => {
    await writeFile(rig.svc, await clientOf('dev'));
    const { exitCode, stderr } = await rig.run([]);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('is a development build (vdev).')]);
  });
});
