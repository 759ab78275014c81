import { randomBytes } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import type { Run } from '../../src/wire/status.ts';
import { byHand } from '../documents/commands.ts';
import { root } from '../documents/documents.ts';
import { bridgeAddress } from '../rig/bridge-address.ts';
import { askEngine, engineSocket, findContainers, removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { assemble, baseLayer } from '../rig/image.ts';
import { push } from '../rig/registry.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { Visitor } from './support/visitor.ts';

// The product of docs/larder.md, built as described there. Its users read the name larder, and never svc.

const host = inject('host');
const name = `${host.run}-${randomBytes(3).toString('hex')}`;
const source = join(host.directory, `${name}-source`);
const directory = join(host.directory, name);
const image = `${host.registry}/${name}/larder`;
const ownUpdater = `${host.registry}/${name}/larder-updater:1`;
const token = 'correct-horse';

/** All texts that a user has read, by their source. */
const seen = new Map<string, string>();
const read = (where: string, text: string): string => {
  seen.set(where, `${seen.get(where) ?? ''}${text}\n`);
  return text;
};

let browser: Browser;
let forge: Server;
let url = '';

/** Runs a command of the document with the names of this test. The command must succeed. */
async function type(command: string, cwd: string): Promise<string> {
  const typed = command
    .replaceAll('ghcr.io/acme/larder-updater:1', ownUpdater)
    .replaceAll('ghcr.io/acme/larder', image)
    .replaceAll('/opt/larder', directory)
    .replace('-v /var/run/docker.sock:', `-v ${engineSocket}:`);
  const env = { DOCKER_BUILDKIT: '1' };
  const { all, exitCode } = await execa('sh', ['-c', typed], { cwd, env, all: true, reject: false });
  expect(exitCode, `${typed}\n${all}`).toBe(0);
  return all;
}

/** Runs the client and returns its output and exit code. */
async function larder(words: string): Promise<{ exitCode: number | undefined; said: string }> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: directory,
    LARDER_URL: url,
    LARDER_TOKEN: token,
    LARDER_FEED: forgeUrl(),
  };
  const options = { env, extendEnv: false, all: true, reject: false, input: '', timeout: 180_000 } as const;
  const { exitCode, all } = await execa(join(source, 'dist/larder.mjs'), words.split(' '), options);
  return { exitCode, said: read(`larder ${words}`, all) };
}

const history = async (): Promise<Run[]> => {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/v1/instance/update/history`, { headers });
  return JSON.parse(read('history', await answer.text()));
};

beforeAll(async () => {
  const opening = openBrowser();
  await Promise.all([makeSource(), makeForge()]);
  browser = await opening;
  await type('node build.mjs v1.0.0', source);
  const publish = async (version: string) => {
    await type(`docker build --build-arg VERSION=${version} --tag ghcr.io/acme/larder:${version} .`, source);
    await type(`docker push ghcr.io/acme/larder:${version}`, source);
  };
  const publishUpdater = async () => {
    await type('docker build --tag ghcr.io/acme/larder-updater:1 --file updater.Dockerfile .', source);
    await type('docker push ghcr.io/acme/larder-updater:1', source);
  };
  await Promise.all([publish('v1.0.0'), publish('v1.1.0'), publishUpdater()]);
  await start();
});

afterAll(async () => {
  await browser?.close();
  forge?.closeAllConnections();
  forge?.close();
  await removeNamed(name);
});

/** Creates the files of the document, with the package as built by `npm run build` and images of the test registry. */
async function makeSource(): Promise<void> {
  await cp(join(root, 'test/larder'), source, { recursive: true });
  const published = join(source, 'node_modules/svc-updater');
  await mkdir(published, { recursive: true });
  await cp(join(root, 'package.json'), join(published, 'package.json'));
  await symlink(join(root, 'dist'), join(published, 'dist'));
  for (const needed of ['@sigstore', 'esbuild', 'semver'])
    await symlink(join(root, 'node_modules', needed), join(source, 'node_modules', needed));
  const base = assemble([await baseLayer(), await nodeLayer()], { Env: ['PATH=/bin'] });
  await push(host.registry, `${name}/node`, '1', base);
  const node = (text: string) => text.replace(/^FROM .*/, `FROM ${host.registry}/${name}/node:1`);
  await rewrite('Dockerfile', node);
  await rewrite('updater.Dockerfile', (text) => text.replace(/^FROM .*/, `FROM ${updaterImage}`));
  await rewrite('compose.yaml', (text) => text.replace('/var/run/docker.sock:', `${engineSocket}:`));
}

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(join(source, file), 'utf8');
  await writeFile(join(source, file), change(text));
}

/** Starts a release feed with one installable release, and later another release whose image does not exist. */
async function makeForge(): Promise<void> {
  const releases = ['v1.0.0', 'v1.1.0', 'v1.2.0'].map((version, at) => ({
    tag_name: version,
    html_url: `https://example.org/larder/${version}`,
    body: `What is new in ${version}`,
    draft: false,
    prerelease: false,
    published_at: new Date(Date.UTC(2026, 0, 1 + at)).toISOString(),
  }));
  let published = releases.slice(0, 2);
  forge = createServer((request, answer) => {
    if (request.url === '/more') published = releases;
    answer.setHeader('Content-Type', 'application/json').end(JSON.stringify(published));
  });
  const address = await bridgeAddress();
  await new Promise<void>((resolve) => forge.listen(0, address, resolve));
}

