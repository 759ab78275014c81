import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { composeLabels } from '../../src/engine/objects/labels.ts';
import type { RollbackOffer, Run, Status } from '../../src/wire/status.ts';
import { type Forge, startForge } from '../platform/forge/forge.ts';
import { type Platform, startPlatform } from '../platform/rig/platform.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { bridgeAddress } from '../rig/bridge-address.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { inspect } from './support/server.ts';
import { Visitor } from './support/visitor.ts';

// One platform and one scenario: how users see successful and failed updates (docs/platform.md). Each state must appear
// on the screen.

let browser: Browser;
let engine: BadEngine;
let forge: Forge;
let platform: Platform;
let anna: Visitor;
let annaElsewhere: Visitor;
let ben: Visitor;
/** Lets the image download finish, after a visitor has seen the download. */
let letPull: () => void;

beforeAll(async () => {
  const host = inject('host');
  const id = randomBytes(3).toString('hex');
  const assets = join(host.directory, `releases-${id}`);
  engine = await startBadEngine(join(host.directory, `${id}.sock`));
  forge = await startForge({ upstream: host.registry, address: await bridgeAddress(), assets });
  letPull = forge.hold();
  forge.publish('v1.1.0');
  [platform, browser] = await Promise.all([
    startPlatform(host, { feed: forge.feed, registry: forge.registry, assets, socket: engine.socket }),
    openBrowser(),
  ]);
  [anna, annaElsewhere, ben] = await Promise.all([
    logIn('anna', /^Log in as admin/),
    logIn('anna elsewhere', /^Log in as admin/),
    logIn('ben', /^Log in as user/),
  ]);
});

afterAll(async () => {
  await browser?.close();
  await platform?.dispose();
  await Promise.all([forge?.close(), engine?.close()]);
});

async function logIn(name: string, button: RegExp): Promise<Visitor> {
  const visitor = await Visitor.arrive(browser, name);
  await visitor.page.goto(platform.url);
  await visitor.press(button);
  await visitor.sees('One job runs at a time.');
  return visitor;
}

