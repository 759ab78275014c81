import { generateKeyPairSync } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { publisherWith } from '../../scripts/lib/release/sign.ts';
import { verifyChannelFile } from '../../src/provenance/channel-file.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';

/** A folder with two private keys, and scripts/publisher that writes to `out` in it. */
async function prepared() {
  const folder = await temporaryDirectory();
  const keyAt = async (name: string) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await writeFile(join(folder, name), pem);
    return publisherWith(pem).key;
  };
  const key = await keyAt('key.pem');
  const otherKey = await keyAt('other.pem');
  const path = join(folder, 'out/channel.json');
  const run = (...args: readonly string[]) =>
    execa('scripts/publisher', [...args, '--out', join(folder, 'out')], { reject: false });
  const signed = async (product = 'svc') =>
    verifyChannelFile(
      await readFile(path),
      await readFile(`${path}.sigstore.json`, 'utf8'),
      { keys: [key] },
      { product },
    );
  return { folder, path, key, otherKey, run, signed, sign: ['--key', join(folder, 'key.pem')] };
}

const recall = ['recall', 'v1.4.0', '--why', 'It deletes uploads.'];

test('prints the difference, signs the channel file, and applies the next change to the signed file', async () => {
  const { path, run, signed, sign } = await prepared();
  const first = await run('rollout', 'v1.4.0', '10', ...sign);
  expect(first.stdout.split('\n')).toEqual([
    'new channel file for svc (stable):',
    expect.stringMatching(/^ {2}issued: never → 20/),
    expect.stringMatching(/^ {2}expires: never → 20/),
    '  rollout: none → v1.4.0 to 10 % of all instances',
    `signed: ${path} and ${path}.sigstore.json`,
  ]);
  const recalled = await run(...recall, '--url', 'https://svc.test/', '--days', '30', ...sign);
  expect(recalled.stdout).toContain(`${path} for svc (stable):\n`);
  expect(recalled.stdout).toContain(
    '  recall of v1.4.0: none → recalled (It deletes uploads., https://svc.test/)\n  rollout: v1.4.0 to 10 % of all instances → none\n',
  );
  expect((await run('urgent', 'v1.4.1', '--why', 'It deletes uploads.', ...sign)).exitCode).toBe(0);
  expect(await signed()).toMatchObject({
    urgent: { below: 'v1.4.1', why: 'It deletes uploads.' },
    recalled: [{ version: 'v1.4.0', why: 'It deletes uploads.', url: 'https://svc.test/' }],
    rollout: null,
  });
});

test('only prints the difference without a signer', async () => {
  const { path, run } = await prepared();
  const printed = await run(...recall);
  expect(printed).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('recall of v1.4.0: none → recalled (It deletes uploads.)'),
    stderr: 'publisher: nothing was signed or written: use --key FILE or --keyless',
  });
  await expect(access(path)).rejects.toThrow('ENOENT');
});

test('never signs a file that another publisher signed', async () => {
  const { folder, path, key, otherKey, run, signed, sign } = await prepared();
  await run(...recall, '--key', join(folder, 'other.pem'));
  const before = await readFile(path, 'utf8');
  expect(await run('renew', ...sign)).toMatchObject({
    exitCode: 1,
    stderr: `publisher: the current channel file ${path} cannot be used: it is not signed with a trusted key`,
  });
  expect(await readFile(path, 'utf8')).toBe(before);
  // A publisher who changes the key trusts both.
  await writeFile(join(folder, 'trust.pem'), `${key}${otherKey}`);
  expect((await run('renew', ...sign, '--trust', join(folder, 'trust.pem'))).exitCode).toBe(0);
  expect((await signed()).recalled).toHaveLength(1);
});

test('creates the channel file of another product from its recipe', async () => {
  const { folder, run, signed, sign } = await prepared();
  const recipe = join(folder, 'recipe.json');
  await writeFile(recipe, JSON.stringify({ product: 'acme', version: 'v1.5.0', channel: 'stable' }));
  expect((await run(...recall, '--recipe', recipe, ...sign)).exitCode).toBe(0);
  expect(await signed('acme')).toMatchObject({ product: 'acme', channel: 'stable' });
  // From now on, the file itself specifies the product.
  expect((await run('renew', ...sign)).stdout).toContain('for acme (stable):');
  await writeFile(recipe, JSON.stringify({ product: 'acme', version: 'v1.6.0-canary.1', channel: 'canary' }));
  expect((await run('renew', '--recipe', recipe, ...sign)).stderr).toMatch(
    /is for acme \(stable\), but the recipe is for acme \(canary\)$/,
  );
});

test.each([
  [['nope'], 'the first argument must be urgent, recall, rollout, renew'],
  [['renew', 'v1.4.0'], 'use renew; see --help'],
  [['rollout', 'v1.4.0'], 'use rollout VERSION PERCENT; see --help'],
  [['urgent', 'v1.4.0', '--url', 'https://svc.test/'], 'urgent does not accept --url'],
  [[...recall, '--key', 'key.pem', '--keyless'], '--key and --keyless cannot be used together'],
  [
    ['recall', 'v1.4.0', '--why', 'two\nlines'],
    'the new channel file would be invalid: recalled.0.why must have 1 to 500 characters without line breaks or control characters',
  ],
])('rejects the arguments %j', async (args, why) => {
  const { run } = await prepared();
  expect(await run(...args)).toMatchObject({ exitCode: 1, stdout: '', stderr: `publisher: ${why}` });
});