const forgeUrl = (): string => {
  const place = forge.address();
  return typeof place === 'object' && place !== null ? `http://${place.address}:${place.port}` : '';
};

async function start(): Promise<void> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  await mkdir(directory, { recursive: true });
  await cp(join(source, 'compose.yaml'), join(directory, 'compose.yaml'));
  const env = {
    LARDER_IMAGE: image,
    LARDER_PORT: `127.0.0.1:${port}`,
    UPDATER_IMAGE: ownUpdater,
    UPDATER_NAME: `${name}-larder-updater`,
    FEED: `${forgeUrl()}/releases`,
  };
  const lines = Object.entries(env).map(([key, value]) => `${key}=${value}\n`);
  await writeFile(
    join(directory, '.env'),
    (await readFile(join(source, 'example.env'), 'utf8')) + lines.join(''),
  );
  await type('docker compose up -d', directory);
  await vi.waitFor(async () => expect(await version()).toBe('v1.0.0'), { timeout: 120_000 });
}

const version = (): Promise<string | null> =>
  fetch(`${url}/version`, { signal: AbortSignal.timeout(2000) }).then(
    async (answer) => (await answer.text()).trim(),
    () => null,
  );

/** All visible or announced text of the page, including shadow roots. */
const textOfPage = `(() => {
  const texts = [document.title];
  const visit = (node) => {
    if (node.nodeType === 3) texts.push(node.data);
    if (['SCRIPT', 'STYLE'].includes(node.nodeName)) return;
    for (const label of ['aria-label', 'title', 'placeholder']) texts.push(node.getAttribute?.(label) ?? '');
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) visit(child);
  };
  visit(document.body);
  return texts.map((text) => text.trim()).filter(Boolean).join('\\n');
})()`;

/** Reads the page repeatedly until the returned function is called. A page that is loading is read the next time. */
function watch(page: Page): () => Promise<void> {
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await page.evaluate<string>(textOfPage).then(
        (text) => seen.get('page')?.includes(text) || read('page', text),
        () => {},
      );
      await sleep(50);
    }
  })();
  return () => {
    isOver = true;
    return watching;
  };
}

