// Builds what is published into dist/, or into the directory that is named: build.mjs [DIRECTORY]
//   agent.mjs               the agent for the image, without any need of node_modules; beside it the licenses of the
//                           packages that went into it
//   serve.mjs               the server library as a service, which the agent starts
//   agent-….mjs             chunks: code that both use, or that is loaded on demand
//   tools.mjs               what the agent runs in containers that have mounted what an app keeps
//   svc.mjs                 the command-line client as one file that can be executed; beside it the licenses likewise. Where
//                           `svc update` looks for releases, and whose it takes, is built in: SVC_UPDATER_BUILD_FEED and
//                           SVC_UPDATER_BUILD_TRUST (the text of a trust file) in the environment
//   client/index.mjs        what makes the client of another product, and what it depends on outside
//   client/types            its declarations
//   instance/index.mjs      the library for a server, readable; what it depends on stays outside, and the licenses of what
//                           went into it are beside it
//   instance/testing.mjs    the same played from a script
//   instance/….cjs          both for CommonJS, so that Jest can load them, too
//   instance/types          its declarations
//   instance/openapi.json   its endpoints
//   web/index.mjs           the elements for a page, in one file
//   web/types               their declarations, and those for JSX
//   web/custom-elements.json  the manifest of the elements, for editors and other tools
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { writeCommonJsTypes, writeTypes } from './lib/types.mjs';
import { bundleElements } from './lib/web-bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

const feed = process.env.SVC_UPDATER_BUILD_FEED ?? '';
const { protocol = '', username, password } = URL.parse(feed) ?? {};
// What is built in is in everybody's hands.
if (feed !== '' && (!/^https?:$/.test(protocol) || username || password))
  throw new Error('SVC_UPDATER_BUILD_FEED has to be a web address without a login');

const trust = process.env.SVC_UPDATER_BUILD_TRUST ?? '';

/** For Node 22 and later. */
const forNode = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  // Shorter, with the same names and lines of statements: stack traces stay readable.
  minifySyntax: true,
  define: { 'process.env.SVC_UPDATER_BUILD_VERSION': JSON.stringify(version) },
  // The whole licenses go into a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
};

if (trust !== '') {
  const { parseTrust } = await moduleOf('src/provenance/trust.ts');
  try {
    parseTrust(trust);
  } catch ({ message }) {
    throw new Error(`SVC_UPDATER_BUILD_TRUST has to be the text of a trust file: ${message}`);
  }
}

await mkdir(out, { recursive: true });
await buildAgent();
await buildClient();
await buildLibrary();
await buildElements();

async function buildAgent() {
  // An earlier build may have left chunks with other names.
  for (const file of await readdir(out)) if (/^agent-.*\.mjs$/.test(file)) await rm(join(out, file));
  const { metafile } = await build({
    ...forNode,
    entryPoints: { agent: 'src/updater/commands/main.ts', serve: 'src/server/serve/serve-command.ts' },
    outdir: out,
    outExtension: { '.js': '.mjs' },
    // Code that few runs need, such as the verification of signatures, is loaded on demand.
    splitting: true,
    chunkNames: 'agent-[name]-[hash]',
    // Pino's transports run in threads of their own, from files that a bundle does not have: none is used.
    alias: { 'thread-stream': './scripts/lib/no-threads.cjs' },
    // CommonJS dependencies inside call `require` for Node's own modules, which ESM does not have.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    // Names stay: an operator's stack trace has to mean something to us.
    minify: true,
    keepNames: true,
    metafile: true,
  });
  await writeFile(join(out, 'agent.licenses.txt'), await licensesOf(metafile));
  judge('agent.mjs with its static imports', bytesAtStart(metafile, 'agent.mjs'), 820_000);
  judge('serve.mjs with its static imports', bytesAtStart(metafile, 'serve.mjs'), 420_000);
  const sizes = Object.values(metafile.outputs).map(({ bytes }) => bytes);
  judge(
    'agent.mjs, serve.mjs and all chunks',
    sizes.reduce((sum, size) => sum + size),
    1_215_000,
  );

  await build({
    ...forNode,
    entryPoints: ['src/updater/data/helper-program/main.ts'],
    outfile: join(out, 'tools.mjs'),
    minify: true,
    keepNames: true,
  });
  await weigh('tools.mjs', 20_000);
}

async function buildClient() {
  const { metafile } = await build({
    ...forNode,
    define: {
      ...forNode.define,
      // Also where there is none: what it is built with decides, not what it is run with.
      'process.env.SVC_UPDATER_BUILD_FEED': feed === '' ? 'undefined' : JSON.stringify(feed),
      'process.env.SVC_UPDATER_BUILD_TRUST': trust === '' ? 'undefined' : JSON.stringify(trust),
    },
    entryPoints: ['src/client/main.ts'],
    outfile: join(out, 'svc.mjs'),
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    minify: true,
    keepNames: true,
    metafile: true,
  });
  await chmod(join(out, 'svc.mjs'), 0o755);
  await writeFile(join(out, 'svc.licenses.txt'), await licensesOf(metafile));
  await weigh('svc.mjs', 400_000);

  // What an earlier build left there would be published, too.
  await rm(join(out, 'client'), { recursive: true, force: true });
  const library = await build({
    ...forNode,
    entryPoints: ['src/client/create-client.ts'],
    outfile: join(out, 'client/index.mjs'),
    external: Object.keys(dependencies),
    metafile: true,
  });
  await writeFile(join(out, 'client/licenses.txt'), await licensesOf(library.metafile));
  await writeTypes(['client/create-client'], join(out, 'client/types'), []);
  await writeCommonJsTypes(join(out, 'client/types/client/create-client'), exportsOf(library.metafile));
  await weigh('client/index.mjs', 400_000);
}

