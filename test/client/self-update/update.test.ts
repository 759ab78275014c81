import { chmod, chown, copyFile, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findNpmUpdateCommand } from '../../../src/client/self-update/client-file.ts';
import { type DownloadLimits, downloadAsset } from '../../../src/client/self-update/download-asset.ts';
import { parseFileChecksums } from '../../../src/client/self-update/fetch-newest-release.ts';
import { endless, json, type Reply, silence, startForge, text } from '../../feed/forge.ts';
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
  it('replaces itself', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const { exitCode, stdout, stderr } = await rig.start([]);
    expect([exitCode, stderr, stdout.split('\n')]).toEqual([
      0,
      '',
      [
        'svc.mjs is checked only against SHA256SUMS, because this client was built without a trusted key.',
        'Downloading svc.mjs v1.5.0',
        '✓ svc was updated: v1.4.2 → v1.5.0',
      ],
    ]);
    expect(await rig.read(rig.svc)).toBe(fresh);
    expect(await rig.names()).toEqual(['svc.mjs']);
    expect(await rig.run([])).toMatchObject({
      exitCode: 0,
      stdout: 'svc v1.5.0 is the latest release on stable.',
    });
  });

  it('installs the latest release of the given channel', async () => {
    rig.publish('v1.6.0-canary.2', { 'svc.mjs': await clientOf('v1.6.0-canary.2') });
    expect((await rig.run([])).stdout).toBe('svc v1.4.2 is the latest release on stable.');
    expect((await rig.run(['--channel', 'canary'])).stdout).toBe(
      '✓ svc was updated: v1.4.2 → v1.6.0-canary.2',
    );
  });

  it('never downgrades', async () => {
    rig.forge.publish({ tag: 'v1.3.9', files: ['svc.mjs', 'SHA256SUMS'] });
    const stdout = 'svc v1.4.2 was not changed: it is newer than v1.3.9, the latest release on stable.';
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout });
    rig.forge.publish();
    const none = 'svc v1.4.2 was not changed: no release has been published on stable yet.';
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: none });
    expect(await rig.read(rig.svc)).toBe(old);
  });

  it('preserves the owner and the mode of the file, and symlinks to it', async () => {
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

  it('leaves a complete old or new file whenever it is killed', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const states = new Set<'old' | 'new'>();
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
    // A leftover temporary file does not block an update.
    await writeFile(rig.svc, old);
    expect(await rig.run([])).toMatchObject({ exitCode: 0 });
  });

  it('is cancelled by a signal before the rename', async () => {
    const reached = Promise.withResolvers<void>();
    const half: Reply = (_, response) => response.write(fresh.slice(0, 3000), () => reached.resolve());
    rig.publish('v1.5.0', { 'svc.mjs': fresh }, { 'svc.mjs': half });
    const running = rig.start([]);
    await reached.promise;
    running.kill('SIGHUP');
    const { stderr, exitCode } = await running;
    expect(stderr).toContain('svc.mjs was not changed.');
    expect([exitCode, await rig.read(rig.svc), await rig.names()]).toEqual([129, old, ['svc.mjs']]);
  });
});

