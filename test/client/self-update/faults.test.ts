import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endless, json, type Reply, text } from '../../feed/forge.ts';
import { clientOf, type Rig, sha256, startRig, workerAsset, workerOf } from './rig.ts';

let old = '';
let fresh = '';
const next = workerOf('v1.5.0');
let rig: Rig;

beforeAll(async () => {
  [old, fresh] = await Promise.all([clientOf('v1.4.2'), clientOf('v1.5.0')]);
});
beforeEach(async () => {
  rig = await startRig(old);
});
afterEach(() => rig.close());

/** The client is as it was, and nothing lies beside it. */
async function expectUntouched(): Promise<void> {
  expect(await rig.read(rig.svc)).toBe(old);
  expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
  expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
}

/** A body of which some is never sent. */
const cut: Reply = (_, response) => {
  response.writeHead(200, { 'content-length': String(next.length) });
  response.write(next.slice(0, 3000), () => response.destroy());
};

describe('a bad release', () => {
  const sums = (lines: string) => text(200, lines);
  const html = '<!DOCTYPE html><title>Sign in</title>';

  it.each<[string, Record<string, Reply>, string]>([
    [
      'a sum that is not right',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  ${workerAsset}\n`) },
      'what came as WORKER has not the sum that its release gives.\nNext: run it again; where',
    ],
    [
      'other bytes of the same length',
      { [workerAsset]: (_, response) => response.end(next.replace('v1.5.0', 'v1.5.1')) },
      'what came as WORKER has not the sum that its release gives.',
    ],
    [
      'no sum for it',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  ${workerAsset}.sig\n`) },
      'SHA256SUMS of v1.5.0 has no line for WORKER.\nNext: tell whoever publishes the release.',
    ],
    [
      'two sums',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  ${workerAsset}\n${'1'.repeat(64)} *${workerAsset}\n`) },
      'SHA256SUMS of v1.5.0 has several sums for WORKER.',
    ],
    ['sums without end', { SHA256SUMS: endless() }, 'SHA256SUMS is larger than 1 MiB.'],
    [
      'a web page by its type',
      { [workerAsset]: text(200, 'Sign in', { 'content-type': 'text/html; charset=utf-8' }) },
      'HOST sends a web page where WORKER should be, perhaps a log-in.\nNext: open its release in a browser',
    ],
    [
      'a web page by its text',
      { [workerAsset]: text(200, html) },
      'HOST sends a web page where WORKER should be',
    ],
    ['a web page for the sums', { SHA256SUMS: text(200, html) }, 'HOST sends a web page where SHA256SUMS'],
    [
      'a file that is gone',
      { [workerAsset]: json(404, {}) },
      'HOST answers 404 where WORKER should be.\nNext: see that everybody may download it',
    ],
    [
      'a server in trouble',
      { [workerAsset]: text(503, '') },
      'HOST answers 503 where WORKER should be.\nNext: run it again in a few minutes.',
    ],
    [
      'a download that is cut',
      { [workerAsset]: cut },
      'the download of WORKER from HOST broke off after 0.0 MB: other side closed.\nNext: see that this machine',
    ],
    [
      'a connection that is cut before',
      { [workerAsset]: (request) => request.socket.destroy() },
      'the download of WORKER from HOST did not begin: other side closed.',
    ],
    [
      'a file that says to be too large',
      {
        [workerAsset]: (_, response) => response.writeHead(200, { 'content-length': '600000000' }).write('x'),
      },
      'WORKER is larger than 512 MiB.\nNext: tell whoever publishes the release.',
    ],
    [
      'a redirect without end',
      { [workerAsset]: text(302, '', { location: `/acme/svc/releases/download/v1.5.0/${workerAsset}` }) },
      'did not begin: it redirects more than 5 times.',
    ],
    [
      'a redirect to what is no web',
      { [workerAsset]: text(302, '', { location: 'file:///etc/passwd' }) },
      'did not begin: it redirects to what is no web address.',
    ],
  ])('with %s changes nothing', async (_, replies, sentence) => {
    rig.publish('v1.5.0', { [workerAsset]: next }, replies);
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toMatch(/^Nothing was changed: /);
    expect(stderr).toContain(sentence);
    expect(exitCode).toBe(4);
    await expectUntouched();
  });

  it.each<[string, string[], string]>([
    ['program', ['SHA256SUMS'], 'v1.5.0 has no file WORKER, but 1 other file.\nNext: run it again later'],
    ['sums', [workerAsset], 'v1.5.0 has no file SHA256SUMS, so that nothing could be checked.'],
  ])('without its %s changes nothing', async (_, files, sentence) => {
    rig.publish('v1.5.0', { [workerAsset]: next });
    rig.forge.publish({ tag: 'v1.5.0', files });
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toContain(sentence);
    expect(exitCode).toBe(4);
    await expectUntouched();
  });

  it.each<[string, string, string]>([
    ['another version', 'v1.5.1', 'it says that it is v1.5.1'],
    ['no version', 'dev', 'its --version prints no version'],
  ])('that says %s is not put into place', async (_, said, why) => {
    rig.publish('v1.5.0', { [workerAsset]: workerOf(said) });
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toContain(`WORKER of v1.5.0 does not do its work here: ${why}.\nNext: `);
    expect(exitCode).toBe(4);
    await expectUntouched();
  });
});

describe('a feed', () => {
  it.each<[string, Reply, string]>([
    ['that is a web page', text(200, '<!doctype html>'), 'the answer is no JSON'],
    ['that refuses', json(403, {}), 'it answers 403'],
    ['that is cut', (request) => request.socket.destroy(), 'other side closed'],
  ])('%s is told of, and nothing of its address but the host', async (_, reply, why) => {
    rig.forge.next(reply);
    const feed = rig.forge.address('gitHub').replace('//', '//robot:Zq7secret@');
    const { exitCode, stderr } = await rig.run([], { SVC_FEED: feed });
    expect(stderr).toContain(`Nothing was changed: the releases at HOST cannot be read: ${why}.\nNext: `);
    expect(stderr).not.toContain('Zq7secret');
    expect(exitCode).toBe(4);
    await expectUntouched();
  });

  it('at which nobody listens is told of', async () => {
    const { exitCode, stderr } = await rig.run([], { SVC_FEED: 'http://127.0.0.1:1/releases.json' });
    expect(stderr).toContain('the releases at HOST cannot be read: ');
    expect(exitCode).toBe(4);
  });

  it('gets its login, and nobody else does', async () => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    const seen: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end(fresh);
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    const location = `http://127.0.0.1:${port}/x`;
    rig.forge.host(rig.forge.fileAt('v1.5.0', 'svc.mjs'), text(302, '', { location }));
    const feed = rig.forge.address('gitHub').replace('//', '//robot:Zq7secret@');
    expect(await rig.run([], { SVC_FEED: feed })).toMatchObject({ exitCode: 0 });
    elsewhere.close();
    const login = `Basic ${Buffer.from('robot:Zq7secret').toString('base64')}`;
    expect(rig.forge.seen.map(({ headers }) => headers.authorization)).toEqual([login, login, login, login]);
    expect(seen).toEqual([undefined]);
  });
});

