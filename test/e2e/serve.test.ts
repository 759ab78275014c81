import { gunzipSync } from 'node:zlib';
import { execa } from 'execa';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import {
  type ChannelCommand,
  changeChannel,
  firstChannelFile,
  usualDays,
} from '../../scripts/lib/release/change-channel.ts';
import { channelBytes } from '../../scripts/lib/release/channel-files.ts';
import type { RollbackOffer, Run, Status } from '../../src/wire/status.ts';
import {
  ballast,
  type Feed,
  type PythonPlatform,
  startFeed,
  startPythonPlatform,
} from '../platform/rig/python-platform.ts';
import { platformPublisher } from '../platform/rig/sign-release.ts';
import { type BadRegistry, startBadRegistry } from '../rig/bad-registry.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { inspect } from './support/server.ts';
import { Visitor } from './support/visitor.ts';

// The scenario of scripts/demo for a platform in Python that is updated by `svc-updater serve` (docs/contract.md 8.45,
// 8.46).

let browser: Browser;
let registry: BadRegistry;
let feed: Feed;
let platform: PythonPlatform;
let anna: Visitor;
let ben: Visitor;
/** Lets the image download finish. */
let letPull: () => void;

const update = '/api/v1/instance/update';
const unsigned = 'v1.1.1';
const long = { timeout: 180_000, interval: 250 };
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

beforeAll(async () => {
  const host = inject('host');
  registry = await startBadRegistry(host.registry);
  feed = await startFeed({});
  offer();
  const { promise, resolve } = Promise.withResolvers<void>();
  letPull = () => {
    registry.fail(null);
    resolve();
  };
  const publish = ['v1.1.0', 'v1.2.0', 'v1.2.1', 'v1.3.0', 'v1.4.0'];
  [platform, browser] = await Promise.all([
    startPythonPlatform(host, { feed, registry: registry.host, publish }),
    openBrowser(),
  ]);
  registry.fail({ kind: 'late', after: ballast / 2, until: promise }, { on: 'blobs' });
  // If it were published earlier, it could already be downloaded by now.
  offer('v1.1.0', unsigned);
  await vi.waitFor(async () => expect((await status()).next?.version).toBe('v1.1.0'), long);
  [anna, ben] = await Promise.all([logIn('anna', 'Log in as admin'), logIn('ben', 'Log in as user')]);
});

afterAll(async () => {
  await browser?.close();
  await platform?.dispose();
  await Promise.all([feed?.close(), registry?.close()]);
});

async function logIn(name: string, button: string): Promise<Visitor> {
  const visitor = await Visitor.arrive(browser, name);
  await visitor.page.goto(platform.url);
  await visitor.press(button);
  await visitor.sees('larder v1.0.0');
  return visitor;
}

/** Publishes these releases. They are too young for automatic updates. */
function offer(...versions: string[]): void {
  feed.files['releases.json'] = feedOf(...versions);
}

function feedOf(...versions: string[]): string {
  const releases = versions.map((version) => {
    const names = version === unsigned ? [] : ['release.json', 'release.json.sigstore.json'];
    return { version, assets: names.map((name) => ({ name, url: `${version}/${name}` })) };
  });
  return JSON.stringify({ releases });
}

let channel = firstChannelFile('larder', 'stable');

/** Changes the channel file like scripts/publisher. */
function announce(command: ChannelCommand): void {
  channel = changeChannel(channel, command, { now: new Date(), days: usualDays });
  const file = channelBytes(channel);
  feed.files['channel.json'] = file;
  feed.files['channel.json.sigstore.json'] = platformPublisher.sign(file);
}

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${platform.url}${path}`, {
    headers: { authorization: `Bearer ${platform.token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(60_000),
    ...init,
  });

