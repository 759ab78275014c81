// Makes, signs and checks what is attached to a release: main.ts RECIPE OUT [--key FILE | --keyless] [--trust FILE] [--bundle]
//   RECIPE     JSON: product, version, channel, publishedAt, requires; images by service or repository, each with its reference
//              and its OCI layout, a folder beside the recipe
//   OUT        OUT/assets has the release's own files, and gets the others
//   --key      a private key in PEM; without it and without --keyless, one is made and thrown away
//   --keyless  cosign signs, as the workflow that calls this
//   --trust    what the result is checked with: who may sign, as the updater's --trust; by default the key
//   --bundle   an archive for each platform
// OUT/publisher.pem is the public key.
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readTrust, type Trust } from '../../../src/provenance/trust.ts';
import { checkRelease } from './check-release.ts';
import { makeRelease, type Recipe } from './make-release.ts';
import { publisher } from './sign.ts';
import { type Sign, signAsWorkflow, signerWith } from './signer.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    key: { type: 'string' },
    trust: { type: 'string' },
    keyless: { type: 'boolean', default: false },
    bundle: { type: 'boolean', default: false },
  },
});
const [recipeFile, out] = positionals;
if (recipeFile === undefined || out === undefined || positionals.length !== 2)
  throw new Error('usage: main.ts RECIPE OUT [--key FILE | --keyless] [--trust FILE] [--bundle]');

const recipe: Recipe = JSON.parse(await readFile(recipeFile, 'utf8'));
for (const image of Object.values(recipe.images)) image.layout = resolve(dirname(recipeFile), image.layout);
const assets = join(out, 'assets');
const { sign, key } = await signer();
await makeRelease(recipe, assets, sign, { archives: values.bundle });
if (key !== null) await writeFile(join(out, 'publisher.pem'), key);

const trust: Trust | null =
  values.trust === undefined
    ? key === null
      ? null
      : { keys: [key] }
    : readTrust(await readFile(values.trust, 'utf8'));
if (trust === null) console.log('signed, and not checked: --trust says who may sign without a key');
else {
  const { images, files } = await checkRelease(assets, trust, recipe);
  const [imageCount, fileCount] = [images, files].map((each) => Object.keys(each).length);
  console.log(
    `${recipe.product} ${recipe.version}: signed and checked, images: ${imageCount}, files: ${fileCount}`,
  );
}

async function signer(): Promise<{ sign: Sign; key: string | null }> {
  if (values.keyless) return { sign: signAsWorkflow, key: null };
  return values.key === undefined ? publisher() : signerWith(values.key);
}
