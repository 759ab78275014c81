import { expect, it } from 'vitest';
import { parseReleaseFile } from '../../../../src/provenance/release-file.ts';
import { createUpdaterTargetOptions } from '../../../../src/server/run/launch/target-options.ts';
import { releaseFile, sha256 } from '../../../feed/proofs.ts';

const proof = parseReleaseFile(Buffer.from(JSON.stringify(releaseFile('v1.5.0'))));

const engineOf = (platform: string) => ({
  getFacts: async () => ({ version: '29.8.1', platform, api: null }),
});

it.each<[platform: string, images: string[]]>([
  ['linux/amd64', ['index', 'amd64', 'amd64 config']],
  // An engine does not report variants.
  ['linux/arm', ['index', 'arm', 'arm config']],
  ['linux/ar', ['index']],
  ['linux/riscv64', ['index']],
  ['', ['index']],
])('on %s, expects any digest of %j', async (platform, images) => {
  expect(await createUpdaterTargetOptions({ to: 'v1.5.0', proof }, engineOf(platform))).toEqual([
    ...['--target', 'v1.5.0'],
    // The service may have another name in the compose file of an instance.
    ...['app', 'ghcr.io/acme/svc'].flatMap((name) =>
      images.flatMap((what) => ['--expect', `${name}=${sha256(what)}`]),
    ),
    ...['--expect-file', `compose.yaml=${sha256('compose')}`],
  ]);
});

it('lists each digest once, and no digests without a signature', async () => {
  const one = sha256('one');
  const app = { reference: 'x', digest: one, platforms: { 'linux/amd64': { manifest: one, config: one } } };
  const engine = engineOf('linux/amd64');
  const expected = { ...proof, images: { app }, files: {} };
  expect(await createUpdaterTargetOptions({ to: 'v1.5.0', proof: expected }, engine)).toEqual([
    ...['--target', 'v1.5.0', '--expect', `app=${one}`, '--expect', `x=${one}`],
  ]);
  expect(await createUpdaterTargetOptions({ to: 'v1.5.0-canary.3' }, engine)).toEqual(['--target', 'canary']);
});