describe('a file that svc update does not replace', () => {
  it.each([
    ['/usr/lib/node_modules/@acme/svc/dist/svc.mjs', 'npm install --global @acme/svc@latest'],
    ['/srv/web/node_modules/a/node_modules/svc/svc.mjs', 'npm install --prefix /srv/web svc@latest'],
    ['/usr/local/bin/svc', null],
  ])('is identified by its path, with the npm command to run instead: %s: %s', (path, command) => {
    expect(findNpmUpdateCommand(path)).toBe(command);
  });

  it('is a file installed with npm, even if it is called through a symlink', async () => {
    const folder = join(rig.directory, 'lib/node_modules/svc-updater/dist');
    await mkdir(folder, { recursive: true });
    await copyFile(rig.svc, join(folder, 'svc.mjs'));
    const link = join(rig.bin, 'svc');
    await symlink(join(folder, 'svc.mjs'), link);
    const stderr =
      'DIR/lib/node_modules/svc-updater/dist/svc.mjs was installed with npm.\nNext: npm install --global svc-updater@latest';
    expect(await rig.run([], {}, link)).toMatchObject({ exitCode: 3, stderr });
    expect([await rig.read(link), rig.forge.seen]).toEqual([old, []]);
  });

  it.skipIf(!isRoot)('is a file that the user is not allowed to replace', async () => {
    await chmod(rig.directory, 0o755);
    await chmod(rig.bin, 0o777);
    const expectRefusal = async (stderr: string) =>
      expect(await rig.run([], {}, rig.svc, 65534)).toMatchObject({ exitCode: 3, stderr });
    await expectRefusal(
      'DIR/bin/svc.mjs belongs to another user (uid 0).\nNext: run the command as that user, or with sudo.',
    );
    await chmod(rig.bin, 0o755);
    await chown(rig.svc, 65534, 65534);
    await expectRefusal(
      'Cannot replace DIR/bin/svc.mjs: permission denied.\nNext: run the command as the owner of DIR/bin, or with sudo.',
    );
  });

  it('is a development build', async () => {
    await writeFile(rig.svc, await clientOf('dev'));
    const stderr = expect.stringContaining('is a development build (vdev).');
    expect(await rig.run([])).toMatchObject({ exitCode: 3, stderr });
  });

  it('is a file that another process has replaced during the download', async () => {
    const replace: Reply = async (_, response) => {
      await writeFile(`${rig.svc}.mine`, '// mine');
      await rename(`${rig.svc}.mine`, rig.svc);
      response.end(fresh);
    };
    rig.publish('v1.5.0', { 'svc.mjs': fresh }, { 'svc.mjs': replace });
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toContain('Nothing was changed: another process has replaced DIR/bin/svc.mjs.');
    expect([exitCode, await rig.read(rig.svc)]).toEqual([4, '// mine']);
  });
});

/** Runs an update that fails, and checks that the client is unchanged and that no other file remains. */
async function expectUnchanged(sentence: string, env?: Record<string, string>): Promise<void> {
  const { exitCode, stderr } = await rig.run([], env);
  expect(stderr).toMatch(/^Nothing was changed: .*\nNext: /);
  expect(stderr).toContain(sentence);
  expect(stderr).not.toContain('Zq7secret');
  expect(exitCode).toBe(4);
  expect(await rig.read(rig.svc)).toBe(old);
  expect(await rig.names()).toEqual(['svc.mjs']);
}

describe('a bad release', () => {
  const half: Reply = (_, response) => {
    response.writeHead(200, { 'content-length': String(fresh.length) });
    response.write(fresh.slice(0, 3000), () => response.destroy());
  };
  const [zeros, ones] = ['0'.repeat(64), '1'.repeat(64)];

  it.each<[string, Record<string, Reply>, string]>([
    [
      'a wrong checksum',
      { SHA256SUMS: text(200, `${zeros}  svc.mjs\n`) },
      'the checksum of the downloaded svc.mjs does not match the one in its release.\nNext: run the update again. If',
    ],
    [
      'no checksum',
      { SHA256SUMS: text(200, `${zeros}  svc.mjs.sig\n`) },
      'SHA256SUMS of v1.5.0 contains no checksum for svc.mjs.\nNext: report the problem to the publisher',
    ],
    [
      'two checksums',
      { SHA256SUMS: text(200, `${zeros}  svc.mjs\n${ones} *svc.mjs\n`) },
      'SHA256SUMS of v1.5.0 contains several checksums for svc.mjs.',
    ],
    [
      'endless checksums',
      { SHA256SUMS: endless() },
      'SHA256SUMS from HOST failed: the file is larger than 256 KiB',
    ],
    [
      'an incomplete file',
      { 'svc.mjs': half },
      'the download of svc.mjs from HOST failed: other side closed.\nNext: check that this machine can reach',
    ],
  ])('with %s changes nothing', async (_, replies, sentence) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh }, replies);
    await expectUnchanged(sentence);
  });

  it('whose program prints another version changes nothing', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': "console.log('svc v1.5.1')" });
    await expectUnchanged(
      'svc.mjs from v1.5.0 does not run on this machine: --version printed "svc v1.5.1".',
    );
  });

  it.each<[string, string[]]>([
    [`${'A'.repeat(64)}  ./svc.mjs\r\n${'b'.repeat(64)}  svc.mjs.sig\r\n`, ['a'.repeat(64)]],
    [`${'a'.repeat(64)}  old/svc.mjs\n${'a'.repeat(65)}  svc.mjs\n${'a'.repeat(64)} svc.mjs`, []],
  ])('can contain the checksum of svc.mjs only in a valid line: %j', (lines, expected) => {
    expect(parseFileChecksums('svc.mjs', lines)).toEqual(expected);
  });
});

