import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { proofOf, startRig } from '../client/self-update/rig.ts';
import { publisher } from '../provenance/sign.ts';
import { startRegistry } from './registry.ts';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

const isType = (file: string) => /^dist\/(?:client|instance|web)\/types\/.*\.d\.ts$/.test(file);
const isCommonJsType = (file: string) => file.endsWith('.d.cts');

/** Dependencies of the library, and all packages that npm installs for it. */
const outside = ['@sigstore/bundle', '@sigstore/protobuf-specs', '@sigstore/verify', 'semver'];
const installed = [...outside, '@sigstore/core'];

let directory = '';
/** The publisher that the client trusts. */
const anna = publisher();
/** The address at which the client looks for its own releases. */
const feed = 'http://127.0.0.1:1/acme/releases';
let registry: Awaited<ReturnType<typeof startRegistry>>;
/** A project with the package installed from a registry. */
let consumer = '';
/** The package in the project's `node_modules`. */
let unpacked = '';
let packed: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-package-'));
  const source = join(directory, 'source');
  // The whole checkout except for files ignored by git: the test checks which files npm leaves out.
  const left = new Set(['.git', '.cache', 'coverage', 'dist', 'node_modules']);
  for (const name of (await readdir(root)).filter((name) => !left.has(name))) {
    await cp(join(root, name), join(source, name), { recursive: true });
  }
  await run('node', ['scripts/build.mjs', join(source, 'dist')], root, {
    SVC_UPDATER_BUILD_FEED: feed,
    SVC_UPDATER_BUILD_TRUST: anna.key,
  });
  registry = await startRegistry();
  consumer = join(directory, 'consumer');
  await mkdir(consumer);
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }));
  // Dependencies come from this machine's `node_modules`: no test needs a network.
  for (const name of installed) await publish(join(root, 'node_modules', name));
  await publish(source);
  await run('npm', ['install', 'svc-updater'], consumer, npmEnv());
  unpacked = join(consumer, 'node_modules/svc-updater');
  // Packages that a project that compiles or renders has anyway.
  await mkdir(join(consumer, 'node_modules/@types'));
  for (const name of ['@types/node', '@types/react', 'preact', 'react', 'react-dom'])
    await symlink(join(root, 'node_modules', name), join(consumer, 'node_modules', name));
  const entries = await readdir(unpacked, { recursive: true, withFileTypes: true });
  packed = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
    .sort();
});

afterAll(async () => {
  registry.close();
  await rm(directory, { recursive: true, force: true });
});

