import { type ReleaseFile, readReleaseFile } from '../../../src/provenance/release-file.ts';
import type { LayoutImage } from './layout.ts';

/** What only its publisher knows of a release. */
export type Facts = Pick<ReleaseFile, 'product' | 'version' | 'channel' | 'publishedAt' | 'requires'>;

export interface DescribedImage {
  /** `ghcr.io/acme/svc:v1.5.0` */
  reference: string;
  image: LayoutImage;
}

/**
 * The bytes of `release.json`: the same for the same facts, however they came together.
 * @param images by service or repository @param files hashes by name
 * @throws Error where a reader would not take it
 */
export function describe(
  { product, version, channel, publishedAt, requires }: Facts,
  images: Readonly<Record<string, DescribedImage>>,
  files: Readonly<Record<string, string>>,
): Buffer {
  const told = Object.entries(images).map(([name, { reference, image }]) => {
    const platforms = Object.entries(image.platforms).map(
      ([platform, { manifest, config }]) =>
        [platform, { manifest: manifest.digest, config: config.digest }] as const,
    );
    return [
      name,
      { reference, digest: image.root.digest, platforms: Object.fromEntries(platforms) },
    ] as const;
  });
  const bytes = canonical({
    ...{ format: 1, product, version, channel, publishedAt, requires: requires ?? null },
    ...{ images: Object.fromEntries(told), files },
  });
  readReleaseFile(bytes);
  return bytes;
}

/** JSON with its keys in order. */
export function canonical(value: object): Buffer {
  const sorted = (_: string, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return Buffer.from(`${JSON.stringify(value, sorted, 2)}\n`);
}
