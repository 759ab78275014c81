import { mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { archiveOf } from '../provenance/archive.ts';
import { publisher } from '../provenance/sign.ts';
import { type Blob, buildImage, machinePlatform, sha256 } from './image.ts';
import type { ReleaseOptions } from './releases.ts';
import type { UpdaterOptions } from './updater-run.ts';

/** Differences of an archive from a correct one. */
export interface ArchiveOptions {
  release?: ReleaseOptions;
  product?: string;
  /** The version of its release, if it is not the tag. */
  version?: string;
  platform?: string;
  signer?: ReturnType<typeof publisher>;
  /** Names of its image in `release.json`; by default its repository. */
  names?: readonly string[];
  /** `sha256:…` by name. */
  files?: Record<string, string>;
  /** Applied after signing and before packing. */
  change?: (entries: ArchiveEntries) => ArchiveEntries;
}

export type ArchiveEntries = readonly (readonly [name: string, content: Buffer])[];

/** The default signer. */
export const anna = publisher();

/** A release archive with an image that is in no registry. Its index also lists an image of another platform. */
export async function releaseArchive(
  image: string,
  tag: string,
  options: ArchiveOptions = {},
): Promise<{ bytes: Buffer; digest: string }> {
  const { platform = machinePlatform, signer = anna, files = {}, change = (entries) => entries } = options;
  const built = await buildImage(image.slice(image.indexOf('/') + 1), tag, options.release);
  const manifest: Blob = { digest: sha256(built.manifest.bytes), bytes: built.manifest.bytes };
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const descriptor = { mediaType: built.manifest.mediaType, size: manifest.bytes.length };
  const of = (name: string, digest: string) => {
    const [os, architecture] = name.split('/');
    return { ...descriptor, digest, platform: { os, architecture } };
  };
  const elsewhere = of('linux/riscv64', `sha256:${'5'.repeat(64)}`);
  const index = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType, manifests: [elsewhere, of(platform, manifest.digest)] }),
  );
  const digest = sha256(index);
  const platforms = {
    [platform]: { manifest: manifest.digest, config: built.blobs.at(-1)?.digest },
    'linux/riscv64': { manifest: elsewhere.digest, config: elsewhere.digest },
  };
  const told = { reference: `${image}:${tag}`, digest, platforms };
  const file = Buffer.from(
    JSON.stringify({
      ...{ format: 1, product: options.product ?? 'svc', version: options.version ?? tag, channel: 'stable' },
      ...{ publishedAt: '2026-11-20T08:00:00Z', files },
      images: Object.fromEntries((options.names ?? [image]).map((name) => [name, told])),
    }),
  );
  const blobs = [...built.blobs, manifest, { digest, bytes: index }].map(
    (blob) => [`blobs/${blob.digest.replace(':', '/')}`, blob.bytes] as const,
  );
  const entries: ArchiveEntries = [
    ['release.json', file],
    ['release.json.sigstore.json', Buffer.from(signer.sign(file))],
    ['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')],
    ['index.json', Buffer.from('{}')],
    ...new Map(blobs.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  ];
  return { bytes: archiveOf(change(entries)), digest };
}

/** Options for an update from a release archive without a network. */
export const fromFile = ['--archive', '/release/carried.tar', '--trust', '/release/publisher.pem'];

/** Writes an archive and the public key of its publisher to the machine of an instance. */
export async function carried({ directory }: { directory: string }, bytes: Buffer): Promise<UpdaterOptions> {
  const folder = await mkdtemp(join(dirname(directory), 'carried-'));
  await writeFile(join(folder, 'carried.tar'), bytes);
  await writeFile(join(folder, 'publisher.pem'), anna.key);
  return { volumes: [`${folder}:/release:ro`], docker: ['--network', 'none'] };
}