describe('the package', () => {
  it('contains the client as a program in one file', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const client = join(unpacked, 'dist/svc.mjs');
    expect(await run(client, ['--version'], directory)).toBe(`svc v${version}`);
    expect(await run(client, ['instance', 'status', '--help'], directory)).toContain(
      'svc instance status [--json]',
    );
  });

  it('contains a client that reads releases only from the address set at build time', async () => {
    const client = join(directory, 'svc.mjs');
    await copyFile(join(unpacked, 'dist/svc.mjs'), client);
    const env = { SVC_FEED: '', SVC_UPDATER_BUILD_FEED: 'http://127.0.0.1:2/releases' };
    const { stderr, exitCode } = await execa(client, ['update'], { env, reject: false });
    expect(stderr).toContain('cannot read the releases at 127.0.0.1:1');
    expect(exitCode).toBe(4);
  });

  it('contains a client that trusts only the publisher set at build time', async () => {
    const mallory = publisher();
    const rig = await startRig(await readFile(join(unpacked, 'dist/svc.mjs'), 'utf8'));
    const files = { 'svc.mjs': "console.log('svc v9.0.0')" };
    const publish = (by: typeof anna) => {
      rig.publish('v9.0.0', { ...files, ...proofOf({ version: 'v9.0.0', files, by }) });
      return rig.run([], { SVC_UPDATER_BUILD_TRUST: mallory.key });
    };
    try {
      expect((await publish(mallory)).stderr).toContain('not signed with a trusted key');
      expect(await publish(anna)).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await rig.read(rig.svc)).toBe(files['svc.mjs']);
    } finally {
      await rig.close();
    }
  });

  it.each([
    ['FEED', 'https://robot:Zq7secret@example.org/releases', 'a web address without a login'],
    ['TRUST', '-----BEGIN PRIVATE KEY-----\nZq7secret', 'the text of a trust file: it contains neither'],
  ])('is not built with an invalid %s: %j', async (variable, value, should) => {
    const { stderr, exitCode } = await execa('node', ['scripts/build.mjs', join(directory, 'bad')], {
      cwd: root,
      env: { [`SVC_UPDATER_BUILD_${variable}`]: value },
      reject: false,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`SVC_UPDATER_BUILD_${variable} has to be ${should}`);
    expect(stderr).not.toContain('Zq7secret');
  });

  it('contains only the published files', () => {
    expect(packed.filter((file) => !isType(file) && !isCommonJsType(file))).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/client/index.mjs',
      'dist/client/licenses.txt',
      'dist/instance/index.cjs',
      'dist/instance/index.mjs',
      'dist/instance/licenses.txt',
      'dist/instance/openapi.json',
      'dist/instance/testing.cjs',
      'dist/instance/testing.mjs',
      'dist/svc.licenses.txt',
      'dist/svc.mjs',
      'dist/web/custom-elements.json',
      'dist/web/index.mjs',
      'package.json',
    ]);
  });

  it('contains no paths of the build machine and no source maps', async () => {
    const traces = [`${root}/`, directory, 'sourceMappingURL'];
    for (const file of packed) {
      const text = await readFile(join(unpacked, file), 'utf8');
      expect(
        traces.filter((trace) => text.includes(trace)),
        file,
      ).toEqual([]);
    }
  });

  it('declares exactly the imported packages as dependencies, and has the license of the bundled package', async () => {
    const { dependencies } = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
    const files = ['client/index', 'instance/index', 'instance/testing'];
    const bundles = files.map((name) => join(unpacked, `dist/${name}.mjs`));
    const code = (await Promise.all(bundles.map((file) => readFile(file, 'utf8')))).join('\n');
    // Includes dynamic imports.
    const forms = [/^(?:import|export)\b[^'"]*?['"]([^'"\n]+)['"];?$/gm, /\bimport\("([^"]+)"\)/g];
    const names = forms.flatMap((form) => [...code.matchAll(form)].map(([, name]) => name));
    // For `semver/functions/valid.js`, the package `semver`.
    const packages = new Set(
      names.flatMap((name = '') => name.match(/^(?!node:|\.)(?:@[^/]+\/)?[^/]+/) ?? []),
    );
    expect([...packages].sort()).toEqual(outside);
    expect(Object.keys(dependencies)).toEqual(outside);
    const inside = [...code.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name);
    expect([...new Set(inside)]).toEqual(['zod']);
    const licenses = await readFile(join(unpacked, 'dist/instance/licenses.txt'), 'utf8');
    expect(licenses).toMatch(/^zod [\d.]+ \(MIT\)\n[\s\S]*Permission is hereby granted/);
  });

  it('has the integrity hash that the registry lists, as described in docs/checking.md', async () => {
    const { version } = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
    const ofVersion = `svc-updater@${version}`;
    const [packed] = JSON.parse(await run('npm', ['pack', ofVersion, '--json'], directory, npmEnv()));
    expect(packed.integrity).toBe(registry.packages.get('svc-updater')?.versions[version]?.dist.integrity);
  });
});

