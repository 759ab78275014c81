import { mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describeMachine, inPairs, report, timed } from './compare.ts';

/**
 * What scripts/bench runs for `import`: Node that imports the server library, beside Node that does nothing; and how large
 * the library is with what it installs.
 */

const pairs = Number(process.env.PAIRS ?? 40);
const root = fileURLToPath(new URL('../..', import.meta.url));

const directory = await mkdtemp(join(tmpdir(), 'svc-updater-import-'));
try {
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  await execa(process.execPath, [join(root, 'scripts/build.mjs'), join(directory, 'dist')]);
  const library = join(directory, 'dist/instance');
  // All that whoever installs the library has besides.
  const installed = join(root, 'node_modules/semver');
  await mkdir(join(directory, 'node_modules'));
  await symlink(installed, join(directory, 'node_modules/semver'));
  const node = (code: string) => () =>
    timed(() => execa(process.execPath, ['--input-type=module', '--eval', code]));
  const { ours, theirs } = await inPairs(pairs, {
    ours: node(`import ${JSON.stringify(join(library, 'index.mjs'))};`),
    theirs: node(''),
  });
  // At most as long again.
  report([{ figure: 'import of the library', against: 'Node alone', unit: 'ms', reach: 2, ours, theirs }]);
  const bytes = (await sizeOf(library)) + (await sizeOf(installed));
  console.log(`The library with what it installs is ${(bytes / 1_000_000).toFixed(2)} MB of at most 1 MB.`);
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}
