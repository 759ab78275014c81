import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TarEntry } from '../tar.ts';

/** Globals that CommonJS dependencies expect, and that ESM lacks. */
const banner = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const { filename: __filename, dirname: __dirname } = import.meta;`;

/** Bundles a TypeScript program into one file that only needs Node. */
export async function bundle(entry: URL): Promise<Buffer> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    banner: { js: banner },
    // The PostgreSQL pool uses the native driver only on request.
    external: ['pg-native'],
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild wrote nothing');
  return Buffer.from(file.contents);
}

/** The server in one file, and the script that starts it. */
export async function serverFiles(): Promise<TarEntry[]> {
  const entry = await readFile(new URL('server-entry.sh', import.meta.url));
  return [
    { name: 'srv/server.mjs', kind: 'file', content: await bundle(new URL('main.ts', import.meta.url)) },
    { name: 'bin/server-entry.sh', kind: 'file', mode: 0o755, content: entry },
  ];
}
