import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { createJsonTextSchema } from '../../../../core/text/json-text.ts';
import { blobEntryNameOf, type ReleaseArchive } from '../../../../provenance/release-archive.ts';

/** Image for one platform that is completely contained in an archive. */
export interface ArchivedImage {
  /** Descriptor of the image index, or of the manifest if there is no index. */
  root: { mediaType: string; digest: string; size: number };
  config: string;
  layers: readonly string[];
  blobs: readonly string[];
}

/** Maximum size in bytes of an index or a manifest. */
const maxManifestBytes = 4 * 1024 * 1024;

export const blobSizeOf = ({ entries }: ReleaseArchive, digest: string): number =>
  entries.get(blobEntryNameOf(digest))?.size ?? 0;

/**
 * Finds the archived image with one of these digests; null if there is none.
 * @param platform - such as `linux/amd64`
 * @throws Error if the image is incomplete or has no manifest for the platform
 */
export async function findArchivedImage(
  archive: ReleaseArchive,
  digests: Iterable<string>,
  platform: string,
): Promise<ArchivedImage | null> {
  for (const digest of digests) {
    if (!archive.entries.has(blobEntryNameOf(digest))) continue;
    const text = await archive.read(blobEntryNameOf(digest), maxManifestBytes);
    const root = imageSchema.safeParse(text.toString()).data;
    if (root === undefined) continue;
    const { mediaType = '' } = root;
    const manifest = 'layers' in root ? digest : findManifestDigest(root, platform);
    if (manifest === null) throw new Error(`the archive contains no image for ${platform}`);
    const of = await archive.read(blobEntryNameOf(manifest), maxManifestBytes);
    const { data } = createJsonTextSchema(manifestSchema).safeParse(of.toString());
    if (data === undefined) throw new Error(`${manifest} in the archive is not an image manifest`);
    const config = data.config.digest;
    const layers = data.layers.map((layer) => layer.digest);
    for (const part of [config, ...layers])
      if (!archive.entries.has(blobEntryNameOf(part)))
        throw new Error(`the archive does not contain ${part}, which belongs to one of its images`);
    const parts = [...new Set([digest, manifest, config, ...layers])];
    return { root: { mediaType, digest, size: text.length }, config, layers, blobs: parts };
  }
  return null;
}

/**
 * Finds the manifest for a platform, ignoring variants. Attestation manifests never match, because they have a
 * different platform.
 */
function findManifestDigest({ manifests }: z.infer<typeof indexSchema>, platform: string): string | null {
  const found = manifests.find((each) => `${each.platform?.os}/${each.platform?.architecture}` === platform);
  return found?.digest ?? null;
}

// https://github.com/opencontainers/image-spec: image-index.md and manifest.md

const mediaType = z.optional(z.string());
const descriptor = z.object({ digest: z.string() });
const platformSchema = z.object({ os: z.string(), architecture: z.string() });
const manifestSchema = z.object({ mediaType, config: descriptor, layers: z.array(descriptor) });
const indexSchema = z.object({
  mediaType,
  manifests: z.array(z.object({ digest: z.string(), platform: z.optional(platformSchema) })),
});
const imageSchema = createJsonTextSchema(z.union([manifestSchema, indexSchema]));

/**
 * Verifies the digests of all blobs and of the release's files in an archive.
 * @param files - digests of the release's files, keyed by name
 * @param onRead - called repeatedly with the number of bytes read
 * @throws Error if a file was modified
 */
export async function requireIntactArchive(
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
