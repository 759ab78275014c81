import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from '../../../scripts/lib/release/describe.ts';
import type { LayoutImage } from '../../../scripts/lib/release/layout.ts';
import { publisher, publisherWith } from '../../../scripts/lib/release/sign.ts';
import { type Image, sha256 } from '../../rig/image.ts';
import { composeOf, type PlatformRelease, platformReleases } from '../releases.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
/** The private key of the platform's publisher in PEM, for this run only. The images contain the public key. */
export const platformKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
export const platformPublisher = publisherWith(platformKey);
/** Increasing publication times, because a time before that of an earlier release is refused. */
const publishedAt = (release: PlatformRelease): string =>
  new Date(begunAt + platformReleases.indexOf(release)).toISOString();
const begunAt = Date.now();
/** A publisher with access to the forge and another key. */
const otherPublisher = publisher();

/**
 * Writes the release assets to a folder of its version, like scripts/release.
 * @param reference the reference of its image in the registry
 */
export async function signRelease(
  release: PlatformRelease,
  image: Image,
  { reference, folder }: { reference: string; folder: string },
): Promise<void> {
  const assets = join(folder, release.version);
  await mkdir(assets, { recursive: true });
  const compose = await composeOf(release);
  await writeFile(join(assets, 'compose.yaml'), compose);
  if (release.signedBy === null) return;
  const { version, requires } = release;
  const channel = version.includes('-') ? 'canary' : 'stable';
  const file = describe(
    { product: 'svc', version, channel, publishedAt: publishedAt(release), requires },
    { [reference.replace(/:[^:/]+$/, '')]: { reference, image: describable(image) } },
    { 'compose.yaml': sha256(Buffer.from(compose)) },
  );
  await writeFile(join(assets, 'release.json'), file);
  const signer = release.signedBy === 'another key' ? otherPublisher : platformPublisher;
  await writeFile(join(assets, 'release.json.sigstore.json'), signer.sign(file));
}

/** Converts an image in memory to the form of an image layout. */
function describable({ blobs, manifest: { mediaType, bytes } }: Image): LayoutImage {
  const root = { mediaType, digest: sha256(bytes), size: bytes.length };
  const { config, layers } = JSON.parse(String(bytes));
  const {
    os,
    architecture,
    config: run,
  } = JSON.parse(String(blobs.find(({ digest }) => digest === config.digest)?.bytes));
  return {
    root,
    platforms: { [`${os}/${architecture}`]: { manifest: root, config, layers, labels: run.Labels ?? {} } },
    path: (digest) => {
      throw new Error(`${digest} is in no file`);
    },
  };
}
