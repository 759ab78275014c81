import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const folder = new URL('examples/', import.meta.url);

it.each(await readdir(folder))('the README shows examples/%s as it is', async (name) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const example = await readFile(new URL(name, folder), 'utf8');
  expect([...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)).toContain(example);
});
