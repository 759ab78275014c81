// Pushes the images of a recipe, as their layouts have them, so that a registry has what was signed: push.ts RECIPE
// A login is that of `docker login`. What a registry has already is not sent again.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Descriptor, type LayoutImage, readLayout } from './layout.ts';
import type { Recipe } from './make-release.ts';
import { Registry } from './registry.ts';

const [recipeFile = ''] = process.argv.slice(2);
const recipe: Recipe = JSON.parse(await readFile(recipeFile, 'utf8'));
for (const { reference, layout, tag } of Object.values(recipe.images)) {
  const [, host = '', repository = '', name = ''] = /^([^/]+)\/(.+):([\w.-]+)$/.exec(reference) ?? [];
  if (name === '') throw new Error(`${reference} is no REGISTRY/REPOSITORY:TAG`);
  const image = await readLayout(resolve(dirname(recipeFile), layout), tag);
  await pushImage(await Registry.at(host, repository), name, image);
  console.log(`pushed ${reference}  ${image.root.digest}`);
}

/** What refers to something after it, and the name last: nobody sees a half. */
async function pushImage(
  registry: Registry,
  name: string,
  { root, platforms, path }: LayoutImage,
): Promise<void> {
  const put = async (manifest: Descriptor, as: string) =>
    registry.putManifest(as, manifest.mediaType, await readFile(path(manifest.digest)));
  for (const { manifest, config, layers } of Object.values(platforms)) {
    for (const { digest, size } of [...layers, config]) await registry.putBlob(digest, size, path(digest));
    if (manifest.digest !== root.digest) await put(manifest, manifest.digest);
  }
  await put(root, name);
}