describe('the examples of docs/server-library.md', () => {
  let feed: Server;
  beforeAll(async () => {
    feed = createServer((_, answer) => answer.end('{"releases":[{"version":"v1.5.0"}]}'));
    await new Promise<void>((resolve) => feed.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void feed.close());

  it('plain-node starts, responds to requests, and exits on SIGTERM', async () => {
    await cp(join(root, 'test/examples/plain-node.ts'), join(consumer, 'plain-node.ts'));
    const { port: feedPort } = feed.address() as AddressInfo;
    const server = execa('node', ['plain-node.ts'], {
      cwd: consumer,
      env: {
        ADMIN_TOKEN: 'correct horse',
        DATA: join(consumer, 'data'),
        FEED: `http://127.0.0.1:${feedPort}/`,
        PORT: '0',
      },
      reject: false,
      all: true,
      timeout: 30_000,
    });
    try {
      const base = await new Promise<string>((resolve, reject) => {
        let output = '';
        server.all.on('data', (text: Buffer) => {
          output += text;
          const port = /port: (\d+)/.exec(output)?.[1];
          if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
        });
        server.then(() => reject(new Error(output)));
      });
      expect(await (await fetch(base)).text()).toBe('svc v1.4.2\n');
      const status = `${base}/api/v1/instance/update`;
      expect((await fetch(status)).status).toBe(401);
      const headers = { Authorization: 'Bearer correct horse' };
      await expect
        .poll(async () => (await fetch(status, { headers })).json())
        .toMatchObject({
          version: 'v1.4.2',
          channel: 'stable',
          latest: { version: 'v1.5.0' },
          canUpdate: false,
        });
      const channel = await fetch(`${status}/channel`, {
        method: 'PUT',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: '{"channel":"canary"}',
      });
      expect(await channel.json()).toMatchObject({ channel: 'canary' });
      // The history, because the progress needs an engine that responds, and this machine may have none.
      const history = await fetch(`${status}/history`, { headers });
      expect({ status: history.status, runs: await history.json() }).toEqual({ status: 200, runs: [] });
    } finally {
      server.kill('SIGTERM');
    }
    const { exitCode, all } = await server;
    expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
  });
});

describe('the elements', () => {
  it('are one small file without imports', async () => {
    const code = await readFile(join(unpacked, 'dist/web/index.mjs'));
    expect(gzipSync(code).length).toBeLessThan(35_000);
    // OpenAPI's descriptions stay on the server.
    expect(code.toString()).not.toContain('The running version');
    expect(code.toString()).not.toMatch(/\bimport\s*[({'"]|(?<!['"])\bfrom\s*['"]|innerHTML|\beval\b/);
  });
});

describe('the elements on a server that renders pages', () => {
  const program = `import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import manifest from 'svc-updater/web/custom-elements.json' with { type: 'json' };

const { setTexts } = await import('svc-updater/web');
setTexts({ product: 'larder' });
console.log(renderToString(createElement('svc-update-notice', { admin: true, version: 'v1.4.2' })));

// A registry, as in a browser, for the same file loaded again.
const defined = {};
globalThis.customElements = { get: (tag) => defined[tag], define: (tag, made) => void (defined[tag] = made) };
const file = import.meta.resolve('svc-updater/web');
const module = await import(file + '?again');
const [{ declarations, exports, path }] = manifest.modules;
const names = (list) => list.map(({ name }) => name);
console.log(file.endsWith(path));
for (const { tagName, name, attributes, events } of declarations) {
  const of = exports.filter(({ declaration }) => declaration.name === name);
  console.log(tagName, defined[tagName] === module[name], ...names(of), ...names(events));
  const observed = defined[tagName].observedAttributes;
  console.log(observed.length, names(attributes).filter((each) => !observed.includes(each)));
}
console.log(Object.keys(defined).length);
`;

  it('are rendered as empty tags, and match the manifest when registered', async () => {
    await writeFile(join(consumer, 'render.mjs'), program);
    const { customElements } = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
    expect(packed).toContain(customElements);
    const events = 'svc-update-start svc-update-end svc-update-reload';
    const element = (tag: string, name: string) => [`${tag} true ${name} ${tag} ${events}`, '6 []'];
    expect((await run('node', ['render.mjs'], consumer)).split('\n')).toEqual([
      '<svc-update-notice admin="" version="v1.4.2"></svc-update-notice>',
      'true',
      ...element('svc-update-notice', 'SvcUpdateNotice'),
      ...element('svc-update-dialog', 'SvcUpdateDialog'),
      ...element('svc-update-channel', 'SvcUpdateChannel'),
      ...element('svc-update-settings', 'SvcUpdateSettings'),
      '4',
    ]);
  });
});

describe('a project with the package installed', () => {
  const program = `import { createServer } from 'node:http';
import { type Client, createClient, type ProductOptions } from 'svc-updater/client';
import {
  createInstanceUpdates,
  fileStore,
  type InstanceOptions,
  type InstanceUpdates,
  type JobQueue,
  type Run,
  type Status,
  toNodeHandler,
} from 'svc-updater/instance';
import { createScriptedUpdates, typicalRun } from 'svc-updater/testing';
import api from 'svc-updater/openapi.json' with { type: 'json' };

const queue: JobQueue = { hold() {}, resume() {}, jobs: () => [{ kind: 'backup', state: 'running' }] };
const options: InstanceOptions = {
  version: 'v1.4.2',
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: null,
  authorize: () => null,
  queue,
  store: fileStore('data'),
  onEnd: (run: Run) => console.log(run.outcome),
};
const updates: InstanceUpdates = createInstanceUpdates(options);
createServer(toNodeHandler(updates));
const request = new Request('http://localhost/api/v1/instance/update');
const answer = await updates.handle(request);
console.log(JSON.stringify([updates.matches(request), answer.status, api.openapi.split('.')[0]]));
await updates.close();

const played: InstanceUpdates = createScriptedUpdates({ speed: 1000, runs: [typicalRun({ outcome: 'broken' })] });
played.on('end', ({ outcome }) => console.log(outcome));
await played.start();
await played.update();
await new Promise((resolve) => played.on('end', resolve));
await played.close();

export const version = ({ latest }: Status): string | undefined => latest?.version;
// @ts-expect-error: types that are wrong or missing would let this pass
const wrong: InstanceOptions = { ...options, updaterPull: 'sometimes' };
try {
  createInstanceUpdates(wrong);
} catch (error) {
  console.log(String(error).includes('updaterPull'));
}
// @ts-expect-error: as would any
export const state: 'nonsense' = ({} as Run).state;
// @ts-expect-error: as would any here
createScriptedUpdates({ speed: 'fast' });
const product: ProductOptions = { name: 'larder', services: ['web', 'jobs'] };
createInstanceUpdates({ ...options, product });
const client: Client = createClient(product, { version: 'v1.4.2', trust: { keys: [${JSON.stringify(anna.key)}] } });
// @ts-expect-error: as would any here
() => client.walk();
// @ts-expect-error: as would any here
() => createClient(product, { trust: { key: '' } });
await client.run(['--version']);
`;

  beforeAll(async () => {
    await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }));
    await writeFile(join(consumer, 'main.ts'), program);
    await writeFile(
      join(consumer, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2024',
          lib: ['es2024'],
          types: ['node'],
          strict: true,
          exactOptionalPropertyTypes: true,
          resolveJsonModule: true,
          skipLibCheck: false,
          outDir: 'out',
        },
        files: ['main.ts'],
      }),
    );
  });

  it('compiles against its types and runs on plain Node', async () => {
    const read = (await run(bin('tsc'), ['-p', '.', '--listFiles'], consumer)).split('\n');
    const types = read.filter((file) => file.startsWith(unpacked) && file.endsWith('.d.ts'));
    // Exactly the packed declarations, all of them.
    expect(types.map((file) => file.slice(unpacked.length + 1)).sort()).toEqual(
      packed.filter((file) => isType(file) && !file.startsWith('dist/web')),
    );
    const out = await run('node', ['out/main.js'], consumer);
    expect(out.split('\n')).toEqual(['[true,401,"3"]', 'broken', 'true', 'larder v1.4.2']);
  });

  it('compiles with all exports, also for a bundler', async () => {
    const { exports } = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
    const code = Object.keys(exports).filter((name) => !name.endsWith('.json'));
    const uses = code.map((name, at) => `export * as m${at} from 'svc-updater${name.slice(1)}';\n`);
    await writeFile(join(consumer, 'all.ts'), uses.join(''));
    const how = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node'];
    await run(bin('tsc'), [...pageOptions, ...how, 'all.ts'], consumer);
  });

  it('compiles a page against the types of the elements', async () => {
    const page = `import { openUpdateDialog, refresh, setAuthorization, setHeaders, setTexts, SvcUpdateNotice } from 'svc-updater/web';
setAuthorization(async () => localStorage.getItem('token'));
setHeaders(() => ({ 'X-CSRF-Token': 'a' }));
// @ts-expect-error: not a header
setAuthorization(() => 1);
refresh();
setTexts({ product: { name: 'larder' } });
setTexts({ product: 'Acme', updateTo: (version) => 'Auf ' + version, outcomes: { failed: 'nein' } });
openUpdateDialog(null).close();
const notice: HTMLElement = new SvcUpdateNotice();
// @ts-expect-error: there is no such text
setTexts({ nonsense: '' });
console.log(notice);
document.querySelector('svc-update-dialog')?.open(notice);
document.addEventListener('svc-update-reload', ({ detail }) => console.log(detail.version.length));
// @ts-expect-error: there is no such event of it
document.addEventListener('svc-update-end', ({ detail }) => console.log(detail.version));
`;
    await writeFile(join(consumer, 'page.ts'), page);
    await run(bin('tsc'), [...pageOptions, '--module', 'nodenext', 'page.ts'], consumer);
  });

  it('compiles JSX for React 19 and Preact with every type of the elements', async () => {
    const jsx = (library: string, className: string, more: string) => `import { useRef } from '${library}';
import type { SvcUpdateDialog } from 'svc-updater/web';
import type {} from 'svc-updater/web/${library.split('/')[0]}';
export function Page() {
  const dialog = useRef<SvcUpdateDialog>(null);
  return (
    <div>
      <svc-update-notice admin={false} version="v1.4.2" settings-url={undefined} ${className}="bar" />
      <svc-update-dialog
        ref={dialog}
        onsvc-update-reload={(event) => {
          event.preventDefault();
          console.log(event.detail.version.length, dialog.current?.isOpen);
        }}
      />
      <svc-update-channel base="/updates" keep-title />
      ${more}
      <svc-update-settings keep-title={false} />
      {/* @ts-expect-error: a version is text */}
      <svc-update-notice version={1} />
      {/* @ts-expect-error: a choice of the channel does not show a version */}
      <svc-update-settings version="v1.4.2" />
    </div>
  );
}
`;
    await writeFile(join(consumer, 'react.tsx'), jsx('react', 'className', ''));
    const notFalse = '{/* @ts-expect-error: Preact would set the attribute */}';
    await writeFile(join(consumer, 'preact.tsx'), jsx('preact/hooks', 'class', notFalse));
    const read = new Set<string>();
    for (const library of ['react', 'preact']) {
      const options = ['--jsx', 'react-jsx', '--jsxImportSource', library, '--exactOptionalPropertyTypes'];
      const all = [...pageOptions, ...options, '--module', 'nodenext', '--types', '', '--listFiles'];
      const files = await run(bin('tsc'), [...all, `${library}.tsx`], consumer);
      for (const file of files.split('\n').filter((each) => each.startsWith(unpacked))) read.add(file);
    }
    const types = [...read].filter((file) => file.endsWith('.d.ts'));
    expect(types.map((file) => file.slice(unpacked.length + 1)).sort()).toEqual(
      packed.filter((file) => isType(file) && file.startsWith('dist/web')),
    );
  });
});

