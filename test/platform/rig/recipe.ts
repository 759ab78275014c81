import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recipe } from '../../../scripts/lib/release/make-release.ts';
import { writeLayout } from '../../publishing/layouts.ts';
import { composeOf, type PlatformRelease } from '../releases.ts';
import { buildRelease } from './images.ts';

/**
 * Writes the input of `scripts/release --recipe` for a release of the platform to a folder. Returns the path of the recipe.
 * @param image its repository, registry included @param key the public key of its publisher
 */
export async function writeRecipe(
  folder: string,
  release: PlatformRelease,
  { image, key }: { image: string; key: string },
): Promise<string> {
  const { version, requires } = release;
  await writeLayout(join(folder, 'images'), { [version]: await buildRelease(release, key) });
  await mkdir(join(folder, 'files'), { recursive: true });
  await writeFile(join(folder, 'files/compose.yaml'), await composeOf(release));
  const recipe: Recipe = {
    ...{ product: 'svc', version, channel: version.includes('-') ? 'canary' : 'stable', requires },
    publishedAt: new Date().toISOString(),
    images: { [image]: { reference: `${image}:${version}`, layout: 'images' } },
  };
  await writeFile(join(folder, 'recipe.json'), JSON.stringify(recipe));
  return join(folder, 'recipe.json');
}