describe('the disk', () => {
  it('that is full changes nothing', async (context) => {
    const disk = join(rig.directory, 'disk');
    await mkdir(disk);
    const mounted = await execa('mount', ['-t', 'tmpfs', '-o', 'size=600k', 'tmpfs', disk], {
      reject: false,
    });
    if (mounted.failed) context.skip('nobody may mount here');
    try {
      const svc = join(disk, 'svc.mjs');
      await writeFile(svc, old);
      rig.publish('v1.5.0', { 'svc.mjs': `${fresh}\n//${'x'.repeat(500_000)}` });
      const { exitCode, stderr } = await rig.run([], {}, svc);
      expect(stderr).toBe(
        'Nothing was changed: svc.mjs cannot be written: the disk is full.\nNext: free some space where DIR/disk is, then run it again.',
      );
      expect(exitCode).toBe(4);
      expect(await readFile(svc, 'utf8')).toBe(old);
      expect(await readdir(disk)).toEqual(['svc.mjs']);
      rig.publish('v1.5.0', { 'svc.mjs': fresh });
      await execa('mount', ['-o', 'remount,ro', disk]);
      expect(await rig.run([], {}, svc)).toMatchObject({
        exitCode: 3,
        stderr: `DIR/disk/svc.mjs cannot be replaced: in its directory, the file system is read-only.\nNext: mount DIR/disk writable, then run it again.`,
      });
    } finally {
      await execa('umount', ['-l', disk]);
    }
  });
});

