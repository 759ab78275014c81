import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { read } from '../documents/documents.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { publisher } from './sign.ts';

/** The shell commands of docs/checking.md. */
const blocks = [...read('docs/checking.md').matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const blockWith = (...words: string[]): string => {
  const [block = '', ...others] = blocks.filter((text) => words.every((word) => text.includes(word)));
  expect(others, words.join()).toEqual([]);
  return block;
};

const sum = (text: string) => createHash('sha256').update(text).digest('hex');
const wanted = { product: 'svc', version: 'v1.5.0' };

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
});

/** Runs a block in an empty home directory, without cached files of sigstore. */
const type = (block: string) =>
  execa('sh', ['-euc', block], {
    cwd: directory,
    env: { HOME: directory, COSIGN_PASSWORD: '' },
    reject: false,
    all: true,
  });

/** Writes a release into the directory, signed with a key. */
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

it.each(['ec', 'rsa'] as const)(
  'the OpenSSL command of docs/checking.md verifies a signature by a key of type %s',
  async (kind) => {
    const block = blockWith('openssl dgst');
    await release(kind);
    expect((await type(block)).all).toContain('Verified OK');
    await put('publisher.pem', publisher(kind).key);
    expect((await type(block)).exitCode).not.toBe(0);
    await release(kind);
    await change('release.json');
    expect((await type(block)).exitCode).not.toBe(0);
  },
);

describe('a file of a release', () => {
  beforeEach(() => release());

  it.each([
    ['release.json', () => blockWith('grep'), /"svc\.mjs": "sha256:/],
    ['SHA256SUMS', () => blockWith('--ignore-missing'), /svc\.mjs: OK/],
  ])('is verified against %s', async (_, block, line) => {
    expect((await type(block())).stdout).toMatch(line);
    await change('svc.mjs');
    const { exitCode, stdout } = await type(block());
    expect(exitCode).not.toBe(0);
    expect(stdout).not.toMatch(line);
  });
});
