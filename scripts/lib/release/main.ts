// Makes, signs and checks what is attached to a release:
//   main.ts RECIPE OUT [--key FILE | --keyless] [--trust FILE] [--bundle] [--channel-file FILE]
//   RECIPE     JSON: product, version, channel, publishedAt, requires, labelPrefix; images by service or repository, each with
//              its reference and its OCI layout, a folder beside the recipe
//   OUT        OUT/assets has the release's own files, and gets the others
//   --key      a private key in PEM; without it and without --keyless, one is made and thrown away
//   --keyless  cosign signs, as the workflow that calls this
//   --trust    what the result is checked with: who may sign, as the updater's --trust; by default the key
//   --bundle   an archive for each platform
//   --channel-file  the product's current channel file, which is renewed; without it, a first one is made
// OUT/publisher.pem is the public key.
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type ChannelFile, isRecalled } from '../../../src/provenance/channel-file.ts';
import { changeChannel, describeChange, firstChannelFile, usualDays } from './change-channel.ts';
import { readCurrent, writeChannel } from './channel-files.ts';
import { checkRelease } from './check-release.ts';
import { makeRelease, type Recipe } from './make-release.ts';
import { publisher } from './sign.ts';
import { type Sign, signAsWorkflow, signerWith, trustOf } from './signer.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    key: { type: 'string' },
    trust: { type: 'string' },
    keyless: { type: 'boolean', default: false },
    bundle: { type: 'boolean', default: false },
    'channel-file': { type: 'string' },
  },
});
const [recipeFile, out] = positionals;
if (recipeFile === undefined || out === undefined || positionals.length !== 2)
  throw new Error(
    'usage: main.ts RECIPE OUT [--key FILE | --keyless] [--trust FILE] [--bundle] [--channel-file FILE]',
  );

const recipe: Recipe = JSON.parse(await readFile(recipeFile, 'utf8'));
for (const image of Object.values(recipe.images)) image.layout = resolve(dirname(recipeFile), image.layout);
const assets = join(out, 'assets');
const { sign, key } = await signer();
const trust = await trustOf(values.trust, key);
const channelFile = await renewedChannelFile();
await makeRelease(recipe, assets, sign, { archives: values.bundle });
// Not in SHA256SUMS, because scripts/publisher makes newer ones for the same release.
await writeChannel(assets, channelFile, sign, trust);
if (key !== null) await writeFile(join(out, 'publisher.pem'), key);

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

/** Says again what the current channel file says; without one, nothing. */
async function renewedChannelFile(): Promise<ChannelFile> {
  const { product, version, channel } = recipe;
  const path = values['channel-file'];
  // A key that was made for a trial has signed no current file.
  const isTrial = values.trust === undefined && values.key === undefined;
  const current = path === undefined ? null : await readCurrent(path, isTrial ? null : trust);
  if (current !== null && (current.product !== product || current.channel !== channel))
    throw new Error(`${path} is for ${current.product} (${current.channel}), not ${product} (${channel})`);
  if (current !== null && isRecalled(current, version)) throw new Error(`${path} recalls ${version}`);
  const validity = { now: new Date(), days: usualDays };
  const next = changeChannel(current ?? firstChannelFile(product, channel), { name: 'renew' }, validity);
  if (current === null)
    console.log('channel.json: a first one without recalls; --channel-file FILE renews the current one');
  for (const line of describeChange(current, next)) console.log(`channel.json: ${line}`);
  return next;
}
