import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { hintOf, publisherWith } from '../../scripts/lib/release/sign.ts';

test('the error for an unusable key does not show the key', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  expect(() => publisherWith(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toThrow(
    'it has to be an EC or an RSA key',
  );
  expect(() => publisherWith('-----BEGIN PRIVATE KEY-----\nZq7secret\n')).toThrow(
    /^it is no private key(?!.*Zq7)/,
  );
});

test.each(['ec', 'rsa'])('a bundle has the same key hint as a bundle of cosign: %s', async (kind) => {
  const fixture = (name: string) =>
    readFile(new URL(`../provenance/cosign/${name}`, import.meta.url), 'utf8');
  const { verificationMaterial } = JSON.parse(await fixture(`${kind}.json`));
  expect(hintOf(createPublicKey(await fixture(`${kind}.pem`)))).toBe(verificationMaterial.publicKey.hint);
});