async function ask<T>(path: string): Promise<T> {
  const headers = { authorization: `Bearer ${platform.apiToken}` };
  const answer = await fetch(`${platform.url}${path}`, { headers });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${platform.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.apiToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const update = '/api/v1/instance/update';
const lastRun = async (): Promise<Run | null> => (await ask<Status>(update)).run;

/** The last run, once it has an outcome: the page shows log lines earlier than that. */
async function endedRun(): Promise<Run | null> {
  await expect.poll(async () => (await lastRun())?.outcome, { timeout: 60_000 }).toBeTruthy();
  return lastRun();
}

/**
 * Delays the start of the app until the returned function is called, so that all visitors see that svc is unavailable.
 */
function holdApp(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.fail(async (asked) => {
    const id = /^POST \S*\/containers\/(\w+)\/start/.exec(asked)?.[1];
    const labels = id === undefined ? {} : (await inspect(id))?.Config.Labels;
    if (labels?.[composeLabels.project] === platform.project && labels[composeLabels.service] === 'app')
      await promise;
    return false;
  });
  return () => {
    engine.fail(null);
    resolve();
  };
}

const isHeld = async (): Promise<boolean> => (await ask<{ held: boolean }>('/api/v1/jobs')).held;

/** Publishes a release and opens the dialog that offers it. */
async function offer(version: string): Promise<void> {
  forge.publish(version);
  const next = async () => (await ask<Status>(`${update}?refresh=1`).catch(() => null))?.next?.version;
  await expect.poll(next, { timeout: 120_000, interval: 500 }).toBe(version);
  await anna.page.reload();
  await anna.press(`Update to ${version}`);
}

const containers = () => platform.compose('ps', '--quiet', '--no-trunc');

/** Waits until the updater container has exited. */
async function updaterEnded(): Promise<void> {
  const state = async () => (await inspect(`${platform.name}-svc-updater`))?.State.Status;
  await expect.poll(state, { timeout: 120_000, interval: 100 }).toBe('exited');
}

it('offers a release only to admins, and refuses the update while a job is running', async () => {
  for (const name of ['tea', 'milk']) {
    await anna.page.goto(`${platform.url}/data`);
    await anna.page.getByLabel('Name').fill(name);
    await anna.press('Add a row');
    await anna.sees(name);
  }
  await anna.page.goto(`${platform.url}/jobs`);
  await anna.seesButton('Update to v1.1.0', { picture: '01-notice' });
  await ben.sees('v1.0.0');
  expect(await ben.button(/Update|svc v/).count()).toBe(0);

  await anna.press('Start a deployment');
  await anna.sees('running');
  await anna.press('Update to v1.1.0');
  await anna.sees('1 job is running', { picture: '02-running-job' });
});

it('waits for the job, shows the update to all users, and reloads the page', async () => {
  await anna.press('Update when idle');
  await anna.sees('Waiting for 1 job', { picture: '03-waiting' });
  // This job stays queued and runs after the update.
  await annaElsewhere.press('Start a backup');
  await annaElsewhere.sees('The queue is on hold during an update');
  await ben.page.reload();
  await ben.sees('Updating…', { picture: '04-user' });
  expect(await ben.button(/Updating/).count()).toBe(0);
  const deployment = annaElsewhere.page.getByRole('row', { name: /web to production/ });
  await deployment.getByRole('button', { name: 'End job' }).click();

  await anna.sees('Downloading');
  await annaElsewhere.press(/^Updating/);
  const phases = (visitor: Visitor) => visitor.page.locator('dialog[open] li.done').allInnerTexts();
  await annaElsewhere.sees('Downloading', { picture: '05-second-admin' });
  expect(await phases(annaElsewhere)).toEqual(await phases(anna));
  expect(await phases(anna)).not.toEqual([]);
  // The new server finds these releases when it starts.
  for (const version of ['v1.1.1', 'v1.1.2']) forge.publish(version);

  const startApp = holdApp();
  letPull();
  await anna.sees('svc is restarting', { picture: '06-restarting' });
  await seeUpdatingPage();
  startApp();
  // The page reloads automatically, at the requested address, with the new column and a valid login.
  await ben.page.getByRole('columnheader', { name: 'Created by' }).waitFor();
  await anna.sees('Updated to v1.1.0', { picture: '08-updated' });
  await ben.sees('unknown', { picture: '09-back' });
});

it('shows the result and the outdated build server once', async () => {
  // The page has reloaded.
  await anna.page
    .locator('svc-update-notice .toast')
    .getByText(/^\d+ (?:s|min)\b.* downtime/)
    .waitFor();
  await anna.picture('10-after');
  await anna.sees('1 build server is outdated');
  await anna.sees('build-1 is running v1.0.0');
  // Only once, although the warnings of the run contain it too.
  expect(await anna.page.getByText('build-1').count()).toBe(1);
  expect(anna.page.url()).toBe(`${platform.url}/jobs`);
  const run = await endedRun();
  expect(run).toMatchObject({ outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'anna' });
  expect(run).toMatchObject({ restorePoint: { version: 'v1.0.0', bytes: expect.any(Number) } });
  const job = () =>
    platform.sql(
      'SELECT state, starts, started_at > $$RUN$$ FROM job ORDER BY id DESC LIMIT 1'.replace(
        'RUN',
        run?.endedAt ?? '',
      ),
    );
  await expect.poll(job).toBe('done|1|t');
  const rows = "SELECT string_agg(name || ', ' || made_by, '; ' ORDER BY id) FROM item";
  expect(await platform.sql(rows)).toBe('tea, unknown; milk, unknown');
  await anna.close('notice');
});

it('offers no release that is unsigned or signed with an untrusted key', async () => {
  // The new server has to read the releases first.
  const offered = async () => {
    const { next, feedError } = await ask<Status>(update);
    return [next, feedError?.message];
  };
  await expect
    .poll(offered)
    .toEqual([
      null,
      'v1.1.2 is not verified: it is not signed with a trusted key; v1.1.1 is not verified: release.json is missing',
    ]);
  for (const target of ['v1.1.1', 'v1.1.2']) {
    const answer = await post(update, { target });
    expect([answer.status, await answer.json()]).toMatchObject([409, { reason: { code: 'unproven' } }]);
  }
});

it('rolls back on request and restores the data saved before the update', async () => {
  await anna.page.goto(`${platform.url}/data`);
  await anna.page.getByLabel('Name').fill('salt');
  await anna.press('Add a row');
  await anna.sees('salt');
  // The server started by the rollback finds this release.
  forge.publish('v1.3.0');
  const offer = await ask<RollbackOffer>(`${update}/rollback`);
  expect(offer).toMatchObject({ from: 'v1.1.0', to: 'v1.0.0' });
  expect((await post(`${update}/rollback`, { confirm: offer.to })).status).toBe(202);
  const ended = async () => {
    const run = await lastRun().catch(() => null);
    return run?.kind === 'rollback' ? run.outcome : null;
  };
  await expect.poll(ended, { timeout: 120_000 }).toBe('updated');
  expect(await lastRun()).toMatchObject({ from: 'v1.1.0', to: 'v1.0.0' });
  expect((await ask<Status>(update)).version).toBe('v1.0.0');
  await expect.poll(isHeld).toBe(false);
});

it('rolls back automatically and restores the data if the app does not start', async () => {
  await anna.page.reload();
  await anna.press('Update to v1.3.0');
  const startApp = holdApp();
  await anna.press('Update now');
  await anna.sees('svc is restarting');
  startApp();
  await updaterEnded();
  await anna.sees('Rolled back to v1.0.0 with the data saved at', { picture: '11-rolled-back' });
  expect(await endedRun()).toMatchObject({
    outcome: 'failed',
    to: 'v1.3.0',
    rolledBack: { version: 'v1.0.0' },
  });
  await anna.close();
  expect((await ask<Run[]>(`${update}/history`)).map(({ outcome, kind }) => `${kind} ${outcome}`)).toEqual([
    'update failed',
    'rollback updated',
    'update updated',
  ]);
});

it('rolls back a release whose health check succeeds although users cannot log in', async () => {
  await offer('v1.3.2');
  const startApp = holdApp();
  await anna.press('Update now');
  await anna.sees('svc is restarting');
  startApp();
  await anna.sees('Rolled back to v1.0.0 with the data saved at');
  await anna.sees(/users cannot log in: HTTP status 500/, { picture: '12-not-ready' });
  expect(await endedRun()).toMatchObject({
    outcome: 'failed',
    to: 'v1.3.2',
    rolledBack: { version: 'v1.0.0' },
  });
  await anna.close();
});

it('refuses a release whose preflight fails before anything is changed', async () => {
  const before = await Promise.all([platform.read('.env'), platform.read('compose.yaml'), containers()]);
  await offer('v1.3.3');
  await anna.press('Update now');
  await anna.sees(/svc v1.3.3 requires PostgreSQL 99, but PostgreSQL \d+ is running/, {
    picture: '13-preflight',
  });
  expect(await endedRun()).toMatchObject({ outcome: 'refused', code: 'preflight-failed' });
  expect(await Promise.all([platform.read('.env'), platform.read('compose.yaml'), containers()])).toEqual(
    before,
  );
  await anna.close();
});

it('prompts for a new setting in the dialog, and never shows its value', async () => {
  await offer('v1.5.0');
  const value = 'svc mail "robot" <svc@example.org>';
  await anna.page.getByLabel(/MAIL_FROM/).fill(value);
  await anna.picture('14-setting');
  await anna.press('Update now');
  await anna.sees('Updated to v1.5.0', { picture: '15-updated' });
  await updaterEnded();
  const app = await inspect(`${platform.project}-app-1`);
  expect(app?.Config.Env).toContain(`MAIL_FROM=${value}`);
  expect(app?.Config.Env).toContainEqual(expect.stringMatching(/^MAIL_KEY=[0-9a-f]{32,}$/));
  const key = app?.Config.Env.find((line: string) => line.startsWith('MAIL_KEY='))?.slice(9) ?? '';
  const shown = [
    JSON.stringify(await ask(`${update}/history`)),
    JSON.stringify(await ask(update)),
    JSON.stringify(await inspect(`${platform.name}-svc-updater`)),
    await platform.sql('SELECT string_agg(t::text, chr(10)) FROM update_store t'),
    (await execa('docker', ['logs', `${platform.name}-svc-updater`], { all: true })).all,
  ].join('\n');
  for (const secret of [value, 'svc@example.org', key]) expect(shown).not.toContain(secret);
});

it('keeps data and logins through every restart, without browser errors', async () => {
  for (const visitor of [anna, annaElsewhere, ben]) {
    await visitor.page.goto(`${platform.url}/data`);
    await visitor.sees('milk');
    expect(await visitor.page.locator('#count').innerText()).toBe('2');
    expect(visitor.complaints).toEqual([]);
  }
});

/** Navigates repeatedly, like a clicking user, until the proxy shows its page. */
async function seeUpdatingPage(): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    const answer = await ben.page.goto(`${platform.url}/data`).catch(() => null);
    if (answer?.status() === 503) return ben.sees('svc is being updated', { picture: '07-updating-page' });
    await sleep(50);
  }
  throw new Error('the proxy did not show its page');
}