async function told<T>(path: string): Promise<T> {
  const answer = await ask(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const status = (): Promise<Status> => told<Status>(`${update}?refresh=1`);
const state = async () => {
  type Job = [title: string, seconds: number, state: string, since: number | null];
  const [version, [[until]], migrations, jobs] =
    await told<[string, [[number]], [string][], Job[]]>('/state');
  return { version, held: until > 1e12, migrations: migrations.flat(), jobs };
};
const addJob = (visitor: Visitor, title: string, seconds: number) =>
  visitor.page.evaluate(`fetch('/jobs?title=${title}&seconds=${seconds}', { method: 'POST' })`);
const jobState = async (title: string) => (await state()).jobs.find((job) => job[0] === title)?.[2];

/** The last run, once it has this outcome and the queue is released. */
async function ended(outcome: Run['outcome'], to: string): Promise<Run> {
  let last: Run | null = null;
  const look = async () => {
    last = await told<Status>(update).then(
      ({ run }) => run,
      () => null,
    );
    return last;
  };
  await expect.poll(look, long).toMatchObject({ outcome, to });
  const run = last as unknown as Run;
  await expect.poll(async () => (await state()).held, long).toBe(false);
  return run;
}

/** Kills a service without a signal that it could handle, and starts it again. */
async function kill(service: string): Promise<void> {
  const container = `${platform.project}-${service}-1`;
  await execa('docker', ['kill', '--signal', 'KILL', container]);
  await execa('docker', ['start', container]);
}

it('authenticates users by the login of the product, and programs by the token', async () => {
  const asked = (visitor: Visitor) =>
    visitor.page.evaluate(`fetch('${update}').then((answer) => answer.json())`);
  expect(await asked(ben)).toEqual({ version: 'v1.0.0', updating: false });
  const offered = { version: 'v1.1.0', downloaded: false };
  await expect
    .poll(() => asked(anna), long)
    .toMatchObject({ version: 'v1.0.0', canUpdate: true, next: offered });
  expect((await ask(update, { headers: {} })).status).toBe(401);
  expect((await ask(update, { headers: { cookie: 'session=stolen' } })).status).toBe(401);
  expect((await status()).version).toBe('v1.0.0');
  await expect.poll(async () => (await state()).held, long).toBe(false);
});

it('offers no unsigned release', async () => {
  const { next, feedError } = await status();
  expect([next?.version, feedError?.message]).toEqual([
    'v1.1.0',
    `${unsigned} is not verified: release.json is missing`,
  ]);
  const answer = await ask(update, { method: 'POST', body: JSON.stringify({ target: unsigned }) });
  expect([answer.status, await answer.json()]).toMatchObject([409, { reason: { code: 'unproven' } }]);
});

it('waits for a running job, and survives kills of the service and of the product during the update', async () => {
  await addJob(anna, 'backup', 3600);
  await expect.poll(() => jobState('backup'), long).toBe('running');
  await anna.page.reload();
  await anna.press('Update to v1.1.0');
  await anna.sees('1 job is running');
  await anna.press('Update when idle');
  await anna.sees('Waiting for 1 job');
  await addJob(ben, 'report', 0);
  // The restarted product has interrupted its job, and the queue is still on hold.
  await kill('app');
  const ids = new Set<string | undefined>();
  const inPull = async () => {
    const run = (await told<Status>(update).catch(() => null))?.run;
    if (run) ids.add(run.id);
    return run?.state;
  };
  await expect.poll(inPull, long).toBe('pull');
  await kill('updates');
  await expect.poll(inPull, long).toBe('pull');
  await kill('app');
  await expect.poll(inPull, long).toBe('pull');
  expect(await state()).toMatchObject({ held: true, version: 'v1.0.0' });
  expect(await Promise.all(['backup', 'report'].map(jobState))).toEqual(['queued', 'queued']);

  letPull();
  const last = await ended('updated', 'v1.1.0');
  expect(last).toMatchObject({ from: 'v1.0.0', by: 'anna' });
  expect([...ids]).toEqual([last.id]);
  expect(await state()).toMatchObject({ version: 'v1.1.0', migrations: ['v1.0.0', 'v1.1.0'] });
  await expect.poll(() => jobState('backup'), long).toBe('running');
  const started = (await state()).jobs.find(([title]) => title === 'backup')?.[3] ?? 0;
  expect(started * 1000).toBeGreaterThan(Date.parse(last.endedAt ?? ''));
  // The same run replaced the update service as its last step.
  const images = await Promise.all(
    ['app', 'updates'].map(
      async (service) => (await inspect(`${platform.project}-${service}-1`)).Config.Image,
    ),
  );
  expect(images).toEqual([`${platform.image}:v1.1.0`, `${platform.image}-updates:v1.1.0`]);
  await ranFromImageOf('v1.0.0');
  // The dialog reloads the page of the admin.
  await anna.sees('larder v1.1.0');
  await ben.page.reload();
  await ben.sees('larder v1.1.0');
  expect([...anna.complaints, ...ben.complaints]).toEqual([]);
});

it('offers a release that is rolled out to 10 % of all instances once the admin checks again', async () => {
  await endJobs();
  // The position of this instance in the rollout is 15 of 100.
  await storeText('rollout', JSON.stringify({ instance: 'larder', asked: null }));
  announce({ name: 'rollout', version: 'v1.2.0', percent: '10' });
  offer('v1.1.0', 'v1.2.0');
  // The service reads the feed at its start.
  await kill('updates');
  const held = { next: null, upToDate: { code: 'rolling-out' } };
  await expect.poll(() => told<Status>(update), long).toMatchObject(held);
  await anna.page.reload();
  await anna.press('larder v1.1.0, open update dialog');
  await anna.sees('v1.2.0 is being rolled out to 10% of all instances');
  await anna.press('Check again');
  await anna.press('Update now');
  expect(await ended('updated', 'v1.2.0')).toMatchObject({ from: 'v1.1.0', by: 'anna' });
  expect(await state()).toMatchObject({ version: 'v1.2.0', migrations: ['v1.0.0', 'v1.1.0', 'v1.2.0'] });
});

/** Starts a rollback and waits until it has ended. */
async function rollBack(from: string, to: string): Promise<void> {
  const offered = () => told<RollbackOffer>(`${update}/rollback`).catch(() => null);
  await expect.poll(offered, long).toMatchObject({ from, to });
  const answer = await ask(`${update}/rollback`, { method: 'POST', body: JSON.stringify({ confirm: to }) });
  expect(answer.status).toBe(202);
  expect(await ended('updated', to)).toMatchObject({ kind: 'rollback', from });
}

it('rolls back a recalled release on request, and restores the data of the product', async () => {
  const why = 'It deletes old rows at night.';
  announce({ name: 'recall', version: 'v1.2.0', why });
  await expect.poll(async () => (await status()).recalled, long).toMatchObject({ version: 'v1.2.0', why });
  await rollBack('v1.2.0', 'v1.1.0');
  expect(await state()).toMatchObject({ version: 'v1.1.0', migrations: ['v1.0.0', 'v1.1.0'] });
});

it('downloads a security update in advance, shows a dry run, and installs it automatically', async () => {
  const why = 'Sessions of other users can be stolen.';
  announce({ name: 'urgent', version: 'v1.2.1', why });
  offer('v1.1.0', 'v1.2.0', 'v1.2.1');
  await expect.poll(async () => (await status()).urgent, long).toMatchObject({ below: 'v1.2.1', why });
  const next = async () => (await status()).next;
  await expect.poll(next, long).toMatchObject({ version: 'v1.2.1', downloaded: true });
  const product = { name: 'larder', services: ['app', 'updates'] };
  const env = { SVC_UPDATER_PRODUCT: JSON.stringify(product) };
  const { exitCode, log } = await platform.update(['plan', '--target', 'v1.2.1'], { env });
  expect([exitCode, log]).toEqual([0, expect.stringContaining('recreate app and updates')]);

  const window = { from: '00:00', to: '00:00', timeZone: 'UTC' };
  const set = (body: object) =>
    ask(`${update}/automatic`, { method: 'PUT', body: JSON.stringify(body) }).then(({ status }) => status);
  expect(await set({ enabled: true, ...window })).toBe(200);
  expect(await ended('updated', 'v1.2.1')).toMatchObject({ from: 'v1.1.0', by: 'automatic' });
  expect(await set({ enabled: false })).toBe(200);
  expect((await state()).migrations).toEqual(['v1.0.0', 'v1.1.0', 'v1.2.1']);
});

it('rolls back automatically if a release does not start', async () => {
  offer('v1.1.0', 'v1.2.0', 'v1.2.1', 'v1.3.0');
  await expect.poll(async () => (await status()).latest?.version, long).toBe('v1.3.0');
  expect((await ask(update, { method: 'POST', body: '{"target":"v1.3.0"}' })).status).toBe(202);
  expect(await ended('failed', 'v1.3.0')).toMatchObject({
    rolledBack: { version: 'v1.2.1' },
    downtimeSeconds: null,
  });
  expect(await state()).toMatchObject({ version: 'v1.2.1', migrations: ['v1.0.0', 'v1.1.0', 'v1.2.1'] });
  const runs = await told<Run[]>(`${update}/history`);
  expect(runs.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
    'update failed',
    'update updated',
    'rollback updated',
    'update updated',
    'update updated',
  ]);
});

it('rolls back if the updater of a release does not start', async () => {
  offer('v1.1.0', 'v1.2.0', 'v1.2.1', 'v1.3.0', 'v1.4.0');
  await expect.poll(async () => (await status()).latest?.version, long).toBe('v1.4.0');
  expect((await ask(update, { method: 'POST', body: '{"target":"v1.4.0"}' })).status).toBe(202);
  expect(await ended('failed', 'v1.4.0')).toMatchObject({
    cause: expect.stringContaining('updates'),
    rolledBack: { version: 'v1.2.1' },
  });
  await ranFromImageOf('v1.2.1');
  // The new service has printed the secret.
  const { all: log } = await execa('docker', ['logs', `${platform.name}-updater`], { all: true });
  expect(log).toContain('cannot start with ***');
  for (const text of [log, await platform.read('.svc-updater/last-run.log'), await report()])
    for (const secret of [platform.secret, platform.token]) expect(text).not.toContain(secret);
  expect(await state()).toMatchObject({ version: 'v1.2.1', migrations: ['v1.0.0', 'v1.1.0', 'v1.2.1'] });
});

it('rolls back the last successful update after two updates that failed', async () => {
  await rollBack('v1.2.1', 'v1.1.0');
  expect(await state()).toMatchObject({ version: 'v1.1.0', migrations: ['v1.0.0', 'v1.1.0'] });
});

it('updates a platform without a job queue, whose jobs start after 30 seconds', async () => {
  const ownFeed = await startFeed({});
  onTestFinished(() => ownFeed.close());
  ownFeed.files['releases.json'] = feedOf('v1.1.0');
  const host = inject('host');
  const own = { feed: ownFeed, registry: host.registry, publish: ['v1.1.0'] };
  const alone = await startPythonPlatform(host, { ...own, queue: 'none' });
  onTestFinished(() => alone.dispose());
  const login = await fetch(`${alone.url}/login?name=anna`, { redirect: 'manual' });
  const [cookie = ''] = login.headers.getSetCookie()[0]?.split(';') ?? [];
  // biome-ignore lint/suspicious/noExplicitAny: as the platform says it
  const request = async (path: string, init: RequestInit = {}): Promise<any> => {
    const headers = { cookie, origin: alone.url, 'content-type': 'application/json' };
    return (await fetch(`${alone.url}${path}`, { headers, ...init })).json().catch(() => null);
  };
  await request('/jobs?title=report&seconds=0', { method: 'POST' });
  const next = async () => (await request(`${update}?refresh=1`))?.next;
  await expect.poll(next, long).toMatchObject({ version: 'v1.1.0' });
  const app = `${alone.project}-app-1`;
  const logs = async () => (await execa('docker', ['logs', app], { all: true })).all;
  const before = await logs();
  const bootedAt = Date.parse((await inspect(app)).State.StartedAt) / 1000;
  expect(await request(update, { method: 'POST', body: '{"when":"idle"}' })).toMatchObject({ by: 'anna' });
  const run = async () => (await request(update))?.run;
  await expect.poll(run, long).toMatchObject({ outcome: 'updated', to: 'v1.1.0', by: 'anna' });
  const callbacks = [...`${before}${await logs()}`.matchAll(/\/updates-callbacks\/(\S+)/g)];
  expect(new Set(callbacks.map(([, name]) => name))).toEqual(new Set(['user']));

  const job = async () => (await request('/state'))[3][0];
  await expect.poll(job, long).toEqual(['report', 0, 'done', expect.any(Number)]);
  const [[[heldUntil]], startedAt] = [(await request('/state'))[1], (await job())[3]];
  expect(startedAt).toBeGreaterThan(heldUntil);
  expect(heldUntil).toBeGreaterThan(bootedAt + 30);
});

it('reports all mistakes in its settings, and exits when it is stopped', async () => {
  const wrong = ['-e', 'SVC_SERVE_PORT=0', '-e', 'SVC_SERVE_VERSION=v1.0.0', updaterImage, 'serve'];
  const { exitCode, stdout } = await execa('docker', ['run', '--rm', ...wrong], { reject: false });
  expect([exitCode, stdout]).toEqual([
    2,
    expect.stringMatching(/at port.*callbacksUrl must be set.*secret or secretFile must be set.*at feed/s),
  ]);
  const container = `${platform.project}-updates-1`;
  await execa('docker', ['stop', '-t', '120', container]);
  expect((await inspect(container)).State.ExitCode).toBe(0);
});

/** Checks that the updater was the update service's image of a version, by its digest and without its health check. */
async function ranFromImageOf(version: string): Promise<void> {
  const { Config, Image, State } = await inspect(`${platform.name}-updater`);
  const { stdout } = await execa('docker', ['image', 'inspect', `${platform.image}-updates:${version}`]);
  const [image] = JSON.parse(stdout);
  expect([Config.Image, Image]).toEqual([expect.stringContaining('-updates@sha256:'), image.Id]);
  expect([Config.Healthcheck.Test, State.Health]).toEqual([['NONE'], undefined]);
}

/** The files of the diagnostic report. */
async function report(): Promise<string> {
  const response = await ask(`${update}/report`);
  expect(response.status).toBe(200);
  const text = gunzipSync(await response.arrayBuffer()).toString();
  expect(text).toContain('SVC_SERVE_SECRET');
  return text;
}

/** Running jobs end as soon as the platform checks them. */
async function endJobs(): Promise<void> {
  const program =
    'import sqlite3; sqlite3.connect("/data/larder.db", isolation_level=None).execute("UPDATE job SET seconds = 0")';
  const command = `exec /usr/bin/python3.*[0-9] -c '${program}'`;
  await execa('docker', ['exec', `${platform.project}-app-1`, '/bin/sh', '-c', command]);
  await expect.poll(async () => (await state()).jobs.every(([, , each]) => each === 'done'), long).toBe(true);
}

/** Sets a key in the store of the service that has no text yet. */
async function storeText(key: string, text: string): Promise<void> {
  const command = `mkdir -p /store/${key}/0 && printf %s '${text}' > /store/${key}/0/text`;
  await execa('docker', ['exec', `${platform.project}-updates-1`, 'sh', '-c', command]);
}
