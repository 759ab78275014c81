import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endless, type Reply, text } from '../../feed/forge.ts';
import { publisher } from '../../provenance/sign.ts';
import {
  clientOf,
  type Files,
  type Proof,
  proofOf,
  type Rig,
  startRig,
  workerAsset,
  workerOf,
} from './rig.ts';

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

const worker = workerOf('v1.5.0');
const proof = (more: Partial<Proof> = {}) =>
  proofOf({ files: { 'svc.mjs': fresh, [workerAsset]: worker }, by: anna, ...more });

describe('a client that trusts a key', () => {
  it('takes what a release proves, whatever its sums are', async () => {
    const files = { 'svc.mjs': fresh, [workerAsset]: worker, ...proof() };
    rig.publish('v1.5.0', files, { SHA256SUMS: text(404, '') });
    const { stdout } = await rig.start([]);
    expect(stdout).toMatch(
      /^Downloading svc\.mjs v1\.5\.0 .*, checked .*\n✓ svc v1\.5\.0 is in place of v1\.4\.2\.$/,
    );
    expect(await rig.read(rig.svc)).toBe(fresh);
    expect(await rig.runWorker()).toMatchObject({ exitCode: 0 });
    expect(await rig.read(rig.worker)).toBe(worker);
  });

  /** What is published beside the program, and in its place. */
  type Forgery = (made: ReturnType<typeof proof>) => Readonly<Record<string, string | undefined>>;
  const nextStep = 'Next: ask its publisher. Where the key is a new one, a release in between knows both';
  const gone = (name: string) =>
    `Nothing was changed: v1.5.0 has no file ${name}, so that nothing could be checked.\nNext: `;
  const refusal = (why: string) => `v1.5.0 is not taken: ${why}.\n${nextStep}`;

  it.each<[string, number, string, Forgery]>([
    ['no release.json', 4, gone('release.json'), (made) => ({ ...made, 'release.json': undefined })],
    [
      'no bundle',
      4,
      gone('release.json.sigstore.json'),
      (made) => ({ ...made, 'release.json.sigstore.json': undefined }),
    ],
    [
      'a bundle without a signature',
      3,
      'v1.5.0 is not taken: the bundle cannot be read: ',
      (made) => ({ ...made, 'release.json.sigstore.json': '{}' }),
    ],
    [
      'a bundle that would write on the terminal',
      3,
      "v1.5.0 is not taken: the bundle cannot be read: Unexpected token '\\u001b', \"\\u001b[2J",
      (made) => ({ ...made, 'release.json.sigstore.json': '\u001b[2Jx' }),
    ],
    [
      'the signature of another',
      3,
      refusal('it is signed by none of the keys that are trusted'),
      () => proof({ by: mallory }),
    ],
    [
      'a changed byte',
      3,
      refusal('it is signed by none of the keys that are trusted'),
      (made) => ({ ...made, 'release.json': made['release.json'].replace('T08:', 'T09:') }),
    ],
    [
      'the bundle of another release',
      3,
      refusal('it is signed by none of the keys that are trusted'),
      (made) => ({ ...proof({ version: 'v1.4.9' }), 'release.json': made['release.json'] }),
    ],
    [
      'the proof of an older one',
      3,
      refusal('what is signed is v1.4.1, not v1.5.0'),
      () => proof({ version: 'v1.4.1' }),
    ],
    [
      'the proof of a newer one',
      3,
      refusal('what is signed is v1.6.0, not v1.5.0'),
      () => proof({ version: 'v1.6.0' }),
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
      'v1.5.0 is not taken: its release.json does not name svc.mjs.\nNext: tell whoever publishes the release.',
      () => proof({ files: { [workerAsset]: worker } }),
    ],
    [
      'a program with other bytes',
      4,
      'Nothing was changed: what came as svc.mjs has not the sum that its release gives.\nNext: run it again; where',
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

  it.each<[string, string, Reply]>([
    ['without end', 'NAME is larger than 256 KiB.', endless()],
    [
      'that is a page',
      'HOST sends a web page where NAME should be',
      text(200, '<!doctype html><title>Sign in'),
    ],
  ])('refuses a proof %s', async (_, sentence, reply) => {
    for (const name of ['release.json', 'release.json.sigstore.json']) {
      rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof() }, { [name]: reply });
      await expectRefusal(4, `Nothing was changed: ${sentence.replace('NAME', name)}`);
    }
  });

  it('refuses another program that nobody has signed', async () => {
    rig.publish('v1.5.0', { [workerAsset]: worker, ...proof({ by: mallory }) });
    const { exitCode, stderr } = await rig.runWorker();
    expect(stderr).toContain(refusal('it is signed by none of the keys that are trusted'));
    expect(exitCode).toBe(3);
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
  });

  it('never goes back, whoever has signed it', async () => {
    const files = { 'svc.mjs': fresh, ...proof({ version: 'v1.3.9' }) };
    rig.publish('v1.3.9', files);
    rig.forge.publish({ tag: 'v1.3.9', files: Object.keys(files) });
    expect(await rig.run([])).toMatchObject({
      exitCode: 0,
      stdout: 'svc v1.4.2 stays: it is newer than v1.3.9, the newest on stable.',
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
      'v1.6.0 is not taken: it is signed by none of the keys that are trusted.\nNext: ask its publisher. Where the key is a new one, a release in between knows both, as the old one has signed it: put svc.mjs of that in place by hand, then run it again.',
    );
    expect(exitCode).toBe(3);
    expect(await rig.read(rig.svc)).toBe(old);

    rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof() });
    expect(await rig.run([])).toMatchObject({ exitCode: 0 });
    publishNewest();
    expect(await rig.run([])).toMatchObject({ exitCode: 0, stdout: '✓ svc v1.6.0 is in place of v1.5.0.' });
    expect(await rig.read(rig.svc)).toBe(newest);
  });

  async function expectRefusal(code: number, sentence: string): Promise<void> {
    const { exitCode, stdout, stderr } = await rig.run([]);
    expect(stderr).toContain(sentence);
    expect([exitCode, stdout]).toEqual([code, '']);
    expect(await rig.read(rig.svc)).toBe(old);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  }
});

