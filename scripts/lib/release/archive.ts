import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';
import {
  createTarHeader,
  tarEntrySizeLimitBytes,
  tarPaddingSizeOf,
} from '../../../src/core/files/tar-header.ts';
import { canonical, type DescribedImage } from './describe.ts';

/** All that is put into an archive. */
export interface ArchiveContent {
  /** `release.json`, and the text of its bundle. */
  file: Buffer;
  bundle: string;
  /** Paths of the release's files, by name. */
  files: Readonly<Record<string, string>>;
  images: readonly DescribedImage[];
}

/**
 * Writes the file by which a machine without a network is updated: the same bytes for the same content (docs/contract.md 3.22).
 * @param platform `linux/amd64`, whose images are in it
 * @throws Error where an image is not for that platform, or a blob is not what its name says
 */
export async function writeArchive(path: string, content: ArchiveContent, platform: string): Promise<void> {
  const small: [name: string, bytes: Buffer][] = [
    ['release.json', content.file],
    ['release.json.sigstore.json', Buffer.from(content.bundle)],
  ];
  for (const [name, file] of inOrder(Object.entries(content.files)))
    small.push([`files/${name}`, await readFile(file)]);
  small.push(['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')]);
  small.push(['index.json', indexOf(content.images)]);
  const blobs = inOrder(blobsOf(content.images, platform));

  const made = await open(`${path}.part`, 'w');
  try {
    for (const [name, bytes] of small) await writeEntry(name, bytes.length, [bytes]);
    for (const [digest, file] of blobs) {
      const { size } = await stat(file);
      const hash = createHash('sha256');
      await writeEntry(`blobs/${digest.replace(':', '/')}`, size, createReadStream(file), hash);
      if (`sha256:${hash.digest('hex')}` !== digest) throw new Error(`${file} is not what its name says`);
    }
    await made.writeFile(Buffer.alloc(1024));
    const { size } = await made.stat();
    if (size >= tarEntrySizeLimitBytes)
      throw new Error(`${path} would be ${size} bytes, and 8 GiB are too many`);
  } finally {
    await made.close();
  }
  await rename(`${path}.part`, path);

  async function writeEntry(
    name: string,
    size: number,
    pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
    hash?: ReturnType<typeof createHash>,
  ): Promise<void> {
    await made.writeFile(createTarHeader(name, size));
    for await (const piece of pieces) {
      hash?.update(piece);
      await made.writeFile(piece);
    }
    await made.writeFile(Buffer.alloc(tarPaddingSizeOf(size)));
  }
}

/** By what an engine loads an image under its name. */
function indexOf(images: readonly DescribedImage[]): Buffer {
  const manifests = images.map(({ reference, image: { root } }) => ({
    ...{ mediaType: root.mediaType, digest: root.digest, size: root.size },
    annotations: {
      'io.containerd.image.name': reference,
      'org.opencontainers.image.ref.name': tagOf(reference),
    },
  }));
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  return canonical({ schemaVersion: 2, mediaType, manifests });
}

/** The files of all that an engine of this platform needs, by digest. */
function blobsOf(images: readonly DescribedImage[], platform: string): [digest: string, path: string][] {
  const digests = images.flatMap(({ reference, image }) => {
    const own = image.platforms[platform];
    if (own === undefined) throw new Error(`${reference} is not for ${platform}`);
    return [image.root, own.manifest, own.config, ...own.layers].map(
      ({ digest }) => [digest, image.path(digest)] as const,
    );
  });
  return [...new Map(digests)];
}

const inOrder = <T>(entries: [string, T][]): [string, T][] => entries.sort(([a], [b]) => (a < b ? -1 : 1));

function tagOf(reference: string): string {
  const [, tag] = /:([\w.-]+)$/.exec(reference) ?? [];
  if (tag === undefined) throw new Error(`${reference} has no tag`);
  return tag;
}
