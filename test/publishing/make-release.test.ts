import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkRelease } from '../../scripts/lib/release/check-release.ts';
import { readLayout } from '../../scripts/lib/release/layout.ts';
import { makeRelease, type Recipe } from '../../scripts/lib/release/make-release.ts';
import { publisher } from '../../scripts/lib/release/sign.ts';
import { assemble, type Image, layer, sha256 } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { writeLayout } from './layouts.ts';

// docs/contract.md 3.22: scripts/release makes a release of images and files, and checks it as its readers do.

const anna = publisher();

/** An image for the platforms, each with its own layer and a shared layer. */
function imageFor(
  platforms: readonly string[],
  said = '',
  labels: readonly Readonly<Record<string, string>>[] = [],
): Image {
  const images = platforms.map((platform, at) =>
    assemble(
      [
        layer([{ name: 'both', kind: 'file', content: `for all${said}` }]),
        layer([{ name: 'own', kind: 'file', content: platform }]),
      ],
      { Labels: labels[at] ?? {} },
      [platform],
    ),
  );
  const manifests = images.map(({ manifest }, at) => {
    const [os, architecture] = (platforms[at] ?? '').split('/');
    const digest = sha256(manifest.bytes);
    return {
      mediaType: manifest.mediaType,
      digest,
      size: manifest.bytes.length,
      platform: { os, architecture },
    };
  });
  const attestation = { ...manifests[0], platform: { os: 'unknown', architecture: 'unknown' } };
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const index = { schemaVersion: 2, mediaType, manifests: [...manifests, attestation] };
  const blobs = images.flatMap(({ blobs, manifest: { bytes } }) => [
    ...blobs,
    { digest: sha256(bytes), bytes },
  ]);
  return { blobs, manifest: { mediaType, bytes: Buffer.from(JSON.stringify(index)) }, platforms: undefined };
}

const both = ['linux/amd64', 'linux/arm64'];
const facts = { product: 'svc', version: 'v1.5.0', channel: 'stable' } as const;

/** A folder with a layout, the files of a release, and the recipe. */
async function prepared(images: Record<string, Image> = { 'v1.5.0': imageFor(both) }) {
  const folder = await temporaryDirectory();
  const layout = join(folder, 'images');
  await writeLayout(layout, images);
  const assets = join(folder, 'assets');
  await mkdir(assets);
  await writeFile(join(assets, 'svc.mjs'), 'console.log(1)');
  await writeFile(join(assets, 'compose.yaml'), 'services: {}\n');
  const reference = 'ghcr.io/acme/svc:v1.5.0';
  const recipe: Recipe = {
    ...{ ...facts, publishedAt: '2026-11-20T08:00:00Z', requires: 'v1.1.0' },
    images: { 'ghcr.io/acme/svc': { reference, layout, tag: 'v1.5.0' } },
  };
  return { folder, layout, assets, recipe };
}

const sign = (file: Buffer) => anna.sign(file);
const trust = { keys: [anna.key] };

