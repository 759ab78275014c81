// Makes a program that needs no Node, of the client's one file and a Node for the machine that is meant, by Node's own way
// (https://nodejs.org/api/single-executable-applications.html): executable.ts SVC.MJS NODE OUT
// The Node that runs this has to be of the same version. The same files give the same bytes.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const [client, node, out] = process.argv.slice(2);
if (client === undefined || node === undefined || out === undefined)
  throw new Error('usage: executable.ts SVC.MJS NODE OUT');

const postject = fileURLToPath(import.meta.resolve('postject/dist/cli.js'));
/** By which Node finds that something was put into it; the same in every build of it. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const work = await mkdtemp(`${out}.`);
// By names in this folder: the blob has that of its main file in it.
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: work });
try {
  await build({
    entryPoints: [client],
    outfile: join(work, 'main.cjs'),
    platform: 'node',
    target: 'node24',
    // What such a program begins with is CommonJS.
    format: 'cjs',
    define: { 'import.meta.url': '__filename' },
    bundle: true,
    minify: true,
    logLevel: 'warning',
  });
  const settings = { main: 'main.cjs', output: 'blob', disableExperimentalSEAWarning: true };
  await writeFile(join(work, 'config.json'), JSON.stringify(settings));
  await run('--experimental-sea-config', 'config.json');
  await copyFile(node, join(work, 'made'));
  await chmod(join(work, 'made'), 0o755);
  await run(postject, 'made', 'NODE_SEA_BLOB', 'blob', '--sentinel-fuse', fuse);
  await rename(join(work, 'made'), out);
} finally {
  await rm(work, { recursive: true });
}