async function buildLibrary() {
  // What an earlier build left there would be published, too.
  await rm(join(out, 'instance'), { recursive: true, force: true });
  const options = {
    ...forNode,
    entryPoints: { index: 'src/server/index.ts', testing: 'src/server/testing/index.ts' },
    outdir: join(out, 'instance'),
    external: Object.keys(dependencies),
    metafile: true,
  };
  const { metafile } = await build({ ...options, outExtension: { '.js': '.mjs' } });
  // Jest cannot import anything, not even on demand.
  const commonJs = { format: 'cjs', supported: { 'dynamic-import': false } };
  await build({ ...options, ...commonJs, outExtension: { '.js': '.cjs' } });
  await writeFile(join(out, 'instance/licenses.txt'), await licensesOf(metafile));
  // Whoever uses the library has no types but its own.
  await writeTypes(['server/index', 'server/testing/index'], join(out, 'instance/types'), []);
  const types = join(out, 'instance/types/server');
  await writeCommonJsTypes(join(types, 'index'), exportsOf(metafile, 'index.mjs'));
  await writeCommonJsTypes(join(types, 'testing/index'), exportsOf(metafile, 'testing.mjs'));
  await writeFile(join(out, 'instance/openapi.json'), `${JSON.stringify(await openApi(), null, 2)}\n`);
  await weigh('instance/index.mjs', 510_000);
  await weigh('instance/testing.mjs', 250_000);
}

async function buildElements() {
  await rm(join(out, 'web'), { recursive: true, force: true });
  const { code, metafile } = await bundleElements();
  await mkdir(join(out, 'web'));
  await writeFile(join(out, 'web/index.mjs'), code);
  await writeTypes(['web/index', 'web/preact', 'web/react'], join(out, 'web/types'), ['preact', 'react']);
  await writeCommonJsTypes(join(out, 'web/types/web/index'), exportsOf(metafile));
  for (const name of ['preact', 'react']) await writeCommonJsTypes(join(out, `web/types/web/${name}`), []);
  const manifest = `${JSON.stringify(await elementsManifest(), null, 2)}\n`;
  await writeFile(join(out, 'web/custom-elements.json'), manifest);
  const { length } = gzipSync(await readFile(join(out, 'web/index.mjs')));
  judge('web/index.mjs, compressed', length, 35_000);
}

/** https://github.com/webcomponents/custom-elements-manifest */
async function elementsManifest() {
  const { tags, attributes, elementEvents } = await moduleOf('src/web/tags.ts');
  const path = 'dist/web/index.mjs';
  const classes = Object.entries(tags).map(([tagName, { description, attributes: names }]) => ({
    kind: 'class',
    // `svc-update-notice` is an SvcUpdateNotice.
    name: tagName.replace(/(?:^|-)([a-z])/g, (_, letter) => letter.toUpperCase()),
    description,
    superclass: { name: 'HTMLElement' },
    customElement: true,
    tagName,
    attributes: names.map((name) => ({
      name,
      description: attributes[name].description,
      type: { text: attributes[name].type },
    })),
    events: Object.entries(elementEvents).map(([name, text]) => ({
      name,
      description: text,
      type: { text: 'CustomEvent' },
    })),
  }));
  const exports = classes.flatMap(({ name, tagName }) =>
    [
      { kind: 'js', name },
      { kind: 'custom-element-definition', name: tagName },
    ].map((each) => ({ ...each, declaration: { name, module: path } })),
  );
  const modules = [{ kind: 'javascript-module', path, declarations: classes, exports }];
  return { schemaVersion: '1.0.0', modules };
}

async function openApi() {
  const { openApi } = await moduleOf('src/server/http/openapi.ts');
  return openApi('/api/v1/instance/update', version);
}

async function moduleOf(entry) {
  const { outputFiles } = await build({ ...forNode, entryPoints: [entry], write: false });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${code}`);
}

async function weigh(file, limit) {
  const { size } = await stat(join(out, file));
  judge(file, size, limit);
}

function judge(file, size, limit) {
  console.log(`${file}  ${(size / 1000).toFixed(0)} KB of at most ${limit / 1000} KB`);
  if (size <= limit) return;
  console.error(`build: ${file} is ${size} bytes, which is more than ${limit}`);
  process.exitCode = 1;
}

/** Names that a bundle exports. */
function exportsOf({ outputs }, name = 'index.mjs') {
  return Object.entries(outputs).find(([path]) => basename(path) === name)[1].exports;
}

/** Bytes that Node loads when it starts an entry point: the file and its static imports. */
function bytesAtStart({ outputs }, name) {
  const loaded = new Set([Object.keys(outputs).find((path) => basename(path) === name)]);
  for (const path of loaded)
    for (const { path: next, kind, external } of outputs[path].imports)
      if (kind === 'import-statement' && !external) loaded.add(next);
  return [...loaded].reduce((sum, path) => sum + outputs[path].bytes, 0);
}

/** The license files of the packages in a bundle, one after the other, sorted by package. */
async function licensesOf({ inputs }) {
  const folders = new Set(
    Object.keys(inputs).flatMap((file) => file.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const base = join(root, folder);
    const { name, version, license } = JSON.parse(await readFile(join(base, 'package.json'), 'utf8'));
    const files = (await readdir(base)).filter((file) => /^(license|licence|notice)/i.test(file));
    const bodies = await Promise.all(files.map((file) => readFile(join(base, file), 'utf8')));
    return [`${name} ${version} (${license})`, ...bodies.map((body) => body.trim())].join('\n\n');
  });
  return `${(await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
