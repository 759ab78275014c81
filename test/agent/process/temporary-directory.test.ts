import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { chooseTemporaryDirectory } from '../../../src/agent/process/temporary-directory.ts';

let root = '';
const { TMPDIR } = process.env;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'temporary-'));
});
afterEach(() => {
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  return rm(root, { recursive: true, force: true });
});

// A root that is read-only takes a container: the end-to-end tests have one.
it('stays with a directory that can be written, and leaves nothing in it', async () => {
  process.env.TMPDIR = root;
  await chooseTemporaryDirectory();
  expect(process.env.TMPDIR).toBe(root);
  expect(await readdir(root)).toEqual([]);
});

it.each<[string, string, string]>([['is not there', 'gone', 'ENOENT']])(
  'does not go elsewhere for another reason: a directory that %s',
  async (_, name, code) => {
    await writeFile(join(root, 'file'), '');
    process.env.TMPDIR = join(root, name);
    await expect(chooseTemporaryDirectory()).rejects.toThrow(code);
    expect(process.env.TMPDIR).toBe(join(root, name));
  },
);
