import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ArchiveContent, writeArchive } from './archive.ts';
import { channelNames } from './channel-files.ts';
import { type DescribedImage, describe, type Facts } from './describe.ts';
import { readLayout, sumOf } from './layout.ts';
import type { Sign } from './signer.ts';

/** What a release is made of. */
export interface Recipe extends Facts {
  /** By service or repository. */
  images: Record<string, { reference: string; layout: string; tag?: string }>;
}

/** What says and proves what a release is, and what is left for whoever has only its files. */
export const proofNames = ['release.json', 'release.json.sigstore.json', 'SHA256SUMS'] as const;

/**
 * Makes all that is attached to a release, in a folder that has the release's own files already: `release.json`, its bundle, an
 * archive for each platform, and `SHA256SUMS`. What an earlier run has made there is made anew.
 * @param archives whether there are archives
 */
export async function makeRelease(
  recipe: Recipe,
  assets: string,
  sign: Sign,
  { archives }: { archives: boolean },
): Promise<void> {
  const images: Record<string, DescribedImage> = {};
  for (const [name, { reference, layout, tag }] of Object.entries(recipe.images))
    images[name] = { reference, image: await readLayout(layout, tag) };
  await mkdir(assets, { recursive: true });
  for (const name of await readdir(assets)) if (isMade(name, recipe)) await rm(join(assets, name));
  const names = (await readdir(assets)).sort();

  const files: Record<string, string> = {};
  for (const name of names) files[name] = `sha256:${await sumOf(join(assets, name))}`;
  const file = describe(recipe, images, files);
  const bundle = await sign(file);
  await writeFile(join(assets, 'release.json'), file);
  await writeFile(join(assets, 'release.json.sigstore.json'), bundle);

  if (archives) {
    const inside = Object.fromEntries(names.filter(isUpdaters).map((name) => [name, join(assets, name)]));
    const content: ArchiveContent = { file, bundle, files: inside, images: Object.values(images) };
    for (const platform of platformsOf(content.images))
      await writeArchive(join(assets, archiveName(recipe, platform)), content, platform);
  }
  await writeFile(join(assets, 'SHA256SUMS'), await sumsOf(assets));
}

/** What an update reads of a release's files; others would only make the archive larger. */
const isUpdaters = (name: string): boolean => /\.ya?ml$/.test(name);

/** `svc-v1.5.0-linux-amd64.tar` */
export const archiveName = ({ product, version }: Facts, platform: string): string =>
  `${product}-${version}-${platform.replaceAll('/', '-')}.tar`;

const isMade = (name: string, { product, version }: Facts): boolean =>
  [...proofNames, ...channelNames].some((made) => made === name) ||
  (name.startsWith(`${product}-${version}-`) && /\.tar(?:\.part)?$/.test(name));

/** Those that all of them are for. */
function platformsOf(images: readonly DescribedImage[]): string[] {
  const [first, ...others] = images.map(({ image }) => Object.keys(image.platforms).sort());
  const known = first ?? [];
  for (const other of others)
    if (other.join() !== known.join())
      throw new Error(`one image is for ${known.join(', ')}, another for ${other.join(', ')}`);
  return known;
}

/** As `sha256sum` writes and checks it. */
async function sumsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== 'SHA256SUMS').sort();
  const lines: string[] = [];
  for (const name of names) lines.push(`${await sumOf(join(folder, name))}  ${name}\n`);
  return lines.join('');
}
