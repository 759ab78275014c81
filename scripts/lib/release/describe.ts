import * as z from 'zod/mini';
import { releaseJsonLabelOf, svcProduct } from '../../../src/core/names/product.ts';
import { type ReleaseSetting, releaseSettingsSchema } from '../../../src/core/release/release-settings.ts';
import { parseReleaseFile, type ReleaseFile } from '../../../src/provenance/release-file.ts';
import type { LayoutImage } from './layout.ts';

/** What only its publisher knows of a release. */
export interface Facts
  extends Pick<ReleaseFile, 'product' | 'version' | 'channel' | 'publishedAt' | 'requires'> {
  /** The prefix of the product's labels; by default its name. */
  labelPrefix?: string;
}

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
  facts: Facts,
  images: Readonly<Record<string, DescribedImage>>,
  files: Readonly<Record<string, string>>,
): Buffer {
  const { product, version, channel, publishedAt, requires } = facts;
  const settings = settingsOf(facts, Object.values(images));
  const told = Object.entries(images).map(([name, { reference, image }]) => {
    const platforms = Object.entries(image.platforms).map(([platform, { manifest, config, layers }]) => {
      const sizes = Object.fromEntries(layers.map(({ digest, size }) => [digest, size]));
      return [platform, { manifest: manifest.digest, config: config.digest, layers: sizes }] as const;
    });
    return [
      name,
      { reference, digest: image.root.digest, platforms: Object.fromEntries(platforms) },
    ] as const;
  });
  const bytes = canonical({
    ...{ format: 1, product, version, channel, publishedAt, requires: requires ?? null },
    ...{ images: Object.fromEntries(told), files },
    ...(settings !== null && { settings }),
  });
  parseReleaseFile(bytes);
  return bytes;
}

/** The settings that the label of the images lists; null without one. @throws Error if the label is not valid */
function settingsOf(
  { product, labelPrefix = product }: Facts,
  images: readonly DescribedImage[],
): ReleaseSetting[] | null {
  const name = releaseJsonLabelOf({ ...svcProduct, labelPrefix }, 'settings');
  const all = images.flatMap(({ image }) => Object.values(image.platforms));
  const [text, other] = new Set(all.flatMap(({ labels }) => labels[name] ?? []));
  if (text === undefined) return null;
  if (other !== undefined) throw new Error(`the label ${name} differs between the images or platforms`);
  try {
    return z.parse(releaseSettingsSchema, JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.core.$ZodError ? z.prettifyError(cause) : (cause as Error).message;
    throw new Error(`the label ${name} is not valid: ${why}`, { cause });
  }
}

/** JSON with its keys in order. */
export function canonical(value: object): Buffer {
  const sorted = (_: string, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return Buffer.from(`${JSON.stringify(value, sorted, 2)}\n`);
}
