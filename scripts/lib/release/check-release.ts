import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openReleaseArchive } from '../../../src/provenance/release-archive.ts';
import type { ReleaseFile } from '../../../src/provenance/release-file.ts';
import type { Trust } from '../../../src/provenance/trust.ts';
import { type ExpectedRelease, verifyRelease } from '../../../src/provenance/verify-release.ts';
import { sumOf } from './layout.ts';
import { publisher } from './sign.ts';

/**
 * Holds what was made against what whoever gets it asks of it: who has signed it, each file, each archive; and sees that neither
 * another's signature nor another byte is taken.
 * @throws Error that says what does not hold
 */
export async function checkRelease(
  assets: string,
  trust: Trust,
  wanted: ExpectedRelease,
): Promise<ReleaseFile> {
  const file = await readFile(join(assets, 'release.json'));
  const bundle = await readFile(join(assets, 'release.json.sigstore.json'), 'utf8');
  const told = await verifyRelease(file, bundle, trust, wanted);
  await expectRefused(verifyRelease(file, bundle, { keys: [publisher().key] }, wanted), "another's key");
  const changed = Buffer.from(file);
  changed.write('x', changed.indexOf(told.version));
  await expectRefused(verifyRelease(changed, bundle, trust, wanted), 'another byte');

  for (const [name, digest] of Object.entries(told.files))
    if (`sha256:${await sumOf(join(assets, name))}` !== digest)
      throw new Error(`${name} is not what was signed`);
  await sumsHold(assets);
  for (const name of await readdir(assets))
    if (name.endsWith('.tar')) await checkArchive(join(assets, name), { file, bundle, told });
  return told;
}

/** As somebody types it who has nothing else. */
async function sumsHold(assets: string): Promise<void> {
  const check = ['--check', '--strict', '--quiet', 'SHA256SUMS'];
  await promisify(execFile)('sha256sum', check, { cwd: assets }).catch((cause) => {
    throw new Error(`SHA256SUMS does not hold: ${cause.stdout || cause.message}`, { cause });
  });
}

interface Signed {
  file: Buffer;
  bundle: string;
  told: ReleaseFile;
}

async function checkArchive(path: string, { file, bundle, told }: Signed): Promise<void> {
  const archive = await openReleaseArchive(path);
  try {
    if (!archive.file.equals(file) || archive.bundle !== bundle) throw new Error('it is of another release');
    for (const name of archive.entries.keys()) {
      const [, ours = '', digits = ''] = /^(?:files\/(.*)|blobs\/sha256\/(.*))$/.exec(name) ?? [];
      const expected = digits === '' ? told.files[ours] : `sha256:${digits}`;
      if (ours + digits === '') continue;
      const hash = createHash('sha256');
      for await (const piece of archive.stream(name)) hash.update(piece);
      if (`sha256:${hash.digest('hex')}` !== expected)
        throw new Error(`${name} in it is not what was signed`);
    }
    const has = (digest: string) => archive.entries.has(`blobs/${digest.replace(':', '/')}`);
    for (const [name, { digest, platforms }] of Object.entries(told.images)) {
      const [platform] = Object.entries(platforms).filter(([each]) =>
        path.endsWith(`-${each.replaceAll('/', '-')}.tar`),
      );
      const [, own] = platform ?? [];
      if (!own || ![digest, own.manifest, own.config].every(has)) throw new Error(`it has no ${name}`);
    }
  } catch (cause) {
    throw new Error(`${path}: ${(cause as Error).message}`, { cause });
  } finally {
    await archive.close();
  }
}

async function expectRefused(proof: Promise<unknown>, what: string): Promise<void> {
  const taken = await proof.then(
    () => true,
    () => false,
  );
  if (taken) throw new Error(`${what} is taken for what was signed`);
}
