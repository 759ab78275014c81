import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { execa } from 'execa';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { read, root } from '../documents/documents.ts';
import { startFeed } from '../platform/rig/python-platform.ts';
import { engineSocket, removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { assemble, baseLayer } from '../rig/image.ts';
import { push } from '../rig/registry.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { Visitor } from './support/visitor.ts';

// The way of docs/your-product.md and docs/test-locally.md: an Express server in CommonJS, with a token in localStorage and as
// a user other than root, gets the button through `svc-updater serve`.

const host = inject('host');
const name = `${host.run}-${randomBytes(3).toString('hex')}`;
const source = join(host.directory, `${name}-source`);
const repository = `${host.registry}/${name}`;

let browser: Browser;
let anna: Visitor;
let port = 0;

/** Replaces the public names, which no test can use, by the names of this test. */
const withNames = (text: string): string =>
  text
    .replace(/^docker (?:run|rm) .*larder-registry.*$/m, '')
    .replace('larder-updater ', `updater-${name} `)
    .replace('name=^trial-', `name=^${name}-`)
    .replace('sudo ', '')
    .replaceAll('127.0.0.1:5000', repository)
    .replaceAll('ghcr.io/acme/svc-updater:1.0.0', updaterImage)
    .replaceAll('ghcr.io/acme/', `${repository}/`)
    .replace('node:24-alpine', `${repository}/node:1`)
    .replace('image: busybox', `image: ${repository}/node:1`)
    .replace('/var/run/docker.sock:', `${engineSocket}:`)
    .replace("'8080:8080'", `'127.0.0.1:${port}:8080'`)
    .replace('    environment:\n', `    environment:\n      SVC_SERVE_CONTAINER_NAME: updater-${name}\n`)
    .replace('cd trial\n', `cd trial\necho COMPOSE_PROJECT_NAME=${name} >> .env\n`);

/** Runs shell commands of a document. They must succeed. */
async function type(commands: string): Promise<string> {
  const env = { DOCKER_BUILDKIT: '1' };
  const options = { cwd: source, env, all: true, reject: false, timeout: 300_000 } as const;
  const { all, exitCode } = await execa('sh', ['-ec', withNames(commands)], options);
  expect(exitCode, `${commands}\n${all}`).toBe(0);
  return all;
}

async function makeSource(): Promise<void> {
  await cp(join(root, 'test/first-button'), source, { recursive: true });
  await mkdir(join(source, 'volume/data'), { recursive: true });
  await build({
    entryPoints: [join(root, 'test/first-button/server.cjs')],
    outfile: join(source, 'dist/server.cjs'),
    bundle: true,
    platform: 'node',
  });
  const base = assemble([await baseLayer(), await nodeLayer()], { Env: ['PATH=/bin'] });
  await push(host.registry, `${name}/node`, '1', base);
  for (const file of ['Dockerfile', 'updates/Dockerfile', 'compose.yaml']) {
    const path = join(source, file);
    await writeFile(path, withNames(await readFile(path, 'utf8')));
  }
}

/** The code block of a page that contains a text. */
function blockWith(page: string, text: string): string {
  const blocks = [...read(page).matchAll(/^```.*\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  const block = blocks.find((each) => each.includes(text));
  if (block === undefined) throw new Error(`${page} has no block with ${text}`);
  return block;
}

const version = async (): Promise<string | undefined> =>
  /LARDER_VERSION=(\S+)/.exec(await readFile(join(source, 'trial/.env'), 'utf8'))?.[1];

beforeAll(async () => {
  port = await freePort();
  const opening = openBrowser();
  await makeSource();
  await type(await readFile(join(source, 'trial.sh'), 'utf8'));
  browser = await opening;
  const url = `http://127.0.0.1:${port}/`;
  const load = async () => expect((await fetch(url)).status).toBe(200);
  await vi.waitFor(load, { timeout: 60_000, interval: 250 });
  anna = await Visitor.arrive(browser, 'Anna');
  await anna.page.goto(url);
});

afterAll(async () => {
  await browser?.close();
  await removeNamed(name);
});

test('the button appears after a login, without a reload', async () => {
  await anna.sees('v1.0.0');
  expect(await anna.button('Update to v1.1.0').count()).toBe(0);
  await anna.page.evaluate(`(async () => {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"name":"anna"}' };
    const { token } = await (await fetch('/login', init)).json();
    localStorage.setItem('token', token);
    dispatchEvent(new Event('logged-in'));
  })()`);
  await anna.seesButton('Update to v1.1.0');
});

test('a page that is loaded while the service is stopped needs no reload when the service runs again', async () => {
  await type('cd trial && docker compose stop updates');
  await anna.page.reload();
  await anna.sees('v1.0.0');
  await type('cd trial && docker compose up -d --wait');
  // An open dialog requests the status every five seconds.
  await anna.press(/^larder v1\.0\.0/);
  await anna.seesButton('Update now');
});

test('a click updates the product', async () => {
  await anna.page.reload();
  await anna.press('Update to v1.1.0');
  await anna.press('Update now');
  await anna.sees(/Updated to v1\.1\.0/);
  expect(await version()).toBe('v1.1.0');
  expect(anna.complaints).toEqual([]);
});

test('a release that does not start is rolled back', async () => {
  await type(blockWith('docs/test-locally.md', 'A bad release'));
  await anna.press(/^larder v1\.1\.0/);
  // The feed is read at most every ten seconds.
  const isOffered = async () => {
    const count = await anna.button('Update now').count();
    if (count === 0)
      await anna
        .button('Check again')
        .click({ timeout: 1000 })
        .catch(() => {});
    return count;
  };
  await expect.poll(isOffered, { timeout: 30_000, interval: 1000 }).toBe(1);
  await anna.press('Update now');
  await anna.sees(/rolled back/i);
  expect(await version()).toBe('v1.1.0');
});

test('the trial is removed without a trace', async () => {
  await type(blockWith('docs/test-locally.md', 'down --volumes'));
  const { stdout } = await execa('docker', ['ps', '--all', '--quiet', '--filter', `name=^${name}-`]);
  expect(stdout).toBe('');
  expect((await readdir(source)).includes('trial')).toBe(false);
});

test('the lines of docs/ship-it.md add the button to an old compose file', async () => {
  const feed = await startFeed({ 'releases.json': '{ "releases": [{ "version": "v1.1.0" }] }' });
  onTestFinished(() => feed.close());
  const directory = join(source, 'old');
  const file = (path: string) => join(directory, path);
  const ownPort = await freePort();
  const withOwnNames = (text: string) =>
    withNames(text).replace(`${port}:8080`, `${ownPort}:8080`).replaceAll('v1.5.0', 'v1.0.0');
  await mkdir(directory);
  const compose = `services:
  app:
    image: ghcr.io/acme/larder:latest
    ports: ['8080:8080']
    volumes: ['data:/data']
volumes:
  data:
`;
  await writeFile(file('compose.yaml'), withOwnNames(compose));
  await writeFile(file('.env'), `COMPOSE_PROJECT_NAME=${name}-old\n`);
  await type(`docker tag 127.0.0.1:5000/larder:v1.0.0 127.0.0.1:5000/larder:latest
docker push 127.0.0.1:5000/larder:latest
cd old
docker compose up -d --wait`);

  const request = async (path: string, body: string | null = null, token = '') => {
    const url = `http://127.0.0.1:${ownPort}`;
    const headers = { 'Content-Type': 'application/json', Origin: url, Authorization: `Bearer ${token}` };
    const init = { headers, ...(body !== null && { method: 'POST', body }) };
    const response = await fetch(`${url}${path}`, init).catch(() => null);
    const text = (await response?.text()) || '{}';
    return { status: response?.status, text };
  };
  const update = '/api/v1/instance/update';
  const logIn = () => request('/login', '{"name":"anna"}');
  await expect.poll(logIn, { timeout: 60_000 }).toMatchObject({ status: 200 });
  const { token } = JSON.parse((await logIn()).text);
  expect((await request(update, null, token)).status).toBe(503);

  const [enable = ''] =
    /^ +docker run .*$/m.exec(blockWith('docs/ship-it.md', 'Update larder with one click')) ?? [];
  const shown = await type(`cd old\n${enable.replace('v1.5.0', 'v1.0.0')}`);
  expect(shown).toMatch(/^\S+ INFO {2}plan \+ .*larder:v1\.0\.0/m);
  expect(shown).toContain('run the same command with --yes ');

  const lines = withOwnNames(blockWith('docs/ship-it.md', '# instead of latest'));
  const settings = `SVC_SERVE_FEED: '{"url":"${feed.url}"}'\n      SVC_SERVE_CONTAINER_NAME: updater-${name}-old\n      SVC_SERVE_SECRET`;
  await writeFile(file('compose.override.yaml'), lines.replace('SVC_SERVE_SECRET', settings));
  await type('cd old\necho "UPDATES_SECRET=$(openssl rand -hex 32)" >> .env\ndocker compose up -d --wait');
  const next = async () => (await request(`${update}?refresh=1`, null, token)).text;
  await expect.poll(next, { timeout: 60_000 }).toContain('"next":{"version":"v1.1.0"');
  expect((await request(update, '{}', token)).status).toBe(202);
  const ended = async () => (await request(update, null, token)).text;
  await expect.poll(ended, { timeout: 120_000 }).toContain('"outcome":"updated"');
  expect(await readFile(file('compose.override.yaml'), 'utf8')).toContain(
    'larder:v1.1.0 # instead of latest',
  );
});
