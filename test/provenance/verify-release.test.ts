import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseTrust, type Trust } from '../../src/provenance/trust.ts';
import { UnverifiedError, verifyRelease } from '../../src/provenance/verify-release.ts';
import { publisher } from './sign.ts';

const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const release = {
  format: 1,
  product: 'svc',
  version: 'v1.5.0',
  channel: 'stable',
  publishedAt: '2026-11-20T08:00:00Z',
  requires: 'v1.0.0',
  images: {
    app: {
      reference: 'ghcr.io/acme/svc:v1.5.0',
      digest: digest('index'),
      platforms: { 'linux/amd64': { manifest: digest('manifest'), config: digest('config') } },
    },
  },
  files: { 'compose.yaml': digest('compose'), 'svc.mjs': digest('client') },
};
const bytesOf = (value: object) => Buffer.from(JSON.stringify(value));
const file = bytesOf(release);
const anna = publisher();
const trust: Trust = { keys: [publisher().key, anna.key] };
const wanted = { product: 'svc', version: 'v1.5.0' };

const proven = (
  given: {
    file?: Uint8Array;
    bundle?: string;
    trust?: Trust;
    wanted?: typeof wanted | { product: string; version: null };
  } = {},
) => {
  const { file: bytes = file, ...rest } = given;
  return verifyRelease(bytes, rest.bundle ?? anna.sign(bytes), rest.trust ?? trust, rest.wanted ?? wanted);
};
/** A release with other fields. */
const other = (change: object) => ({ file: bytesOf({ ...release, ...change }) });
const changed = (bundle: string, change: (whole: never) => void): string => {
  const whole = JSON.parse(bundle);
  change(whole as never);
  return JSON.stringify(whole);
};

