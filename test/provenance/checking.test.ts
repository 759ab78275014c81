import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proveRelease } from '../../src/provenance/prove-release.ts';
import { read } from '../documents/documents.ts';
import { publisher } from './sign.ts';

/** What docs/checking.md has whoever reads it type: each block is a piece of shell. */
const blocks = [...read('docs/checking.md').matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const blockWith = (...words: string[]): string => {
  const [block = '', ...others] = blocks.filter((text) => words.every((word) => text.includes(word)));
  expect(others, words.join()).toEqual([]);
  return block;
};

const fixtures = fileURLToPath(new URL('.', import.meta.url));
const sum = (text: string) => createHash('sha256').update(text).digest('hex');
const wanted = { product: 'svc', version: 'v1.5.0' };

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-checking-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Who types it is nobody, and has read nothing of sigstore before. */
const type = (block: string) =>
  execa('sh', ['-euc', block], {
    cwd: directory,
    env: { HOME: directory, COSIGN_PASSWORD: '' },
    reject: false,
    all: true,
  });

/** Puts a release into the directory, signed by a key; its client is a text. */
async function release(kind: 'ec' | 'rsa' = 'ec') {
  const anna = publisher(kind);
  const client = "console.log('svc v1.5.0')\n";
  const told = {
    ...{ format: 1, ...wanted, channel: 'stable', publishedAt: '2026-11-20T08:00:00Z', images: {} },
    files: { 'install.sh': `sha256:${sum('')}`, 'svc.mjs': `sha256:${sum(client)}` },
  };
  const file = `${JSON.stringify(told, null, 2)}\n`;
  await put('release.json', file);
  await put('release.json.sigstore.json', anna.sign(Buffer.from(file)));
  await put('publisher.pem', anna.key);
  await put('svc.mjs', client);
  await put('SHA256SUMS', `${sum('')}  install.sh\n${sum(client)}  svc.mjs\n`);
}

const put = (name: string, text: string) => writeFile(join(directory, name), text);
const change = async (name: string) => put(name, `${await readFile(join(directory, name), 'utf8')} `);

const { exitCode: cosignCode } = await execa('cosign', ['version'], { reject: false });
const hasCosign = cosignCode === 0;

describe.each(['ec', 'rsa'] as const)(
  'what a key of the kind %s has signed, as docs/checking.md has it',
  (kind) => {
    beforeEach(() => release(kind));

    const ways: [string, () => string, boolean][] = [
      ['OpenSSL', () => blockWith('openssl dgst'), true],
      ['cosign, which this machine has to have for it', () => blockWith('--key publisher.pem'), hasCosign],
    ];
    for (const [way, block, isThere] of ways)
      it.skipIf(!isThere)(`is checked by ${way}`, async () => {
        expect((await type(block())).all).toContain('Verified OK');
        await put('publisher.pem', publisher(kind).key);
        expect((await type(block())).exitCode).not.toBe(0);
        await release(kind);
        await change('release.json');
        expect((await type(block())).exitCode).not.toBe(0);
      });
  },
);

describe('a file of a release', () => {
  beforeEach(() => release());

  it.each([
    ['release.json', () => blockWith('grep'), /"svc\.mjs": "sha256:/],
    ['SHA256SUMS', () => blockWith('--ignore-missing'), /svc\.mjs: OK/],
  ])('is checked by %s', async (_, block, line) => {
    expect((await type(block())).stdout).toMatch(line);
    await change('svc.mjs');
    const { exitCode, stdout } = await type(block());
    expect(exitCode).not.toBe(0);
    expect(stdout).not.toMatch(line);
  });
});

// Those of the tests above that need none have the same bundles; what it has made is in prove-release.test.ts, too.
describe.skipIf(!hasCosign)('cosign, which this machine has to have for it', () => {
  it.each([
    ['good', 0],
    ['other-workflow', 1],
    ['other-issuer', 1],
    ['other-authority', 1],
  ])('says of what a workflow has signed what we say: %s', async (name, expected) => {
    for (const file of ['release.json', 'trusted-root.json'])
      await copyFile(join(fixtures, 'keyless', file), join(directory, file));
    await copyFile(join(fixtures, 'keyless', `${name}.json`), join(directory, 'release.json.sigstore.json'));
    const block = blockWith('--certificate-identity-regexp').replace('acme/svc-updater', 'acme/svc');
    const { exitCode, all } = await type(`${block.trim()} --trusted-root trusted-root.json`);
    expect(exitCode, all).toBe(expected);
  });

  it('signs what we take', async () => {
    await release();
    await put('none.json', '{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}');
    const root = join(fixtures, 'keyless/trusted-root.json');
    const { exitCode, all } = await type(`cosign generate-key-pair
cosign sign-blob --yes --key cosign.key --signing-config none.json --trusted-root '${root}' --bundle b.json release.json`);
    expect(exitCode, all).toBe(0);
    const [file, bundle, key] = await Promise.all(
      ['release.json', 'b.json', 'cosign.pub'].map((name) => readFile(join(directory, name), 'utf8')),
    );
    const proven = proveRelease(Buffer.from(file ?? ''), bundle ?? '', { keys: [key ?? ''] }, wanted);
    expect((await proven).files).toHaveProperty('install.sh');
  });
});
