import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { type Forge, startForge } from '../platform/forge/forge.ts';
import { bridgeAddress } from '../platform/rig/bridge-address.ts';
import { type Platform, startPlatform } from '../platform/rig/platform.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { Visitor } from './support/visitor.ts';
import { minuteAfter, windowFrom } from './support/window.ts';

// What people see of an update that nobody has pressed for: one admin has the dialog open, another one has gone home and left
// a page with something half typed.

let browser: Browser;
let forge: Forge;
let platform: Platform;
let anna: Visitor;
let annaAtHome: Visitor;

beforeAll(async () => {
  const host = inject('host');
  const assets = join(host.directory, `releases-${randomBytes(3).toString('hex')}`);
  forge = await startForge({ upstream: host.registry, address: await bridgeAddress(), assets });
  forge.publish('v1.1.0');
  [platform, browser] = await Promise.all([
    startPlatform(host, { feed: forge.feed, registry: forge.registry, assets }),
    openBrowser(),
  ]);
  anna = await logIn('anna');
  annaAtHome = await logIn('anna, gone home');
});

afterAll(async () => {
  await browser?.close();
  await platform?.dispose();
  await forge?.close();
});

async function logIn(name: string): Promise<Visitor> {
  const visitor = await Visitor.arrive(browser, name);
  await visitor.page.goto(platform.url);
  await visitor.press(/^Log in as admin/);
  await visitor.sees('One job runs at a time.');
  return visitor;
}

async function ask<T>(path: string, choice?: object): Promise<T> {
  const headers = { authorization: `Bearer ${platform.apiToken}`, 'content-type': 'application/json' };
  const init = choice === undefined ? {} : { method: 'PUT', body: JSON.stringify(choice) };
  const answer = await fetch(`${platform.url}/api/v1/instance/update${path}`, { headers, ...init });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Since when, and what; for admins, until it is closed. */
const toldAt = /^svc updated itself at \d{2}:\d{2}$/;
const toldWhat = /^v1\.1\.0\W+away for \d+ s/;

it('is told before, while it is on, and afterwards to whoever was there', async () => {
  await annaAtHome.page.goto(`${platform.url}/data`);
  await annaAtHome.page.getByLabel('Name').fill('half a na');
  await anna.seesButton('Update to v1.1.0');
  const later = minuteAfter(7_200_000);
  const choice = { enabled: true, age: 0, ...windowFrom(later, 180) };
  const { automatic } = await ask<Status>('/automatic', choice);
  expect(automatic).toMatchObject({ nextAt: new Date(later).toISOString(), keptBack: null });

  await anna.press('Update to v1.1.0');
  await anna.sees(/^It updates .*by itself/, { picture: 'itself-01-available' });
  const begin = minuteAfter(0);
  await ask<Status>('/automatic', { ...choice, ...windowFrom(begin, 180) });
  await anna.sees(/^Updating/, { seconds: 150, picture: 'itself-02-updating' });
  // The dialog has loaded its page anew.
  await anna.sees(toldAt, { seconds: 180, picture: 'itself-03-told' });
  await anna.sees(toldWhat);
  const { version, run } = await ask<Status>('');
  expect({ version, run }).toMatchObject({
    version: 'v1.1.0',
    run: { outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'automatic' },
  });
  expect(Date.parse(run?.startedAt ?? '')).toBeGreaterThanOrEqual(begin);
  expect(await ask<Run[]>('/history')).toHaveLength(1);
  await anna.close('notice');
  await anna.page.reload();
  await anna.seesButton('svc v1.1.0, open update dialog');
  expect(await anna.page.getByText(toldAt).filter({ visible: true }).count()).toBe(0);
});

it('is told in the morning on the page that was left open, which nobody has loaded anew', async () => {
  // A laptop that wakes up asks at once; an answer alone may be one of a server that goes away again.
  for (const isOffline of [true, false, true, false]) await annaAtHome.page.context().setOffline(isOffline);
  await annaAtHome.seesButton('Reload for v1.1.0', { seconds: 150, picture: 'itself-04-left-open' });
  expect(await annaAtHome.page.getByLabel('Name').inputValue()).toBe('half a na');
  await annaAtHome.press('Reload for v1.1.0');
  await annaAtHome.sees(toldAt, { picture: 'itself-05-morning' });
  await annaAtHome.sees(toldWhat);
  await annaAtHome.sees('1 build server is behind');
  await annaAtHome.close('notice');
  for (const visitor of [anna, annaAtHome]) expect(visitor.complaints).toEqual([]);
});
