// Bundles what runs without node_modules into dist/: one file per entry of `bundles`, and beside it the licenses of the
// packages that went into it.
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url);
const { version } = JSON.parse(await readFile(new URL('package.json', root), 'utf8'));

const bundles = [{ entry: 'src/agent/main.ts', out: 'dist/agent.mjs', limit: 600_000 }];

/** For Node 22 and later. CommonJS dependencies inside call `require` for Node's own modules, which ESM does not have. */
const forNode = {
  platform: 'node',
  target: 'node22',
  format: 'esm',
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
};

await mkdir(new URL('dist', root), { recursive: true });

for (const { entry, out, limit } of bundles) {
  const { metafile } = await build({
    ...forNode,
    absWorkingDir: fileURLToPath(root),
    entryPoints: [entry],
    outfile: out,
    bundle: true,
    // Names stay: an operator's stack trace has to mean something to us.
    minify: true,
    keepNames: true,
    define: { 'process.env.SVC_UPDATER_BUILD_VERSION': JSON.stringify(version) },
    // The whole licenses go into a file of their own.
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  await writeFile(new URL(out.replace(/\.mjs$/, '.licenses.txt'), root), await licensesOf(metafile));
  const { size } = await stat(new URL(out, root));
  console.log(`${out}  ${(size / 1000).toFixed(0)} KB of at most ${limit / 1000} KB`);
  if (size > limit) {
    console.error(`build: ${out} is ${size} bytes, which is more than ${limit}`);
    process.exitCode = 1;
  }
}

/** The license files of the packages in a bundle, one after the other, sorted by package. */
async function licensesOf({ inputs }) {
  const folders = new Set(
    Object.keys(inputs).flatMap((file) => file.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const base = new URL(`${folder}/`, root);
    const { name, version, license } = JSON.parse(await readFile(new URL('package.json', base), 'utf8'));
    const files = (await readdir(base)).filter((file) => /^(license|licence|notice)/i.test(file));
    const bodies = await Promise.all(files.map((file) => readFile(new URL(file, base), 'utf8')));
    return [`${name} ${version} (${license})`, ...bodies.map((body) => body.trim())].join('\n\n');
  });
  return `${(await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