test('a click updates the product, and its client follows the run', async () => {
  // A page that is loaded before the server has read the releases requests the status only a minute later.
  const offered = () => larder('instance status').then(({ said }) => said);
  await expect.poll(offered, { interval: 500 }).toContain('v1.1.0');
  const ada = await Visitor.arrive(browser, 'Ada');
  await ada.page.context().addCookies([{ name: 'session', value: token, url }]);
  await ada.page.goto(`${url}/`);
  const stop = watch(ada.page);
  await ada.press('Update to v1.1.0');
  await ada.press('Update now');
  await expect.poll(async () => (await history()).length).toBe(1);
  const followed = await larder('instance follow');
  expect(followed.said).toMatch(/✓ Updated to v1\.1\.0 in /);
  expect(followed.exitCode).toBe(0);
  await ada.sees(/Updated to v1\.1\.0/);
  await ada.seesButton(/^larder v1\.1\.0/);
  expect(await version()).toBe('v1.1.0');
  expect(await readFile(join(directory, '.env'), 'utf8')).toMatch(/^LARDER_VERSION=v1\.1\.0$/m);
  const containers = await findContainers(name);
  const services = containers.filter(({ Config }) => Config.Labels['com.docker.compose.service']);
  expect(services.map(({ Config }) => Config.Image)).toEqual([`${image}:v1.1.0`, `${image}:v1.1.0`]);
  const log = await type(`docker logs ${name}-larder-updater`, directory);
  expect(read('log of the updater', log)).toMatch(/"larder-updater \S+, engine .*\n/);
  expect(log).toMatch(/"phase":"done","msg":"updated v1\.0\.0 → v1\.1\.0/);
  await stop();
  expect(ada.complaints).toEqual([]);
});

test('an update to a release without its image fails and changes nothing', async () => {
  await fetch(`${forgeUrl()}/more`);
  const { said, exitCode } = await larder('instance update');
  expect([exitCode, said]).toEqual([4, expect.stringContaining('The update failed (pull-unknown)')]);
  const ada = await Visitor.arrive(browser, 'Ada');
  await ada.page.context().addCookies([{ name: 'session', value: token, url }]);
  await ada.page.goto(`${url}/`);
  const stop = watch(ada.page);
  await ada.press(/^larder v1\.1\.0/);
  await ada.sees(/v1\.2\.0/);
  await stop();
  read('log of the updater', await type(`docker logs ${name}-larder-updater`, directory));
});

test('a manual update uses the name of the product', async () => {
  const updater = (words: string) =>
    type(`${byHand.replace('--name larder-updater', '')} ${words}`, directory).then((said) =>
      read(words, said),
    );
  const said = await Promise.all(['plan --target v1.1.0', '--help', '--version'].map(updater));
  expect(said).toEqual([
    expect.stringContaining('done planned'),
    expect.stringContaining('larder-updater plan [options]'),
    expect.stringMatching(/^larder-updater /),
  ]);
});

test('no text that a user has read contains svc', async () => {
  const ofInstance = ['status', 'channel', 'update', 'follow', 'cancel', 'history'];
  const said = [
    ...['--help', 'instance --help', 'update --help', 'completion --help', '--version', 'nonsense', 'update'],
    ...ofInstance.map((command) => `instance ${command} --help`),
    ...['instance status', 'instance history', 'instance channel stable', 'instance cancel'],
  ];
  await Promise.all(said.map(larder));
  await history();
  const logs = await Promise.all(
    ['web', 'jobs'].map((each) => type(`docker compose logs ${each}`, directory)),
  );
  read('logs of the servers', logs.join('\n'));
  // Remove the names of the test, and the state directory, whose name is the same for every product.
  const plain = (text: string) =>
    text.replaceAll(name, 'NAME').replaceAll(host.run, 'RUN').replaceAll('.svc-updater', '');
  expect([...seen].filter(([, text]) => text.trim() === '').map(([where]) => where)).toEqual([]);
  const lines = [...seen].flatMap(([where, text]) =>
    plain(text)
      .split('\n')
      .map((line) => `${where}: ${line}`),
  );
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter((line) => /svc/i.test(line))).toEqual([]);
  expect(await askEngine('GET', `/containers/${name}-larder-updater/json`)).toMatchObject({ status: 200 });
});
