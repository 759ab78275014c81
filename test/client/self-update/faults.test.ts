import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { download, type Limits } from '../../../src/client/self-update/download.ts';
import { sumsFor } from '../../../src/client/self-update/published.ts';
import { endless, json, type Reply, silence, text } from '../../feed/forge.ts';
import { clientOf, type Rig, sha256, startRig } from './rig.ts';

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

/** Runs an update that fails: the client is as it was, and nothing lies beside it. */
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
  const sums = (lines: string) => text(200, lines);
  const half: Reply = (_, response) => {
    response.writeHead(200, { 'content-length': String(fresh.length) });
    response.write(fresh.slice(0, 3000), () => response.destroy());
  };

  it.each<[string, Record<string, Reply>, string]>([
    [
      'a wrong checksum',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  svc.mjs\n`) },
      'the download of svc.mjs does not have the checksum of its release.\nNext: run it again. If',
    ],
    [
      'other bytes of the same length',
      { 'svc.mjs': (_, response) => response.end(fresh.replace('1.5.0', '1.5.1')) },
      'the download of svc.mjs does not have the checksum of its release.',
    ],
    [
      'no checksum',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  svc.mjs.sig\n`) },
      'SHA256SUMS of v1.5.0 has no line for svc.mjs.\nNext: report it to the publisher',
    ],
    [
      'two checksums',
      { SHA256SUMS: sums(`${'0'.repeat(64)}  svc.mjs\n${'1'.repeat(64)} *svc.mjs\n`) },
      'SHA256SUMS of v1.5.0 has several checksums for svc.mjs.',
    ],
    [
      'endless checksums',
      { SHA256SUMS: endless() },
      'SHA256SUMS from HOST failed: it is larger than 256 KiB',
    ],
    [
      'a missing file',
      { 'svc.mjs': json(404, {}) },
      'the download of svc.mjs from HOST failed: it answers 404.',
    ],
    ['half of a file', { 'svc.mjs': half }, 'the download of svc.mjs from HOST failed: other side closed.'],
  ])('with %s changes nothing', async (_, replies, sentence) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh }, replies);
    await expectUnchanged(sentence);
  });

  it.each([
    ['svc.mjs', 'SHA256SUMS'],
    ['SHA256SUMS', 'svc.mjs'],
  ])('without %s changes nothing', async (missing, other) => {
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
    rig.forge.publish({ tag: 'v1.5.0', files: [other] });
    await expectUnchanged(`v1.5.0 has no file ${missing}.\nNext: run it again later`);
  });

  it.each([
    ['prints another version', "console.log('svc v1.5.1')", '--version printed "svc v1.5.1"'],
    ['fails', 'process.exit(3)', '--version ended with 3'],
  ])('whose program %s changes nothing', async (_, program, why) => {
    rig.publish('v1.5.0', { 'svc.mjs': program });
    await expectUnchanged(`svc.mjs of v1.5.0 does not run here: ${why}.`);
  });

  it('does not replace a file that another process has replaced in the meantime', async () => {
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

it.each<[string, string[]]>([
  [`${'A'.repeat(64)}  ./svc.mjs\r\n${'b'.repeat(64)}  svc.mjs.sig\r\n`, ['a'.repeat(64)]],
  [`${'a'.repeat(64)} *svc.mjs\n${'a'.repeat(64)}  svc.mjs\n`, ['a'.repeat(64)]],
  [`${'a'.repeat(64)}  old/svc.mjs\n${'a'.repeat(65)}  svc.mjs\n${'a'.repeat(64)} svc.mjs`, []],
])('checksums of svc.mjs in %j', (lines, expected) => {
  expect(sumsFor('svc.mjs', lines)).toEqual(expected);
});

describe('a feed', () => {
  const soon = () => String(Math.floor(Date.now() / 1000) + 1700);
  it.each<[string, () => Reply, string]>([
    [
      'a web page',
      () => text(200, '<!doctype html>'),
      'cannot be read: the answer is no JSON.\nNext: check that',
    ],
    [
      'an error',
      () => json(404, {}),
      'cannot be read: it answers 404.\nNext: check that this machine reaches',
    ],
    [
      'a limit of requests',
      () => json(403, {}, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon() }),
      'Next: run it again in 29 min, or add a login to SVC_FEED: https://NAME:TOKEN@….',
    ],
  ])('that answers with %s is reported without its login', async (_, reply, sentence) => {
    rig.forge.next(reply());
    const feed = rig.forge.address('gitHub').replace('//', '//robot:Zq7secret@');
    await expectUnchanged(sentence, { SVC_FEED: feed });
  });

  it('that is no web address is a usage error that does not repeat it', async () => {
    const { exitCode, stderr } = await rig.run([], { SVC_FEED: 'file:///Zq7secret' });
    expect(stderr).toContain('SVC_FEED has to be the web address of a list of releases');
    expect([exitCode, stderr.includes('Zq7secret')]).toEqual([2, false]);
  });

  it('gets its login, no other host gets it, and none gets the token', async () => {
    const seen: object[] = [];
    const elsewhere = createServer(({ headers }, response) => {
      seen.push(headers);
      response.end(fresh);
    }).listen(0, '127.0.0.1');
    const location = () => `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/x`;
    await expect.poll(() => elsewhere.listening).toBe(true);
    rig.publish('v1.5.0', { 'svc.mjs': fresh }, { 'svc.mjs': text(302, '', { location: location() }) });
    const SVC_FEED = rig.forge.address('gitHub').replace('//', '//robot:password@');
    const env = { SVC_FEED, SVC_URL: rig.forge.origin, SVC_TOKEN: 'Zq7secret' };
    expect(await rig.run([], env)).toMatchObject({ exitCode: 0 });
    elsewhere.close();
    const login = `Basic ${Buffer.from('robot:password').toString('base64')}`;
    expect(new Set(rig.forge.seen.map(({ headers }) => headers.authorization))).toEqual(new Set([login]));
    expect(seen).toEqual([expect.not.objectContaining({ authorization: expect.anything() })]);
    expect(JSON.stringify([seen, rig.forge.seen])).not.toContain('Zq7secret');
  });
});

describe('a download', () => {
  const get = (reply: Reply, limits: Partial<Limits>) => {
    rig.forge.host('/file', reply);
    return download({
      asset: { name: 'file', url: '/file' },
      feed: rig.forge.address('static'),
      limits: { silence: 60_000, whole: 60_000, size: 1024, ...limits },
      signal: new AbortController().signal,
    });
  };
  const drip: Reply = (_, response) => {
    const timer = setInterval(() => response.write('x'), 100);
    response.on('close', () => clearInterval(timer));
  };

  it.each<[string, Reply, Partial<Limits>, string]>([
    ['sends nothing', silence, { silence: 1000 }, 'no data for 1 s'],
    ['takes too long', drip, { whole: 1000, silence: 900 }, 'not complete after 1 s'],
    ['is too large', endless(), {}, 'it is larger than 1 KiB'],
  ])('that %s is ended', async (_, reply, limits, sentence) => {
    await expect(get(reply, limits)).rejects.toThrow(sentence);
    await expect.poll(() => rig.forge.seen.at(-1)?.dropped).toBe(true);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('is cancelled by %s', async (name, code) => {
    const reached = new Promise<void>((resolve) => {
      rig.publish(
        'v1.5.0',
        { 'svc.mjs': fresh },
        { 'svc.mjs': (_, response) => response.write(fresh.slice(0, 3000), () => resolve()) },
      );
    });
    const running = rig.start([]);
    await reached;
    running.kill(name);
    const { stderr, exitCode } = await running;
    expect(stderr).toContain('Cancelled. Nothing was changed at ');
    expect([exitCode, await rig.read(rig.svc)]).toEqual([code, old]);
  });
});

describe('a feed at https', () => {
  let trusting = {};
  beforeEach(async () => {
    const at = (name: string) => join(rig.directory, name);
    await execa('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=forge', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', at('key.pem'), '-out', at('cert.pem')],
    ]);
    const [key, cert] = [await readFile(at('key.pem'), 'utf8'), await readFile(at('cert.pem'), 'utf8')];
    await rig.close();
    rig = await startRig(old, { key, cert });
    await writeFile(join(rig.directory, 'cert.pem'), cert);
    trusting = { NODE_EXTRA_CA_CERTS: join(rig.directory, 'cert.pem') };
    rig.publish('v1.5.0', { 'svc.mjs': fresh });
  });

  it('is read only if its certificate is trusted', async () => {
    await expectUnchanged('the releases at HOST cannot be read: self-signed certificate');
    expect(await rig.run([], trusting)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('is not left for http by a redirect or by an address', async () => {
    const reached: unknown[] = [];
    const plain = createServer(({ url }) => reached.push(url)).listen(0, '127.0.0.1');
    await expect.poll(() => plain.listening).toBe(true);
    const location = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/x`;
    for (const name of ['svc.mjs', 'SHA256SUMS']) {
      rig.publish('v1.5.0', { 'svc.mjs': fresh }, { [name]: text(302, '', { location }) });
      await expectUnchanged(`${name} from HOST failed: it redirects from https to http.`, trusting);
    }
    const assets = [
      { name: 'svc.mjs', url: location },
      { name: 'SHA256SUMS', url: '/sums' },
    ];
    rig.forge.host('/sums', text(200, `${sha256(fresh)}  svc.mjs\n`));
    rig.forge.host('/feed', json(200, { releases: [{ version: 'v1.5.0', assets }] }));
    const env = { SVC_FEED: `${rig.forge.origin}/feed`, ...trusting };
    await expectUnchanged('the feed is at https:, and the file at http://HOST.', env);
    plain.close();
    expect(reached).toEqual([]);
  });
});
