import { writeFile } from 'node:fs/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endless, text } from '../../feed/forge.ts';
import { publisher } from '../../provenance/sign.ts';
import { clientOf, type Files, type Proof, proofOf, type Rig, startRig } from './rig.ts';

const anna = publisher();
/** Anna's key from v1.5.0 on, beside her old one. */
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

const proof = (more: Partial<Proof> = {}) =>
  proofOf({ files: { 'svc.mjs': fresh, other: 'x' }, by: anna, ...more });

describe('a client that trusts a key', () => {
  it('takes what a release proves, whatever its sums are', async () => {
    const files = { 'svc.mjs': fresh, ...proof() };
    rig.publish('v1.5.0', files, { SHA256SUMS: text(404, '') });
    const { stdout } = await rig.start([]);
    expect(stdout).toBe('Downloading svc.mjs v1.5.0\n✓ svc was updated: v1.4.2 → v1.5.0');
    expect(await rig.read(rig.svc)).toBe(fresh);
  });

  /** What is published beside the program, and in its place. */
  type Forgery = (made: ReturnType<typeof proof>) => Readonly<Record<string, string | undefined>>;
  const nextStep = 'Next: ask its publisher. After a change of keys, first install by hand';
  const gone = (name: string) => `Nothing was changed: v1.5.0 has no file ${name}.\nNext: `;
  const refusal = (why: string) => `v1.5.0 was rejected: ${why}.\n${nextStep}`;

  it.each<[string, number, string, Forgery]>([
    ['no release.json', 4, gone('release.json'), (made) => ({ ...made, 'release.json': undefined })],
    [
      'no bundle',
      4,
      gone('release.json.sigstore.json'),
      (made) => ({ ...made, 'release.json.sigstore.json': undefined }),
    ],
    [
      'a bundle that would write on the terminal',
      3,
      "v1.5.0 was rejected: the bundle cannot be read: Unexpected token '\\u001b', \"\\u001b[2J",
      (made) => ({ ...made, 'release.json.sigstore.json': '\u001b[2Jx' }),
    ],
    [
      'the signature of another',
      3,
      refusal('it is signed by none of the keys that are trusted'),
      () => proof({ by: mallory }),
    ],
    [
      'the proof of an older one',
      3,
      refusal('what is signed is v1.4.1, not v1.5.0'),
      () => proof({ version: 'v1.4.1' }),
    ],
    [
      'the proof of another product',
      3,
      refusal('it is a release of larder, not of svc'),
      () => proof({ product: 'larder' }),
    ],
    [
      'a proof that does not name the program',
      3,
      'v1.5.0 was rejected: its release.json has no checksum for svc.mjs.\nNext: report it to the publisher of the release.',
      () => proof({ files: { other: 'x' } }),
    ],
    [
      'a program with other bytes',
      4,
      'Nothing was changed: the download of svc.mjs does not have the checksum of its release.\nNext: run it again. If',
      (made) => ({ ...made, 'svc.mjs': `${fresh}// more` }),
    ],
  ])('refuses %s', async (what, code, sentence, forge) => {
    const { 'svc.mjs': program = fresh, ...made } = forge(proof());
    const files = Object.entries({ 'svc.mjs': program, ...made }).filter(([, bytes]) => bytes !== undefined);
    rig.publish('v1.5.0', Object.fromEntries(files) as Files);
    await expectRefusal(code, sentence);
    const isFetched = rig.forge.seen.some(({ path }) => path.endsWith('/svc.mjs'));
    expect(isFetched).toBe(what === 'a program with other bytes');
  });

  it('refuses a proof of more than 256 KiB', async () => {
    for (const name of ['release.json', 'release.json.sigstore.json']) {
      rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof() }, { [name]: endless() });
      await expectRefusal(4, `${name} from HOST failed: it is larger than 256 KiB.`);
    }
  });

  it('never goes back, whoever has signed it', async () => {
    const files = { 'svc.mjs': fresh, ...proof({ version: 'v1.3.9' }) };
    rig.publish('v1.3.9', files);
    rig.forge.publish({ tag: 'v1.3.9', files: Object.keys(files) });
    expect(await rig.run([])).toMatchObject({
      exitCode: 0,
      stdout: 'svc v1.4.2 was not changed: it is newer than v1.3.9, the newest on stable.',
    });
    expect(await rig.read(rig.svc)).toBe(old);
  });

  it('comes to a new key by a release that the old one has signed, and by no other', async () => {
    const newest = await clientOf('v1.6.0', next.key);
    const publishNewest = () =>
      rig.publish('v1.6.0', {
        'svc.mjs': newest,
        ...proofOf({ version: 'v1.6.0', files: { 'svc.mjs': newest }, by: next }),
      });
    publishNewest();
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toBe(
      'v1.6.0 was rejected: it is signed by none of the keys that are trusted.\nNext: ask its publisher. After a change of keys, first install by hand the svc.mjs of a release that trusts both keys.',
    );
    expect(exitCode).toBe(3);
    expect(await rig.read(rig.svc)).toBe(old);

    rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof() });
    expect(await rig.run([])).toMatchObject({ exitCode: 0 });
    publishNewest();
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: '✓ svc was updated: v1.5.0 → v1.6.0' });
    expect(await rig.read(rig.svc)).toBe(newest);
  });

  async function expectRefusal(code: number, sentence: string): Promise<void> {
    const { exitCode, stdout, stderr } = await rig.run([]);
    expect(stderr).toContain(sentence);
    expect([exitCode, stdout]).toEqual([code, '']);
    expect(await rig.read(rig.svc)).toBe(old);
    expect(await rig.names()).toEqual(['svc.mjs']);
  }
});

it('a client that trusts no key says so, and asks for no proof', async () => {
  await writeFile(rig.svc, await clientOf('v1.4.2'));
  rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof({ by: mallory }) });
  const { stdout } = await rig.start([]);
  expect(stdout.split('\n')).toEqual([
    'svc.mjs is checked only against SHA256SUMS: this build trusts no key.',
    'Downloading svc.mjs v1.5.0',
    '✓ svc was updated: v1.4.2 → v1.5.0',
  ]);
});
