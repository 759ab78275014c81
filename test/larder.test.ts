import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { createProduct } from '../src/core/names/product.ts';
import { product } from './larder/product.ts';

const folder = new URL('larder/', import.meta.url);
const read = (name: string) => readFile(new URL(name, folder), 'utf8');
const page = await readFile(new URL('../docs/larder.md', import.meta.url), 'utf8');
const files = await readdir(folder);

it('docs/larder.md contains exact copies of all files of larder', async () => {
  const shown = [...page.matchAll(/^```[a-z]+\n(.*?)^```$/gms)].map(([, code]) => code);
  expect(shown.sort()).toEqual((await Promise.all(files.map(read))).sort());
});

it('updater.Dockerfile and product.ts define the same product', async () => {
  const [, record = ''] = /SVC_UPDATER_PRODUCT='(.*)'/.exec(await read('updater.Dockerfile')) ?? [];
  expect(createProduct({ ...JSON.parse(record), feed: product.feed })).toEqual(createProduct(product));
});

it('the files of larder use the names of the product', async () => {
  const { marker, releaseDirectory, versionVariable, services } = createProduct(product);
  const compose = await read('compose.yaml');
  expect(compose.split('\n')[0]).toBe(marker);
  expect(compose).toContain(`\${${versionVariable}:?}`);
  expect([...compose.matchAll(/^ {2}(\w+):$/gm)].map(([, name]) => name)).toEqual(services);
  expect(await read('Dockerfile')).toContain(`COPY compose.yaml ${releaseDirectory}/\n`);
});

it('docs/larder.md lists the correct defaults', () => {
  const { versionVariable, marker, releaseDirectory, containerName, labelPrefix } = createProduct(product);
  const defaults = { versionVariable, marker, releaseDirectory, containerName, labelPrefix };
  for (const [field, value] of Object.entries(defaults))
    expect(page).toMatch(new RegExp(`^\\| \`${field}\` \\| .* \\| \`${value}\` \\|$`, 'm'));
});
