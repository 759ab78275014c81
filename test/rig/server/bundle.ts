import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TarEntry } from '../tar.ts';

/** What CommonJS dependencies expect of their module, which ESM does not have. */
const banner = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const { filename: __filename, dirname: __dirname } = import.meta;`;

/** A program of TypeScript in one file that needs Node alone. */
export async function bundle(entry: URL): Promise<Buffer> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    banner: { js: banner },
    // A pool of connections to PostgreSQL takes the native driver only where somebody asks for it.
    external: ['pg-native'],
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild wrote nothing');
  return Buffer.from(file.contents);
}

/** The server in one file, and what starts it. */
export async function serverFiles(): Promise<TarEntry[]> {
  const entry = await readFile(new URL('server-entry.sh', import.meta.url));
  return [
    { name: 'srv/server.mjs', kind: 'file', content: await bundle(new URL('main.ts', import.meta.url)) },
    { name: 'bin/server-entry.sh', kind: 'file', mode: 0o755, content: entry },
  ];
}