test('makeRelease describes images and files in release.json, and checkRelease accepts the release', async () => {
  const { assets, recipe, layout } = await prepared();
  await makeRelease(recipe, assets, sign, { archives: true });
  const told = await checkRelease(assets, trust, facts);

  const { root, platforms } = await readLayout(layout);
  expect(Object.keys(platforms)).toEqual(both);
  const { manifest, config, layers = [] } = platforms['linux/arm64'] ?? {};
  const sizes = Object.fromEntries(layers.map(({ digest, size }) => [digest, size]));
  expect(Object.keys(sizes)).toHaveLength(2);
  expect(told).toMatchObject({
    ...{ format: 1, ...facts, requires: 'v1.1.0' },
    files: { 'svc.mjs': sha256(Buffer.from('console.log(1)')) },
    images: {
      'ghcr.io/acme/svc': {
        digest: root.digest,
        platforms: {
          'linux/arm64': { manifest: manifest?.digest, config: config?.digest, layers: sizes },
        },
      },
    },
  });
  expect((await readdir(assets)).sort()).toEqual([
    ...['SHA256SUMS', 'compose.yaml', 'release.json', 'release.json.sigstore.json'],
    ...['svc-v1.5.0-linux-amd64.tar', 'svc-v1.5.0-linux-arm64.tar', 'svc.mjs'],
  ]);
  expect(String(await readFile(join(assets, 'release.json')))).toMatch(/^\{\n {2}"channel": "stable",\n/);
});

const at = (assets: string, name: string) => join(assets, name);
const amd64 = 'svc-v1.5.0-linux-amd64.tar';
/** Changes a file and its checksum, as an attacker would. */
async function changed(assets: string, name: string, change: (bytes: Buffer) => unknown): Promise<void> {
  const bytes = await readFile(at(assets, name));
  change(bytes);
  await writeFile(at(assets, name), bytes);
  const sums = await readFile(at(assets, 'SHA256SUMS'), 'utf8');
  const sum = sha256(bytes).replace('sha256:', '');
  const line = new RegExp(`^.{64}(?=  ${name}$)`, 'm');
  await writeFile(at(assets, 'SHA256SUMS'), sums.replace(line, sum));
}

test.for<[what: string, change: (assets: string) => Promise<unknown>, says: string]>([
  [
    'a file',
    (assets) => changed(assets, 'svc.mjs', (bytes) => bytes.write('evil')),
    'svc.mjs is not what was',
  ],
  [
    'the sums',
    (assets) => writeFile(at(assets, 'SHA256SUMS'), `${'0'.repeat(64)}  svc.mjs\n`),
    'svc.mjs: FAILED',
  ],
  [
    'an archive of another platform under this name',
    async (assets) => {
      const other = await readFile(at(assets, 'svc-v1.5.0-linux-arm64.tar'));
      await writeFile(at(assets, amd64), other);
      await changed(assets, amd64, () => {});
    },
    'it has no ghcr.io/acme/svc',
  ],
])('checkRelease rejects a release after a change: %s', async ([, change, says]) => {
  const { recipe, assets } = await prepared();
  await makeRelease(recipe, assets, sign, { archives: true });
  await change(assets);
  await expect(checkRelease(assets, trust, facts)).rejects.toThrow(new RegExp(says));
});

const setting = { name: 'SMTP_HOST', description: 'Mail server', required: true };
const labelled = (text: string, name = 'svc.settings') => ({ [name]: text });

test.for<[situation: string, labels: Record<string, string>[], labelPrefix: string | undefined]>([
  ['the label of the product', both.map(() => labelled(JSON.stringify([setting]))), undefined],
  ['another prefix', both.map(() => labelled(JSON.stringify([setting]), 'org.acme.settings')), 'org.acme'],
])('a release lists the settings found in its images by %s', async ([, labels, labelPrefix]) => {
  const { assets, recipe } = await prepared({ 'v1.5.0': imageFor(both, '', labels) });
  const given = { ...recipe, ...(labelPrefix !== undefined && { labelPrefix }) };
  await makeRelease(given, assets, sign, { archives: false });
  const { settings } = await checkRelease(assets, trust, facts);
  expect(settings).toEqual([{ ...setting, secret: false }]);
});

test.for<[situation: string, labels: Record<string, string>[], says: string]>([
  [
    'is no JSON',
    both.map(() => labelled('SMTP_HOST')),
    'the label svc.settings is not valid: Unexpected token',
  ],
  [
    'has a reserved name',
    both.map(() => labelled(JSON.stringify([{ ...setting, name: 'DOCKER_HOST' }]))),
    'the label svc.settings is not valid: ✖ is reserved',
  ],
  [
    'differs between the platforms',
    [labelled('[]'), labelled(JSON.stringify([setting]))],
    'the label svc.settings differs between',
  ],
])('makeRelease signs nothing if the settings label %s', async ([, labels, says]) => {
  const { assets, recipe } = await prepared({ 'v1.5.0': imageFor(both, '', labels) });
  const refuse = () => Promise.reject(new Error('it was signed'));
  await expect(makeRelease(recipe, assets, refuse, { archives: false })).rejects.toThrow(says);
});

test('makeRelease rejects an invalid version, and an image that is missing, ambiguous, untagged or damaged', async () => {
  const made = await prepared({ 'v1.5.0': imageFor(both), 'v1.4.0': imageFor(both, '!') });
  const name = 'ghcr.io/acme/svc';
  const image = made.recipe.images[name] ?? { reference: '', layout: '' };
  const making = (change: Partial<typeof image>, more: Partial<Recipe> = {}) =>
    makeRelease({ ...made.recipe, images: { [name]: { ...image, ...change } }, ...more }, made.assets, sign, {
      archives: true,
    });
  await expect(making({ tag: 'v9.0.0' })).rejects.toThrow('has no image v9.0.0');
  await expect(
    makeRelease(
      { ...made.recipe, images: { [name]: { reference: image.reference, layout: image.layout } } },
      made.assets,
      sign,
      { archives: false },
    ),
  ).rejects.toThrow('has several images: say which');
  await expect(making({ reference: name })).rejects.toThrow('ghcr.io/acme/svc has no tag');
  await expect(making({}, { version: 'a version' })).rejects.toThrow(
    'version may contain only letters, digits, dots, hyphens and underscores',
  );
  const { platforms, path } = await readLayout(made.layout, 'v1.5.0');
  await writeFile(path(platforms['linux/amd64']?.layers[0]?.digest ?? ''), 'cut');
  await expect(making({})).rejects.toThrow('is not what its name says');
});
