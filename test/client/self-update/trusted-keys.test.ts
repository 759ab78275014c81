import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endless, type Reply } from '../../feed/forge.ts';
import { publisher } from '../../provenance/sign.ts';
import { clientOf, type Files, type Proof, proofOf, type Rig, startRig } from './rig.ts';

const anna = publisher();
/** Anna's second key, trusted from v1.5.0 on. */
const next = publisher();
const mallory = publisher();
let old = '';
let fresh = '';
let rig: Rig;

beforeAll(async () => {
  [old, fresh] = await Promise.all([clientOf('v1.4.2', anna.key), clientOf('v1.5.0', anna.key + next.key)]);
});
beforeEach(async () => {
  rig = await startRig(old);
});
afterEach(() => rig.close());

/** The files of a signed release, with these deviations. */
const released = (proof: Partial<Proof> = {}) => ({
  'svc.mjs': fresh,
  ...proofOf({ files: { 'svc.mjs': fresh, other: 'x' }, by: anna, ...proof }),
});

describe('a client that trusts a key', () => {
  it('installs a signed release without requesting SHA256SUMS', async () => {
    rig.publish('v1.5.0', released());
    const { stdout } = await rig.start([]);
    expect(stdout).toBe('Downloading svc.mjs v1.5.0\n✓ svc was updated: v1.4.2 → v1.5.0');
    expect(await rig.read(rig.svc)).toBe(fresh);
    expect(rig.forge.seen.filter(({ path }) => path.endsWith('SHA256SUMS'))).toEqual([]);
  });

  const name = 'release.json.sigstore.json';
  const nextStep =
    'Next: contact the publisher of svc.mjs. If the signing key was replaced, manually install a release of svc.mjs';
  it.each<[string, number, string, () => Files, Record<string, Reply>?]>([
    [
      'no bundle',
      4,
      `Nothing was changed: release v1.5.0 does not contain ${name}.\nNext: `,
      () => ({ 'svc.mjs': fresh, 'release.json': released()['release.json'] }),
    ],
    [
      'a bundle of more than 256 KiB',
      4,
      `${name} from HOST failed: the file is larger than 256 KiB.`,
      released,
      { [name]: endless() },
    ],
    [
      'a bundle with control characters',
      3,
      "v1.5.0 was rejected: the signature bundle cannot be read: Unexpected token '\\u001b', \"\\u001b[2J",
      () => ({ ...released(), [name]: '\u001b[2Jx' }),
    ],
    [
      'the signature of an untrusted key',
      3,
      `v1.5.0 was rejected: it is not signed with a trusted key.\n${nextStep}`,
      () => released({ by: mallory }),
    ],
    [
      'the signature of an older release',
      3,
      'the signed version is v1.4.1, not v1.5.0',
      () => released({ version: 'v1.4.1' }),
    ],
    [
      'the signature of another product',
      3,
      'it is a release of larder, not of svc',
      () => released({ product: 'larder' }),
    ],
    [
      'a release.json without the program',
      3,
      'v1.5.0 was rejected: its release.json contains no checksum for svc.mjs.\nNext: report the problem to the publisher of the release.',
      () => released({ files: { other: 'x' } }),
    ],
    [
      'a program with other bytes',
      4,
      'Nothing was changed: the checksum of the downloaded svc.mjs does not match the one in its release.\nNext: run the update again. If',
      () => ({ ...released(), 'svc.mjs': `${fresh}// more` }),
    ],
  ])('rejects %s', async (what, code, sentence, files, replies) => {
    rig.publish('v1.5.0', files(), replies);
    const { exitCode, stdout, stderr } = await rig.run([]);
    expect(stderr).toContain(sentence);
    expect([exitCode, stdout, await rig.names()]).toEqual([code, '', ['svc.mjs']]);
    expect(await rig.read(rig.svc)).toBe(old);
    const isFetched = rig.forge.seen.some(({ path }) => path.endsWith('/svc.mjs'));
    expect(isFetched).toBe(what === 'a program with other bytes');
  });

  it('accepts a new key only after it has installed a release signed with the old key', async () => {
    const newest = await clientOf('v1.6.0', next.key);
    const files = { 'svc.mjs': newest };
    const publishNewest = () =>
      rig.publish('v1.6.0', { ...files, ...proofOf({ version: 'v1.6.0', files, by: next }) });
    publishNewest();
    expect(await rig.run([])).toMatchObject({
      exitCode: 3,
      stderr:
        'v1.6.0 was rejected: it is not signed with a trusted key.\nNext: contact the publisher of svc.mjs. If the signing key was replaced, manually install a release of svc.mjs that trusts both the old and the new key, then run the update again.',
    });
    rig.publish('v1.5.0', released());
    expect(await rig.run([])).toMatchObject({ exitCode: 0 });
    publishNewest();
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: '✓ svc was updated: v1.5.0 → v1.6.0' });
    expect(await rig.read(rig.svc)).toBe(newest);
  });
});
