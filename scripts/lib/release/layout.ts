import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: { os: string; architecture: string; variant?: string };
  annotations?: Record<string, string>;
}

interface LayoutPlatform {
  manifest: Descriptor;
  config: Descriptor;
  layers: Descriptor[];
  labels: Readonly<Record<string, string>>;
}

/** An image as its layout has it: all that describes it, by what refers to it. */
export interface LayoutImage {
  root: Descriptor;
  /** By platform, `linux/amd64`. */
  platforms: Record<string, LayoutPlatform>;
  /** The file of a blob. */
  path(digest: string): string;
}

/**
 * Reads an OCI image layout, as `docker buildx build --output type=oci,tar=false` writes it.
 * @param tag which of its images, where it has several @throws Error that names the folder
 */
export async function readLayout(folder: string, tag?: string): Promise<LayoutImage> {
  const path = (digest: string) => join(folder, 'blobs', digest.replace(':', '/'));
  const read = async ({ digest }: Descriptor) => {
    const bytes = await readFile(path(digest));
    if (sha256(bytes) !== digest) throw new Error(`${path(digest)} is not what its name says`);
    return JSON.parse(String(bytes));
  };
  const { manifests }: { manifests: Descriptor[] } = JSON.parse(
    await readFile(join(folder, 'index.json'), 'utf8'),
  );
  const [root, other] = manifests.filter(
    ({ annotations }) => tag === undefined || annotations?.['org.opencontainers.image.ref.name'] === tag,
  );
  if (root === undefined) throw new Error(`${folder} has no image${tag === undefined ? '' : ` ${tag}`}`);
  if (other !== undefined) throw new Error(`${folder} has several images: say which, by its tag`);

  const content = await read(root);
  const platforms: LayoutImage['platforms'] = {};
  for (const manifest of (content.manifests as Descriptor[]) ?? [root]) {
    // What is said of an image is for no platform.
    if (manifest.platform?.os === 'unknown') continue;
    const { config, layers } = manifest === root ? content : await read(manifest);
    const told = await read(config);
    const name = platformName(manifest.platform ?? told);
    if (platforms[name]) throw new Error(`${folder} has several images for ${name}`);
    platforms[name] = { manifest, config, layers, labels: told.config?.Labels ?? {} };
  }
  return { root, platforms, path };
}

/** Every arm64 is of the variant v8, and an engine does not say so. */
const platformName = ({ os, architecture, variant }: NonNullable<Descriptor['platform']>): string =>
  [os, architecture, ...(variant && architecture !== 'arm64' ? [variant] : [])].join('/');

export const sha256 = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Of a file that may be large. */
export async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