describe('a file that is replaced by somebody else meanwhile', () => {
  it.each<[string, (path: string) => Promise<void>]>([
    [
      'by another file',
      async (path) => {
        await writeFile(`${path}.mine`, '// mine');
        await rename(`${path}.mine`, path);
      },
    ],
    ['in place', (path) => writeFile(path, '// mine')],
  ])('%s stays', async (_, replace) => {
    rig.publish(
      'v1.5.0',
      { 'svc.mjs': fresh },
      {
        'svc.mjs': async (_request, response) => {
          await replace(rig.svc);
          response.end(fresh);
        },
      },
    );
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toBe(
      'Nothing was changed: somebody else has replaced DIR/bin/svc.mjs meanwhile.\nNext: see which version it is now (--version), then run it again.',
    );
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.svc)).toBe('// mine');
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('does not come back when it is gone', async () => {
    rig.publish(
      'v1.5.0',
      { 'svc.mjs': fresh },
      {
        'svc.mjs': async (_request, response) => {
          await rm(rig.svc);
          response.end(fresh);
        },
      },
    );
    expect(await rig.run([])).toMatchObject({ exitCode: 4 });
    expect(await rig.names()).toEqual(['svc-worker']);
  });
});

describe('two at once', () => {
  it('are one, and one that is told so', async () => {
    let go = () => {};
    const reached = new Promise<() => void>((resolve) => {
      rig.publish(
        'v1.5.0',
        { 'svc.mjs': fresh },
        {
          'svc.mjs': (_, response) => {
            go = () => response.end(fresh);
            resolve(go);
          },
        },
      );
    });
    const first = rig.run([]);
    await reached;
    const [half] = (await rig.names()).filter((name) => name.startsWith('.svc-update-'));
    // Nobody but its owner reads or runs what has not been checked.
    expect((await stat(join(rig.bin, half ?? ''))).mode & 0o777).toBe(0o600);
    expect(await rig.run([])).toMatchObject({
      exitCode: 3,
      stderr:
        'DIR/bin/svc.mjs is being replaced by another svc update.\nNext: wait until that one has ended, then run it again.',
    });
    go();
    expect(await first).toMatchObject({ exitCode: 0 });
    expect(await rig.read(rig.svc)).toBe(fresh);
  });
});

describe('a person who stops it', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s while it downloads changes nothing', async (name, code) => {
    const reached = new Promise<void>((resolve) => {
      rig.publish(
        'v1.5.0',
        { 'svc.mjs': fresh },
        {
          'svc.mjs': (_, response) => {
            response.write(fresh.slice(0, 3000));
            resolve();
          },
        },
      );
    });
    const running = rig.start([]);
    await reached;
    running.kill(name);
    const { stderr, exitCode } = await running;
    expect(stderr).toContain('Cancelled. Nothing was changed at ');
    expect(exitCode).toBe(code);
    await expectUntouched();
  });

  it.each(['stdout', 'stderr'] as const)('by ending its %s does not stop it', async (stream) => {
    const before = workerOf('v1.4.2', 'true');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'sleep 0.2; exit 7') });
    const running = rig.start(['--program', rig.worker, '--', rig.worker, 'restart']);
    running.stdout.once('data', () => running[stream].destroy());
    expect(await running).toMatchObject({ exitCode: 4 });
    expect(await rig.read(rig.worker)).toBe(before);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('by closing the terminal gets the old file back', async () => {
    const before = workerOf('v1.4.2', 'true');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', 'sleep 50') });
    const words = [process.execPath, rig.svc, 'update', '--program', rig.worker, '--', rig.worker, 'restart'];
    const terminal = execa('script', ['-qfc', words.map((word) => `'${word}'`).join(' '), '/dev/null'], {
      env: { SVC_FEED: rig.forge.address('gitHub'), SHELL: '/bin/sh' },
      reject: false,
    });
    terminal.stdout.on('data', (text) => String(text).includes('Running:') && terminal.kill('SIGKILL'));
    await terminal;
    await expect.poll(() => rig.names()).toEqual(['svc-worker', 'svc.mjs']);
    expect(await rig.read(rig.worker)).toBe(before);
  });

  it('while the command runs gets the old file back', async () => {
    const mark = join(rig.directory, 'mark');
    const before = workerOf('v1.4.2', 'echo old');
    await writeFile(rig.worker, before);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', `touch '${mark}'; sleep 50`) });
    const running = rig.start(['--program', rig.worker, '--', rig.worker, 'restart']);
    while (!(await stat(mark).catch(() => null))) await new Promise((resolve) => setTimeout(resolve, 20));
    running.kill('SIGINT');
    const { stdout, stderr, exitCode } = await running;
    expect(stdout).toContain('With v1.5.0, the command was stopped. Putting the old file back.');
    expect(stderr).toContain('Cancelled. The old file is back, and its command ended with exit code 0.');
    expect(exitCode).toBe(130);
    expect(await rig.read(rig.worker)).toBe(before);
  });
});

