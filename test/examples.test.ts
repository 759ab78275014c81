import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const folder = new URL('examples/', import.meta.url);
const read = (name: string) => readFile(new URL(name, folder), 'utf8');

it.each(await readdir(folder))(
  'docs/server-library.md contains an exact copy of examples/%s',
  async (name) => {
    const page = await readFile(new URL('../docs/server-library.md', import.meta.url), 'utf8');
    expect([...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)).toContain(await read(name));
  },
);

it('plain-node.ts has at most 40 lines and imports no other package', async () => {
  const example = await read('plain-node.ts');
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  const names = [...example.matchAll(/\bfrom '([^']+)'/g)].map(([, name = '']) => name);
  expect(names.filter((name) => !name.startsWith('node:'))).toEqual(['svc-updater/instance']);
});
