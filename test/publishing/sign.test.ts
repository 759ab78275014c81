import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { hintOf, publisher, publisherWith } from '../../scripts/lib/release/sign.ts';
import { proveRelease } from '../../src/provenance/prove-release.ts';

const file = Buffer.from(
  '{"format":1,"product":"svc","version":"v1.0.0","channel":"stable","publishedAt":"2026-11-20T08:00:00Z","images":{},"files":{}}',
);
const wanted = { product: 'svc', version: 'v1.0.0' };
const pemOf = (type: 'pkcs8' | 'sec1') =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type, format: 'pem' }).toString();

test.each(['pkcs8', 'sec1'] as const)('a key of a file signs, in %s', async (type) => {
  const { key, sign } = publisherWith(pemOf(type));
  await expect(proveRelease(file, sign(file), { keys: [key] }, wanted)).resolves.toMatchObject(wanted);
  const others = { keys: [publisher().key] };
  await expect(proveRelease(file, sign(file), others, wanted)).rejects.toThrow('signed by none of the keys');
});

test('a key that cannot sign is told of without showing it', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  expect(() => publisherWith(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toThrow(
    'it has to be an EC or an RSA key',
  );
  expect(() => publisherWith('-----BEGIN PRIVATE KEY-----\nZq7secret\n')).toThrow(
    /^it is no private key(?!.*Zq7)/,
  );
});

test.each(['ec', 'rsa'])('a bundle names its key as cosign does: %s', async (kind) => {
  const fixture = (name: string) =>
    readFile(new URL(`../provenance/cosign/${name}`, import.meta.url), 'utf8');
  const { verificationMaterial } = JSON.parse(await fixture(`${kind}.json`));
  expect(hintOf(createPublicKey(await fixture(`${kind}.pem`)))).toBe(verificationMaterial.publicKey.hint);
});
