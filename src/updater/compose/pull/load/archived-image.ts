import { createHash } from 'node:crypto';
import { type Json, list, object, parseObject } from '../../../../engine/json.ts';
import { blobOf, type ReleaseArchive } from '../../../../provenance/release-archive.ts';

/** An image that an archive holds whole, for one platform. */
export interface ArchivedImage {
  /** An index of manifests, or the one manifest that there is. */
  root: { mediaType: string; digest: string; size: number };
  config: string;
  layers: readonly string[];
  /** Digests of all that belongs to it. */
  parts: readonly string[];
}

/** Larger than any index, or manifest. */
const mostBytes = 4 * 1024 * 1024;

/** The bytes of a part. */
export const partOf = (archive: ReleaseArchive, digest: string): AsyncIterable<Buffer> =>
  archive.stream(blobOf(digest));
export const sizeOfPart = ({ entries }: ReleaseArchive, digest: string): number =>
  entries.get(blobOf(digest))?.size ?? 0;

/**
 * The image with one of these digests; null where the archive has none.
 * @param platform `linux/amd64` @throws Error where a part of it is missing
 */
export async function archivedImage(
  archive: ReleaseArchive,
  digests: Iterable<string>,
  platform: string,
): Promise<ArchivedImage | null> {
  for (const digest of digests) {
    if (!archive.entries.has(blobOf(digest))) continue;
    const text = await archive.read(blobOf(digest), mostBytes);
    const root = parseObject(text.toString());
    const mediaType = String(root?.mediaType ?? '');
    if (root?.manifests === undefined && root?.layers === undefined) continue;
    const manifest = root.layers === undefined ? manifestFor(list<Json>(root.manifests), platform) : digest;
    if (manifest === null) throw new Error(`the archive contains no image for ${platform}`);
    const { config, layers } = object(
      parseObject((await archive.read(blobOf(manifest), mostBytes)).toString()),
    );
    const own = [digestOf(config), ...list<Json>(layers).map(digestOf)];
    for (const part of own)
      if (!archive.entries.has(blobOf(part)))
        throw new Error(`the archive does not contain ${part}, which belongs to one of its images`);
    const [ofConfig = '', ...ofLayers] = own;
    return {
      root: { mediaType, digest, size: text.length },
      config: ofConfig,
      layers: ofLayers,
      parts: [...new Set([digest, manifest, ...own])],
    };
  }
  return null;
}

/** Of a variant of the platform as well; what tells of an image, and is none, has another. */
function manifestFor(manifests: readonly Json[], platform: string): string | null {
  const found = manifests.find((each) => {
    const { os, architecture } = object(each.platform);
    return `${os}/${architecture}` === platform;
  });
  return found === undefined ? null : digestOf(found);
}

const digestOf = (descriptor: unknown): string => String(object(descriptor).digest);

/**
 * Holds every byte against the name that it has: parts of images, and files that a release names.
 * @param onRead is told how many bytes have been read, now and then @throws Error
 */
export async function requireUnchanged(
  archive: ReleaseArchive,
  files: ReadonlyMap<string, string>,
  onRead: (bytes: number) => void,
): Promise<void> {
  let read = 0;
  for (const name of archive.entries.keys()) {
    const [, folder, rest = ''] = /^(blobs|files)\/(.*)$/.exec(name) ?? [];
    const digest = folder === 'blobs' ? rest.replace('/', ':') : folder && files.get(rest);
    if (digest === undefined) continue;
    const hash = createHash('sha256');
    for await (const piece of archive.stream(name)) {
      hash.update(piece);
      read += piece.length;
      onRead(read);
    }
    if (`sha256:${hash.digest('hex')}` !== digest) throw new Error(`${name} in the archive was modified`);
  }
}