describe('a release', () => {
  it.each(['ec', 'rsa'] as const)('is verified with a key of type %s', async (kind) => {
    const ben = publisher(kind);
    const told = await proven({ bundle: ben.sign(file), trust: { keys: [ben.key] } });
    expect(told).toEqual({ ...release, signer: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('is verified without an expected version', async () => {
    expect((await proven({ wanted: { product: 'svc', version: null } })).version).toBe('v1.5.0');
  });

  it('is rejected if any byte was changed', async () => {
    const bundle = anna.sign(file);
    for (let at = 0; at < file.length; at++) {
      const other = Buffer.from(file);
      other[at] = (other[at] ?? 0) ^ 1;
      await expect(proven({ file: other, bundle }), String(at)).rejects.toThrow(UnverifiedError);
    }
  });

  it.each<[string, Parameters<typeof proven>[0], string]>([
    ['by nobody', { bundle: '' }, 'the signature bundle cannot be read'],
    ['by another', { bundle: publisher().sign(file) }, 'not signed with a trusted key'],
    ['as another version', { wanted: { product: 'svc', version: 'v1.6.0' } }, 'is v1.5.0, not v1.6.0'],
    [
      'of another product',
      { wanted: { product: 'acme', version: 'v1.5.0' } },
      'a release of svc, not of acme',
    ],
    [
      'by an envelope of its own',
      {
        bundle: changed(anna.sign(file), (whole: { messageSignature?: object; dsseEnvelope?: object }) => {
          delete whole.messageSignature;
          whole.dsseEnvelope = {
            payload: 'e30=',
            payloadType: 'x',
            signatures: [{ sig: 'AAAA', keyid: '' }],
          };
        }),
      },
      'contains no file signature',
    ],
    [
      'by a key where a workflow is trusted',
      { trust: { identity: 'x', issuer: 'y', root: {} } },
      'with a key, not with a certificate',
    ],
    ['that is too large', other({ more: 'x'.repeat(300_000) }), 'larger than 256 KiB'],
    ['of a form to come', other({ format: 2 }), 'format'],
    ['with a path for a file', other({ files: { '../x': digest('x') } }), 'files'],
    ['with a digest that is none', other({ files: { a: 'sha256:00' } }), 'files.a must be sha256'],
  ])('is rejected if signed %s', async (_, given, why) => {
    await expect(proven(given)).rejects.toThrow(UnverifiedError);
    await expect(proven(given)).rejects.toThrow(why);
  });
});

// The bundles in keyless were created with @sigstore/sign and the mock authorities and logs of @sigstore/mock.
// Only one of the authorities is trusted.
describe('a release that a workflow signed without a key', () => {
  const text = (name: string) => readFileSync(new URL(`keyless/${name}`, import.meta.url), 'utf8');
  const keyless = Buffer.from(text('release.json'));
  const believed = {
    identity: 'https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/*',
    issuer: 'https://token.actions.githubusercontent.com',
    root: JSON.parse(text('trusted-root.json')),
  };
  const at = (name: string, more: Partial<typeof believed> = {}, bytes: Uint8Array = keyless) =>
    verifyRelease(bytes, text(name), { ...believed, ...more }, wanted);

  it('is verified for any tag of the workflow', async () => {
    expect((await at('good.json')).version).toBe('v1.5.0');
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'by the workflow of another',
      () => at('other-workflow.json'),
      'it is signed by https://github.com/mallory/svc/',
    ],
    [
      'as another issuer says',
      () => at('other-issuer.json'),
      'was issued by https://issuer.example.org, not by',
    ],
    ['by an authority that nobody trusts', () => at('other-authority.json'), 'its signature is not valid'],
    [
      'for another tag',
      () => at('good.json', { identity: believed.identity.replace('*', 'v1.4.0') }),
      ', not by',
    ],
    [
      'where a dot stands for anything',
      () =>
        at('good.json', {
          identity: believed.identity
            .replace('github.com', 'github_com')
            .replace('_', '.')
            .replace('acme', 'a..e'),
        }),
      ', not by',
    ],
    [
      'with a byte changed',
      () => at('good.json', {}, Buffer.concat([keyless, Buffer.from(' ')])),
      'is not valid',
    ],
    [
      'where keys are trusted',
      () => verifyRelease(keyless, text('good.json'), trust, wanted),
      'not with a key',
    ],
  ])('is rejected %s', async (_, attempt, why) => {
    await expect(attempt()).rejects.toThrow(UnverifiedError);
    await expect(attempt()).rejects.toThrow(why);
  });
});

// cosign sign-blob --key cosign.key --signing-config none.json --bundle ec.json ../keyless/release.json; none.json:
// {"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}: nothing is sent to a public log.
describe('a release that cosign 3.1.3 signed with a key', () => {
  const bytesAt = (name: string) => readFileSync(new URL(name, import.meta.url));
  const signed = bytesAt('keyless/release.json');
  it.each(['ec', 'rsa'])('of type %s is verified, and rejected after a change', async (kind) => {
    const bundle = String(bytesAt(`cosign/${kind}.json`));
    const by = { keys: [String(bytesAt(`cosign/${kind}.pem`))] };
    expect((await verifyRelease(signed, bundle, by, wanted)).version).toBe('v1.5.0');
    const other = Buffer.concat([signed, Buffer.from(' ')]);
    await expect(verifyRelease(other, bundle, by, wanted)).rejects.toThrow('not signed with a trusted key');
    await expect(verifyRelease(signed, bundle, trust, wanted)).rejects.toThrow(
      'not signed with a trusted key',
    );
  });
});

describe('parseTrust', () => {
  it('reads several keys or JSON', () => {
    const ben = publisher('rsa');
    expect(parseTrust(`# ours\n${anna.key}${ben.key}`)).toEqual({ keys: [anna.key.trim(), ben.key.trim()] });
    const workflow = { identity: 'https://x.test/a@*', issuer: 'https://i.test', root: { tlogs: [] } };
    expect(parseTrust(JSON.stringify(workflow))).toEqual(workflow);
    for (const whole of [workflow, trust]) expect(parseTrust(whole)).toEqual(whole);
  });

  it.each<[string, string | object]>([
    ['nothing', ''],
    ['an object of both', { ...trust, identity: 'https://x.test/a', issuer: 'https://i.test', root: {} }],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
    ['a key that is none', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'],
    ['a star behind a name', '{"identity":"https://x.test/acme*","issuer":"https://i.test","root":{}}'],
    ['a star in the midst', '{"identity":"https://x.test/*/svc@*","issuer":"https://i.test","root":{}}'],
    ['no issuer', '{"identity":"https://x.test/acme","root":{}}'],
  ])('rejects %s', (_, text) => {
    expect(() => parseTrust(text)).toThrow('it contains neither');
  });
});