describe('https', () => {
  let tls = { key: '', cert: '' };
  let directory = '';
  let secure: Rig;
  beforeAll(async () => {
    secure = await startRig(old);
    directory = secure.directory;
    const at = (name: string) => join(directory, name);
    await execa('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=forge', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', at('key.pem'), '-out', at('cert.pem')],
    ]);
    tls = { key: await readFile(at('key.pem'), 'utf8'), cert: await readFile(at('cert.pem'), 'utf8') };
  });
  afterAll(() => secure.close());
  beforeEach(async () => {
    await rig.close();
    rig = await startRig(old, tls);
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
  });
  const trusting = () => ({ NODE_EXTRA_CA_CERTS: join(directory, 'cert.pem') });

  it('is taken where its certificate is known', async () => {
    expect(await rig.run([], trusting())).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await rig.read(rig.svc)).toBe(fresh);
  });

  it('is not taken with a certificate that nobody knows', async () => {
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toContain('the releases at HOST cannot be read: self-signed certificate');
    expect(exitCode).toBe(4);
    await expectUntouched();
  });

  it.each(['svc.mjs', 'SHA256SUMS'])('is not left by a redirect of %s', async (name) => {
    const reached: string[] = [];
    const plain = createServer((request, response) => {
      reached.push(request.url ?? '');
      response.end(name === 'svc.mjs' ? fresh : `${sha256(fresh)}  svc.mjs\n`);
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/x`;
    rig.forge.host(rig.forge.fileAt('v1.5.0', name), text(302, '', { location }));
    const { exitCode, stderr } = await rig.run([], trusting());
    plain.close();
    expect(stderr).toContain('did not begin: it redirects from https to http.');
    expect(exitCode).toBe(4);
    expect(reached).toEqual([]);
    await expectUntouched();
  });

  it('is not left by an address in the feed', async () => {
    const url = 'http://127.0.0.1:1/svc.mjs';
    const assets = [
      { name: 'svc.mjs', url },
      { name: 'SHA256SUMS', url: '/sums' },
    ];
    rig.forge.host('/sums', text(200, `${sha256(fresh)}  svc.mjs\n`));
    rig.forge.host('/feed', json(200, { releases: [{ version: 'v1.5.0', assets }] }));
    const { exitCode, stderr } = await rig.run([], { SVC_FEED: `${rig.forge.origin}/feed`, ...trusting() });
    expect(stderr).toContain('svc.mjs is not downloaded: its feed is at https:, and it is at http://HOST.');
    expect(exitCode).toBe(4);
    await expectUntouched();
  });

  it('is not left by a redirect of the feed', async () => {
    rig.forge.next(text(302, '', { location: 'http://127.0.0.1:1/releases.json' }));
    const { exitCode, stderr } = await rig.run([], trusting());
    expect(stderr).toContain('cannot be read: it redirects from https to http.');
    expect(exitCode).toBe(4);
  });
});
