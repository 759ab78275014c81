// Builds a release: build.mjs VERSION
import { createHash } from 'node:crypto';
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [version] = process.argv.slice(2);
const require = `import { createRequire } from 'node:module';const require = createRequire(import.meta.url);`;
const node = { bundle: true, platform: 'node', format: 'esm', outExtension: { '.js': '.mjs' } };

await build({ ...node, entryPoints: ['web.ts', 'jobs.ts'], outdir: 'dist', banner: { js: require } });
await build({
  ...node,
  entryPoints: { larder: 'client.ts' },
  outdir: 'dist',
  banner: { js: `#!/usr/bin/env node\n${require}` },
  define: { 'process.env.BUILD_VERSION': JSON.stringify(version) },
});
await chmod('dist/larder.mjs', 0o755);
await copyFile(fileURLToPath(import.meta.resolve('svc-updater/web')), 'dist/elements.mjs');

// Published next to larder.mjs: the client requires its checksum.
const sum = createHash('sha256').update(await readFile('dist/larder.mjs'));
await writeFile('dist/SHA256SUMS', `${sum.digest('hex')}  larder.mjs\n`);
