import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { bridgeAddress } from '../../rig/bridge-address.ts';
import { freePort } from '../../rig/free-port.ts';
import { bundle } from '../../rig/server/bundle.ts';
import { openTestHost } from '../../rig/test-host.ts';
import { slowPace } from '../forge/forge.ts';
import { type Platform, shareParts, startPlatform } from '../rig/platform.ts';
import type { Traces } from './clean.ts';

export interface DemoOptions extends Traces {
  /** Releases that are published from the start. */
  published: readonly string[];
}

/** Starts the platform, and in separate containers the forge and one build server. */
export async function setUp(options: DemoOptions): Promise<{ platform: Platform; forgeUrl: string }> {
  const { name, directory, registry, published } = options;
  await mkdir(directory, { recursive: true });
  // Not readable by other users, because .env contains secrets.
  await chmod(directory, 0o700);
  const { host } = await openTestHost({ run: name, directory, registry });
  const { base } = await shareParts(host);
  const [address, feed, images] = [await bridgeAddress(), await freePort(), await freePort()];
  const program = join(directory, 'forge.mjs');
  const assets = join(directory, 'releases');
  await mkdir(assets, { recursive: true });
  await writeFile(program, await bundle(new URL('../forge/main.ts', import.meta.url)));
  const settings = {
    UPSTREAM: registry,
    ADDRESS: address,
    ASSETS: '/releases',
    FEED_PORT: String(feed),
    REGISTRY_PORT: String(images),
    PUBLISHED: published.join(' '),
    PACE: String(slowPace),
  };
  await execa('docker', [
    ...['run', '--detach', '--name', `${name}-forge`, '--network', 'host'],
    ...Object.entries(settings).flatMap(([key, value]) => ['-e', `${key}=${value}`]),
    ...[
      '-v',
      `${program}:/forge.mjs:ro`,
      '-v',
      `${assets}:/releases:ro`,
      '--entrypoint',
      '/bin/node',
      base,
      '/forge.mjs',
    ],
  ]);
  const forgeUrl = `http://${address}:${feed}`;
  await answers(forgeUrl);
  const platform = await startPlatform(host, {
    name,
    feed: `${forgeUrl}/repos/acme/svc/releases`,
    registry: `127.0.0.1:${images}`,
    assets,
    images: { proxy: process.env.DEMO_PROXY_IMAGE, db: process.env.DEMO_DB_IMAGE },
  });
  return { platform, forgeUrl };
}

async function answers(url: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await fetch(url).catch(() => null))?.ok) return;
    await sleep(100);
  }
  throw new Error(`no answer from ${url}`);
}

/** Logs in like the button of the dashboard. @returns the cookie */
export async function logIn(platform: Platform, who: string): Promise<string> {
  const answer = await fetch(`${platform.url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ who }),
    headers: { origin: platform.url },
    redirect: 'manual',
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Adds a row on the Data page. */
export async function addRow(platform: Platform, cookie: string, name: string): Promise<void> {
  const answer = await fetch(`${platform.url}/data`, {
    method: 'POST',
    body: new URLSearchParams({ name }),
    headers: { cookie, origin: platform.url },
    redirect: 'manual',
  });
  if (answer.status !== 303) throw new Error(`cannot add a row: HTTP status ${answer.status}`);
}
