import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { channelNames } from '../../scripts/lib/release/channel-files.ts';
import { publisher, publisherWith } from '../../scripts/lib/release/sign.ts';
import { svcProduct } from '../../src/core/names/product.ts';
import { verifyChannelFile } from '../../src/provenance/channel-file.ts';
import { assemble, layer } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { writeLayout } from './layouts.ts';

async function prepared() {
  const folder = await temporaryDirectory();
  await writeLayout(join(folder, 'images'), { one: assemble([layer([])], {}) });
  const image = { reference: 'ghcr.io/acme/svc:v1.5.0', layout: 'images' };
  await writeFile(
    join(folder, 'recipe.json'),
    JSON.stringify({
      ...{ product: 'svc', version: 'v1.5.0', channel: 'stable', publishedAt: '2026-11-20T08:00:00Z' },
      images: { svc: image },
    }),
  );
  const out = join(folder, 'out');
  await mkdir(out);
  const make = (args: readonly string[] = [], env = {}) =>
    execa(process.execPath, ['scripts/lib/release/main.ts', join(folder, 'recipe.json'), out, ...args], {
      env,
      reject: false,
    });
  return { folder, out, make };
}
test('scripts/release uses the product name of the client', async () => {
  expect(await readFile('scripts/release', 'utf8')).toContain(`"product": "${svcProduct.name}",`);
});

const checked = expect.stringMatching(/^svc v1\.5\.0: signed and checked, images: 1, files: 0$/m);

test('main.ts signs with a private key, and writes the public key to publisher.pem', async () => {
  const { folder, out, make } = await prepared();
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'sec1', format: 'pem' }));
  expect((await make(['--key', join(folder, 'key.pem'), '--bundle'])).stdout).toEqual(checked);
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  expect(await readFile(join(out, 'publisher.pem'), 'utf8')).toBe(pem);
});

test('main.ts signs with a temporary key by default, and rejects an untrusted signature', async () => {
  const { folder, make } = await prepared();
  expect(await make()).toMatchObject({ exitCode: 0, stdout: checked });
  await writeFile(join(folder, 'other.pem'), publisher().key);
  const refused = await make(['--trust', join(folder, 'other.pem')]);
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining('not signed with a trusted key'),
  ]);
});

test('main.ts signs with cosign, and checks the signature if a trust file is given', async () => {
  const { folder, out, make } = await prepared();
  // Replaces cosign, which requests its identity from the forge, with a program that signs with a key.
  const key = join(folder, 'cosign.pem');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(join(folder, 'trust.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  const module = new URL('../../scripts/lib/release/sign.ts', import.meta.url);
  await writeFile(
    join(folder, 'cosign.mjs'),
    `import { readFileSync, writeFileSync } from 'node:fs';
const { publisherWith } = await import('${module}');
const [command, yes, form, option, bundle, file] = process.argv.slice(2);
if ([command, yes, form, option].join(' ') !== 'sign-blob --yes --new-bundle-format --bundle') process.exit(9);
const by = publisherWith(readFileSync('${key}', 'utf8'));
writeFileSync(bundle, by.sign(readFileSync(file)));
`,
  );
  await writeFile(join(folder, 'cosign'), `#!/bin/sh\nexec ${process.execPath} ${folder}/cosign.mjs "$@"\n`);
  await chmod(join(folder, 'cosign'), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}` };
  expect((await make(['--keyless'], env)).stdout).toMatch(
    /^signed, and not checked: --trust says who may sign without a key$/m,
  );
  expect((await make(['--keyless', '--trust', join(folder, 'trust.pem')], env)).stdout).toEqual(checked);
  await expect(readFile(join(out, 'publisher.pem'))).rejects.toThrow('ENOENT');
});

test('main.ts creates or renews the channel file of the product, and rejects an unsuitable channel file', async () => {
  const { folder, out, make } = await prepared();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await writeFile(join(folder, 'key.pem'), pem);
  const anna = publisherWith(pem);
  const key = ['--key', join(folder, 'key.pem')];
  const attached = async () => {
    const [file = '', bundle = ''] = await Promise.all(
      channelNames.map((name) => readFile(join(out, 'assets', name), 'utf8')),
    );
    return verifyChannelFile(Buffer.from(file), bundle, { keys: [anna.key] }, { product: 'svc' });
  };

  expect((await make(key)).stdout).toContain('channel.json: a first one without recalls');
  expect(await attached()).toMatchObject({ channel: 'stable', urgent: null, recalled: [], rollout: null });

  const current = {
    ...(await attached()),
    ...{ issuedAt: '2026-11-20T08:00:00Z', expires: '2026-11-21T08:00:00Z' },
    recalled: [{ version: 'v1.4.0', why: 'It deletes uploads.' }],
    rollout: { version: 'v1.5.0', percent: 10 },
  };
  const path = join(folder, 'channel.json');
  const put = async (file: object, by = anna) => {
    await writeFile(path, JSON.stringify(file));
    await writeFile(`${path}.sigstore.json`, by.sign(Buffer.from(JSON.stringify(file))));
  };
  const renew = () => make([...key, '--bundle', '--channel-file', path]);
  await put(current);
  const beganAt = Date.now();
  expect((await renew()).stdout).toContain('channel.json: issued: 2026-11-20T08:00:00Z → ');
  const { issuedAt, expires, recalled, rollout } = await attached();
  expect({ recalled, rollout }).toEqual({ recalled: current.recalled, rollout: current.rollout });
  expect(Date.parse(issuedAt)).toBeGreaterThanOrEqual(beganAt);
  expect(Date.parse(expires) - Date.parse(issuedAt)).toBe(90 * 24 * 60 * 60 * 1000);
  // A newer channel file of the same release must not contradict these files.
  for (const name of ['release.json', 'SHA256SUMS'])
    expect(await readFile(join(out, 'assets', name), 'utf8')).not.toContain('channel.json');

  for (const [file, by, why] of [
    [current, publisher(), 'it is not signed with a trusted key'],
    [{ ...current, product: 'acme' }, anna, 'is for acme (stable), not svc (stable)'],
    [{ ...current, channel: 'canary' }, anna, 'is for svc (canary), not svc (stable)'],
    [{ ...current, recalled: [{ version: 'v1.5.0', why: 'No.' }] }, anna, 'recalls v1.5.0'],
  ] as const) {
    await put(file, by);
    expect(await renew()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(why) });
  }
});
