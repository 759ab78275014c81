import { once } from 'node:events';
import { chmod, chown, copyFile, link, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { execa } from 'execa';
import { beforeAll, describe, it } from 'vitest';
import { json, text } from '../../feed/forge.ts';
import { mountExfat } from '../../rig/exfat.ts';
import { clientOf, type Rig, sha256, startRig, workerAsset, workerOf } from './rig.ts';

let client = '';
let fresh = '';
beforeAll(async () => {
  [client, fresh] = await Promise.all([clientOf('v1.4.2'), clientOf('v1.5.0')]);
});
const test = it.extend<{ rig: Rig }>({
  rig: async ({ task: _ }, use) => {
    const rig = await startRig(client);
    await use(rig);
    await rig.close();
  },
});

const isRoot = process.geteuid?.() === 0;
const next = workerOf('v1.5.0');
const capabilities = 'cap_net_bind_service=ep';
const capabilitiesOf = async (file: string) => (await execa('getcap', [file])).stdout.replace(`${file} `, '');
/** A program's own folder before all others. */
const withProgram = async (rig: Rig, name: string, script: string) => {
  const folder = join(rig.directory, 'own');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${folder}:${process.env.PATH}` };
};

describe.concurrent('what else the old file has', () => {
  test('is the new one’s: capabilities', async ({ rig, expect, skip }) => {
    if (!isRoot) skip('it takes root to give capabilities');
    await execa('setcap', [capabilities, rig.worker]);
    rig.publish('v1.5.0', { [workerAsset]: next });
    expect(await rig.runWorker()).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await rig.read(rig.worker)).toBe(next);
    expect(await capabilitiesOf(rig.worker)).toBe(capabilities);
    expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
  });

  test('has it stay where this user may not give that', async ({ rig, expect, skip }) => {
    if (!isRoot) skip('it takes root to give capabilities');
    await chmod(rig.directory, 0o755);
    for (const path of [rig.bin, rig.worker]) await chown(path, 65534, 65534);
    await execa('setcap', [capabilities, rig.worker]);
    rig.publish('v1.5.0', { [workerAsset]: next });
    const { exitCode, stderr } = await rig.run(['--program', rig.worker, '--', 'true'], {}, rig.svc, 65534);
    expect(stderr).toContain(
      'Nothing was changed: DIR/bin/svc-worker has an access control list, capabilities or other attributes, which the new file could not be given.\nNext: run it as root: sudo.',
    );
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
    expect(await capabilitiesOf(rig.worker)).toBe(capabilities);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  test('is not asked for where cp cannot tell', async ({ rig, expect }) => {
    const env = await withProgram(rig, 'cp', 'echo "cp: unrecognized option: attributes-only" >&2; exit 1');
    rig.publish('v1.5.0', { [workerAsset]: next });
    expect(await rig.runWorker(['true'], env)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('is kept as far as a disk without owners, modes and links can', async ({ rig, expect, skip }) => {
    const disk = await mountExfat(join(rig.directory, 'exfat')).catch(() => null);
    if (disk === null) return skip('nobody may mount exFAT here');
    try {
      const file = join(disk.directory, 'svc-worker');
      const before = workerOf('v1.4.2', 'true');
      await writeFile(file, before);
      rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'exit 7') });
      expect(await rig.run(['--program', file, '--', file])).toMatchObject({ exitCode: 4 });
      expect(await rig.read(file)).toBe(before);
      rig.publish('v1.5.0', { [workerAsset]: next });
      expect(await rig.run(['--program', file, '--', file])).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await rig.read(file)).toBe(next);
      expect(await readdir(disk.directory)).toEqual(['svc-worker']);
    } finally {
      await disk.unmount();
    }
  });

  test('is named where it is another name', async ({ rig, expect }) => {
    const other = join(rig.directory, 'other');
    await link(rig.worker, other);
    rig.publish('v1.5.0', { [workerAsset]: next });
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toBe(
      '! DIR/bin/svc-worker has 1 other name (a hard link): what is run by it stays v1.4.2.',
    );
    expect(exitCode).toBe(0);
    expect(await rig.read(other)).toBe(workerOf('v1.4.2'));
    expect(await rig.read(rig.worker)).toBe(next);
  });
});

describe.concurrent('a program', () => {
  const elf = (machine: number) =>
    `\x7fELF\x02\x01\x01${'\0'.repeat(9)}\x02\0${String.fromCharCode(machine)}\0\necho v1.5.0; touch RAN\n`;
  test.for<[string, string, string]>([
    ['for another processor', elf(process.arch === 'arm64' ? 62 : 0x28), 'it is made for'],
    ['that is none', 'echo v1.5.0; touch RAN', 'it is neither a program of Linux nor a script.'],
    ['that is empty', '', 'it is neither a program of Linux nor a script.'],
  ])('%s is not run', async ([, bytes, why], { rig, expect }) => {
    const ran = join(rig.directory, 'ran');
    rig.publish('v1.5.0', { [workerAsset]: bytes.replace('RAN', ran) });
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toContain(`WORKER of v1.5.0 does not do its work here: ${why}`);
    expect(exitCode).toBe(4);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
    await expect(stat(ran)).rejects.toThrow('ENOENT');
  });

  test('of the system that runs is replaced, and goes on', async ({ rig, expect }) => {
    await copyFile('/bin/bash', rig.worker);
    const busy = execa(rig.worker, ['-c', 'read line; echo "$line"']);
    const script = workerOf('v99.0.0');
    rig.publish('v99.0.0', { [workerAsset]: script });
    expect(await rig.runWorker()).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await rig.read(rig.worker)).toBe(script);
    busy.stdin.end('still here\n');
    expect((await busy).stdout).toBe('still here');
  });

  test('behind a chain of links is replaced at its end', async ({ rig, expect }) => {
    const [one, two] = [join(rig.directory, 'svc-worker'), join(rig.directory, 'current')];
    await symlink('bin', two);
    await symlink(join(two, 'svc-worker'), one);
    rig.publish('v1.5.0', { [workerAsset]: next });
    expect(await rig.run(['--program', one, '--', one])).toMatchObject({ exitCode: 0 });
    expect(await rig.read(rig.worker)).toBe(next);
    expect(await rig.read(one)).toBe(next);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });
});

describe.concurrent('a command', () => {
  test.for<[string, (rig: Rig) => string]>([
    ['that is a directory', (rig) => rig.bin],
    ['that nobody may run', (rig) => join(rig.bin, 'svc-worker')],
  ])('%s is a mistake before anything is asked', async ([, name], { rig, expect }) => {
    await chmod(rig.worker, 0o640);
    rig.publish('v1.5.0', { [workerAsset]: next });
    const { exitCode, stderr } = await rig.runWorker([name(rig)]);
    expect(stderr).toContain('the command after -- cannot be run: there is no program ');
    expect(exitCode).toBe(2);
    expect(rig.forge.seen).toEqual([]);
  });

  test('that is ended by a signal has failed', async ({ rig, expect }) => {
    const before = workerOf('v1.4.2', 'true');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'kill -SEGV $$') });
    const { exitCode, stdout } = await rig.runWorker([rig.worker]);
    expect(stdout).toContain('With v1.5.0, the command was ended by SIGSEGV. Putting the old file back.');
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(before);
  });

  test('may leave a program of its own behind', async ({ rig, expect }) => {
    const mark = join(rig.directory, 'mark');
    const script = `(read line < '${mark}'; echo "$line" > '${mark}.told') > /dev/null 2>&1 &`;
    await execa('mkfifo', [mark]);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', script) });
    expect(await rig.runWorker([rig.worker])).toMatchObject({ exitCode: 0 });
    await writeFile(mark, 'lives\n');
    await expect.poll(() => rig.read(`${mark}.told`).catch(() => '')).toBe('lives\n');
  });

  test('waits for no input, and prints as much as it will', async ({ rig, expect }) => {
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'cat; seq 300000; cat >&2') });
    const { exitCode, stdout } = await rig.runWorker([rig.worker]);
    expect(stdout).toContain('\n299999\n300000\n');
    expect(exitCode).toBe(0);
  });
});

describe.concurrent('a feed', () => {
  const login = 'give SVC_FEED a login: https://NAME:TOKEN@….';
  const soon = () => String(Math.floor(Date.now() / 1000) + 1700);
  test.for<[string, () => Parameters<typeof json>, string]>([
    [
      'has no more requests',
      () => [403, {}, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon() }],
      `it allows no more requests for now: run it again in 29 min, or ${login}`,
    ],
    [
      'has had too many',
      () => [429, {}, { 'retry-after': '61' }],
      `it allows no more requests for now: run it again in 2 min, or ${login}`,
    ],
    ['wants a login', () => [404, {}], `see that everybody may read them there; else ${login}`],
    ['is in trouble', () => [500, {}], 'see that this machine reaches that address'],
  ])('that %s says so', async ([, reply, advice], { rig, expect }) => {
    rig.forge.next(json(...reply()));
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toMatch(/^Nothing was changed: the releases at HOST cannot be read: it answers \d+\.\n/);
    expect(stderr).toContain(`\nNext: ${advice}`);
    expect(exitCode).toBe(4);
  });

  test('with drafts, canaries and other programs’ tags has one newest', async ({ rig, expect }) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    rig.forge.publish(
      { tag: 'v1.9.0', draft: true, files: ['svc.mjs', 'SHA256SUMS'] },
      { tag: 'v1.8.0-canary.1', prerelease: true, files: ['svc.mjs', 'SHA256SUMS'] },
      { tag: 'agent-v2.0.0', files: ['svc.mjs', 'SHA256SUMS'] },
      { tag: 'v1.6.0-rc.1', files: ['svc.mjs', 'SHA256SUMS'] },
      { tag: 'v1.4.2' },
      { tag: 'v1.5.0', files: ['svc.mjs', 'SHA256SUMS'] },
    );
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: '✓ svc v1.5.0 is in place of v1.4.2.' });
  });

  test('is asked by the proxy that Node is told of', async ({ rig, expect }) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const asked: string[] = [];
    const proxy = createServer().listen(0, '127.0.0.1');
    proxy.on('connect', ({ url = '' }, socket) => {
      asked.push(url);
      const { hostname, port } = new URL(`http://${url}`);
      const tunnel = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      pipeline(tunnel, socket, tunnel, () => {});
    });
    await once(proxy, 'listening');
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, NO_PROXY: '' };
    expect(await rig.run([], env)).toMatchObject({ exitCode: 0, stderr: '' });
    proxy.close();
    expect(new Set(asked)).toEqual(new Set([new URL(rig.forge.origin).host]));
  });

  test('is no business of programs that are only asked for their version', async ({ rig, expect }) => {
    const seen = join(rig.directory, 'seen');
    const telling = (version: string) =>
      workerOf(version).replace('then echo', `then env >> '${seen}'; echo`);
    await writeFile(rig.worker, telling('v1.4.2'));
    rig.publish('v1.5.0', { [workerAsset]: telling('v1.5.0') });
    const feed = rig.forge.address('gitHub').replace('//', '//robot:Zq7secret@');
    const env = { SVC_FEED: feed, SVC_TOKEN: 'Zq7secret' };
    const { exitCode, stdout } = await rig.runWorker(['sh', '-c', 'echo "has $SVC_TOKEN"'], env);
    expect(stdout).toContain('has Zq7secret');
    expect(exitCode).toBe(0);
    const told = await rig.read(seen);
    expect(told.match(/^PATH=/gm)).toHaveLength(2);
    expect(told).not.toContain('Zq7secret');
  });

  test('gets no token of svc, nor does anybody else', async ({ rig, expect }) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const elsewhere = await startRig(client);
    elsewhere.forge.host('/x', text(200, fresh));
    rig.forge.host(
      rig.forge.fileAt('v1.5.0', 'svc.mjs'),
      text(302, '', { location: `${elsewhere.forge.origin}/x` }),
    );
    const folder = join(rig.directory, 'config/svc');
    await mkdir(folder, { recursive: true });
    const config = { url: rig.forge.origin, token: 'Zq7secret' };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    const told = {
      SVC_URL: rig.forge.origin,
      SVC_TOKEN: 'Zq7secret',
      XDG_CONFIG_HOME: join(rig.directory, 'config'),
    };
    expect(await rig.run([], told)).toMatchObject({ exitCode: 0 });
    const seen = [...rig.forge.seen, ...elsewhere.forge.seen];
    await elsewhere.close();
    expect(seen.length).toBeGreaterThan(3);
    expect(JSON.stringify(seen)).not.toContain('Zq7secret');
    expect(sha256(await rig.read(rig.svc))).toBe(sha256(fresh));
  });
});
