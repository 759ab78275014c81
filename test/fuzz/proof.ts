import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseReleaseFile } from '../../src/provenance/release-file.ts';
import type { Trust } from '../../src/provenance/trust.ts';
import { UnverifiedError, verifyRelease } from '../../src/provenance/verify-release.ts';
import { publisher } from '../provenance/sign.ts';
import { jsonWords, mutatedBytes, mutatedJson, mutatedText } from './mutate.ts';
import { attempt, expectPlain, type Target } from './target.ts';

// Verification of a release (docs/contract.md 3.21): release.json, its bundle, and the trusted publisher.

const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
export const release = {
  ...{ format: 1, product: 'svc', version: 'v1.5.0', channel: 'stable', publishedAt: '2026-11-20T08:00:00Z' },
  requires: 'v1.0.0',
  images: {
    app: {
      ...{ reference: 'ghcr.io/acme/svc:v1.5.0', digest: digest('index') },
      platforms: { 'linux/amd64': { manifest: digest('manifest'), config: digest('config') } },
    },
  },
  files: { 'compose.yaml': digest('compose'), 'svc.mjs': digest('client') },
};
const json = (value: unknown) => Buffer.from(JSON.stringify(value) ?? '');
/** Unknown fields are accepted, but only as valid text. */
const later = { ...release, later: 'é'.repeat(300) };
const files = fc.oneof(
  { weight: 3, arbitrary: mutatedJson(fc.constant(release)).map(json) },
  { weight: 1, arbitrary: mutatedBytes(fc.constant(json(later)), jsonWords) },
);

export const releaseFiles: Target<Buffer> = {
  name: 'release-files',
  share: 100,
  cases: files,
  check(bytes) {
    const read = attempt(
      () => parseReleaseFile(bytes),
      () => true,
    );
    if (read === null) return;
    expectPlain(read);
    assert.ok(
      Buffer.from(new TextDecoder().decode(bytes)).equals(bytes.subarray(bytes[0] === 0xef ? 3 : 0)),
      'it is no UTF-8',
    );
    for (const name of Object.keys(read.files)) assert.ok(!/^\.|[/\\\0]/.test(name), name);
    assert.deepEqual(parseReleaseFile(json(read)), read);
    // No field is lost. The key `__proto__` is dropped, and a requirement of it is rejected.
    const keysOf = (value: object) => Object.keys(value).filter((key) => key !== '__proto__');
    const { images, files: hashes } = JSON.parse(new TextDecoder().decode(bytes));
    assert.deepEqual([read.files, read.images].map(keysOf), [hashes, images].map(keysOf));
  },
};

const fixture = (name: string) =>
  readFileSync(new URL(`../provenance/keyless/${name}`, import.meta.url), 'utf8');
const [anna, ben] = [publisher(), publisher('rsa')];
const root = JSON.parse(fixture('trusted-root.json'));
const believed = {
  identity: 'https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/*',
  issuer: 'https://token.actions.githubusercontent.com',
};
interface Signed {
  file: Buffer;
  bundle: string;
  trust: Trust;
}

/** Bundles with the signed bytes. */
const samples = [
  ...[anna, ben].map(({ key, sign }) => ({
    file: json(release),
    bundle: sign(json(release)),
    trust: { keys: [anna.key, key] },
  })),
  ...['good.json', 'other-workflow.json', 'other-authority.json'].map((name) => ({
    ...{ file: Buffer.from(fixture('release.json')), bundle: fixture(name), trust: { ...believed, root } },
  })),
];
const genuine = new Set(samples.filter((_, at) => at < 3).map(({ file }) => file.toString('hex')));

const signed: fc.Arbitrary<Signed> = fc.constantFrom(...samples).chain(({ file, bundle, trust }) =>
  fc.record({
    file: fc.oneof(fc.constant(file), mutatedBytes(fc.constant(file), jsonWords)),
    bundle: fc.oneof(
      fc.constant(bundle),
      mutatedText(fc.constant(bundle), jsonWords),
      mutatedJson(fc.constant(JSON.parse(bundle))).map((value) => JSON.stringify(value) ?? ''),
    ),
    trust:
      'root' in trust
        ? fc.oneof(
            fc.constant(trust),
            mutatedJson(fc.constant(root)).map((one) => ({ ...trust, root: one as object })),
          )
        : fc.constant(trust),
  }),
);

export const proofs: Target<Signed> = {
  name: 'proofs',
  share: 60,
  cases: signed,
  async check({ file, bundle, trust }) {
    try {
      const read = await verifyRelease(file, bundle, trust, { product: 'svc', version: null });
      assert.ok(genuine.has(file.toString('hex')), 'bytes that nobody has signed are proven');
      assert.equal(read.version, 'v1.5.0');
    } catch (error) {
      if (!(error instanceof UnverifiedError)) throw error;
    }
  },
};