describe('a CommonJS project with the package installed', () => {
  let project = '';
  beforeAll(async () => {
    project = join(consumer, 'common');
    await mkdir(project);
    await writeFile(join(project, 'package.json'), '{}');
  });

  it('requires every export', async () => {
    const program = `const { createInstanceUpdates, fileStore } = require('svc-updater/instance');
const { createScriptedUpdates, typicalRun } = require('svc-updater/testing');
const options = { version: 'v1.4.2', updaterImage: 'acme/updater:1', feed: null, authorize: () => null };
const updates = createInstanceUpdates({ ...options, store: fileStore('data') });
const played = createScriptedUpdates({ speed: 1000, runs: [typicalRun({ outcome: 'updated' })] });
played.on('end', async ({ outcome }) => {
  const { status } = await updates.handle(new Request('http://localhost/api/v1/instance/update'));
  console.log(status, outcome);
  await Promise.all([played.close(), updates.close()]);
});
played.start().then(() => played.update());
`;
    await writeFile(join(project, 'main.js'), program);
    // As in Jest, and in Node before 22.12.
    const withoutEsm = ['--no-experimental-require-module', 'main.js'];
    expect(await run('node', withoutEsm, project)).toBe('401 updated');
    for (const name of ['index', 'testing'])
      expect(await readFile(join(unpacked, `dist/instance/${name}.cjs`), 'utf8')).not.toMatch(/\bimport\(/);
    const others = `console.log(['client', 'web'].map((name) => Object.keys(require('svc-updater/' + name)).sort()[0]).join())`;
    await writeFile(join(project, 'others.js'), others);
    expect(await run('node', ['others.js'], project)).toBe('createClient,SvcUpdateChannel');
  });

  it.each(['node16', 'nodenext'])('compiles with "module": "%s"', async (module) => {
    const code = `import { createClient, type Client } from 'svc-updater/client';
import { createInstanceUpdates, fileStore, type InstanceOptions, type Run } from 'svc-updater/instance';
import library = require('svc-updater/instance');
import { createScriptedUpdates } from 'svc-updater/testing';
import { setTexts, SvcUpdateNotice } from 'svc-updater/web';
import type {} from 'svc-updater/web/react';

const options: InstanceOptions = {
  version: 'v1.4.2',
  updaterImage: 'acme/updater:1',
  authorize: () => null,
  store: fileStore('data'),
  onEnd: (run: Run) => console.log(run.outcome),
};
const updates: ReturnType<typeof createInstanceUpdates> = library.createInstanceUpdates(options);
const client: Client = createClient({ name: 'larder', services: ['web'] });
const notice: SvcUpdateNotice = new SvcUpdateNotice();
export const page = <svc-update-notice admin version="v1.4.2" />;
console.log(updates, client, notice);
// @ts-expect-error: types that are wrong or missing would let this pass
const wrong: InstanceOptions = { ...options, updaterPull: 'sometimes' };
// @ts-expect-error: as would any
createScriptedUpdates({ speed: 'fast' });
// @ts-expect-error: as would any here
setTexts({ nonsense: wrong });
// @ts-expect-error: as would any here
export const bad = <svc-update-notice version={1} />;
`;
    await writeFile(join(project, 'main.tsx'), code);
    const jsx = ['--jsx', 'react-jsx', '--exactOptionalPropertyTypes', '--types', 'node'];
    const all = [...pageOptions, ...jsx, '--module', module, '--listFiles', 'main.tsx'];
    const read = (await run(bin('tsc'), all, project)).split('\n');
    const types = read.filter((file) => file.startsWith(unpacked) && isCommonJsType(file));
    const withPreact = [...types, join(unpacked, 'dist/web/types/web/preact.d.cts')];
    expect(withPreact.map((file) => file.slice(unpacked.length + 1)).sort()).toEqual(
      packed.filter(isCommonJsType),
    );
  });
});

/** Options for compiling a page without a configuration file. */
const pageOptions = ['--target', 'es2024', '--lib', 'es2024,dom', '--strict', '--noEmit', '--ignoreConfig'];

/** The environment of an npm that uses only this registry and no settings of the user. */
const npmEnv = () => ({
  npm_config_registry: registry.address,
  [`npm_config_${registry.address.slice('http:'.length)}/:_authToken`]: 'nobody',
  npm_config_cache: join(directory, 'cache'),
  npm_config_userconfig: join(directory, 'npmrc'),
  npm_config_ignore_scripts: 'false',
  npm_config_offline: 'false',
  npm_config_prefer_offline: 'false',
  npm_config_audit: 'false',
});

/** Without provenance, which only the workflow can create. */
const publish = (folder: string, ...more: string[]) =>
  run('npm', ['publish', '--ignore-scripts', '--no-provenance', ...more], folder, npmEnv());

/** Runs a program that must succeed, and returns its output. */
async function run(
  file: string,
  args: string[],
  cwd = directory,
  env: Record<string, string> = {},
): Promise<string> {
  const { exitCode, stdout, stderr } = await execa(file, args, {
    cwd,
    reject: false,
    stdin: 'ignore',
    timeout: 60_000,
    env: { npm_config_update_notifier: 'false', ...env },
  });
  expect(exitCode, `${file} ${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}