describe('a download', () => {
  const drip: Reply = (_, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  };

  it.each<[string, Reply, Partial<DownloadLimits>, string]>([
    ['sends nothing', silence, { maximumSilenceMs: 200 }, 'no data for 0.2 s'],
    ['takes too long', drip, { maximumDurationMs: 200 }, 'not complete after 0.2 s'],
    ['is too large', endless(), {}, 'the file is larger than 1 KiB'],
  ])('that %s is aborted', async (_, reply, limits, sentence) => {
    rig.forge.host('/file', reply);
    const transfer = {
      asset: { name: 'file', url: '/file' },
      feed: rig.forge.address('static'),
      limits: { maximumSilenceMs: 60_000, maximumDurationMs: 60_000, maximumBytes: 1024, ...limits },
      signal: new AbortController().signal,
    };
    await expect(downloadAsset(transfer)).rejects.toThrow(sentence);
    // On a busy machine, a request may be aborted before it arrives.
    await expect.poll(() => rig.forge.seen.every(({ dropped }) => dropped)).toBe(true);
  });
});

describe('a feed', () => {
  it('that limits requests is reported without its credentials', async () => {
    const reset = String(Math.floor(Date.now() / 1000) + 1700);
    rig.forge.next(json(403, {}, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }));
    await expectUnchanged(
      'Next: run the update again in 29 min, or add credentials to SVC_FEED, as in https://NAME:TOKEN@….',
      {
        SVC_FEED: rig.forge.address('gitHub').replace('//', '//robot:Zq7secret@'),
      },
    );
  });

  it('with an invalid address is reported as a usage error that does not contain the address', async () => {
    const { exitCode, stderr } = await rig.run([], { SVC_FEED: 'file:///Zq7secret' });
    expect(stderr).toContain('SVC_FEED must be the web address of a list of releases');
    expect([exitCode, stderr.includes('Zq7secret')]).toEqual([2, false]);
  });

  it('receives its credentials, which no other host receives, and no host receives the token', async () => {
    const elsewhere = await startForge();
    elsewhere.host('/x', text(200, fresh));
    rig.publish(
      'v1.5.0',
      { 'svc.mjs': fresh },
      { 'svc.mjs': text(302, '', { location: `${elsewhere.origin}/x` }) },
    );
    const SVC_FEED = rig.forge.address('gitHub').replace('//', '//robot:password@');
    const env = { SVC_FEED, SVC_URL: rig.forge.origin, SVC_TOKEN: 'Zq7secret' };
    expect(await rig.run([], env)).toMatchObject({ exitCode: 0 });
    await elsewhere.close();
    const login = `Basic ${Buffer.from('robot:password').toString('base64')}`;
    expect(new Set(rig.forge.seen.map(({ headers }) => headers.authorization))).toEqual(new Set([login]));
    expect(elsewhere.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(JSON.stringify([elsewhere.seen, rig.forge.seen])).not.toContain('Zq7secret');
  });
});
