import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const folder = new URL('examples/', import.meta.url);

it.each(await readdir(folder))('docs/server-library.md shows examples/%s as it is', async (name) => {
  const page = await readFile(new URL('../docs/server-library.md', import.meta.url), 'utf8');
  const example = await readFile(new URL(name, folder), 'utf8');
  expect([...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)).toContain(example);
});
