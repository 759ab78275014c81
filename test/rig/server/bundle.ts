import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TarEntry } from '../tar.ts';

/** What CommonJS dependencies expect of their module, which ESM does not have. */
const banner = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const { filename: __filename, dirname: __dirname } = import.meta;`;

/** The server in one file that needs Node alone, and what starts it. */
export async function serverFiles(): Promise<TarEntry[]> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('main.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    banner: { js: banner },
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const [bundle] = outputFiles;
  if (bundle === undefined) throw new Error('esbuild wrote nothing');
  const entry = await readFile(new URL('server-entry.sh', import.meta.url));
  return [
    { name: 'srv/server.mjs', kind: 'file', content: Buffer.from(bundle.contents) },
    { name: 'bin/server-entry.sh', kind: 'file', mode: 0o755, content: entry },
  ];
}