describe('a client that trusts a workflow', () => {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../provenance/keyless/${name}`, import.meta.url), 'utf8');
  let keyless = '';
  beforeAll(async () => {
    const identity = 'https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/*';
    const issuer = 'https://token.actions.githubusercontent.com';
    const root: unknown = JSON.parse(fixture('trusted-root.json'));
    keyless = await clientOf('v1.4.2', JSON.stringify({ identity, issuer, root }));
  });

  it.each([
    // It is proven, and has no client in it.
    ['good.json', 'its release.json does not name svc.mjs'],
    ['other-workflow.json', 'it is signed by https://github.com/mallory/svc/'],
    ['other-authority.json', 'its signature does not hold'],
  ])('knows who has signed %s', async (name, why) => {
    await writeFile(rig.svc, keyless);
    const proofs = {
      'release.json': fixture('release.json'),
      'release.json.sigstore.json': fixture(name),
    };
    rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proofs });
    const { exitCode, stderr } = await rig.run([]);
    expect(stderr).toContain(`v1.5.0 is not taken: ${why}`);
    expect([exitCode, await rig.read(rig.svc)]).toEqual([3, keyless]);
  });
});

it('a client that trusts no key says so, and asks for no proof', async () => {
  await writeFile(rig.svc, await clientOf('v1.4.2'));
  rig.publish('v1.5.0', { 'svc.mjs': fresh, ...proof({ by: mallory }) });
  const { stdout } = await rig.start([]);
  expect(stdout.split('\n')).toEqual([
    'svc.mjs is checked by SHA256SUMS alone: this build trusts no key.',
    expect.stringMatching(/^Downloading svc\.mjs v1\.5\.0 .*, checked/),
    '✓ svc v1.5.0 is in place of v1.4.2.',
  ]);
});
