import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { publisherWith } from '../../scripts/lib/release/sign.ts';
import type { Run, Status } from '../../src/wire/status.ts';
import { startForge } from '../platform/forge/forge.ts';
import { releaseOf } from '../platform/releases.ts';
import { startPlatform } from '../platform/rig/platform.ts';
import { writeRecipe } from '../platform/rig/recipe.ts';
import { bridgeAddress } from '../rig/bridge-address.ts';
import { machinePlatform } from '../rig/image.ts';

// A release that scripts/release creates from images and files of a product updates that product: over the network by
// its own server, and from an archive on a machine without a registry (docs/publishing.md).

test('a release created by scripts/release updates the platform, online and from its archive', async () => {
  const host = inject('host');
  const name = `${host.run}-${randomBytes(3).toString('hex')}`;
  const folder = join(host.directory, `made-${name}`);
  const assets = join(folder, 'forge');
  await mkdir(assets, { recursive: true });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await writeFile(join(folder, 'key.pem'), pem);
  const { key } = publisherWith(pem);

  const make = async (version: string, ...more: readonly string[]) => {
    const image = `${host.registry}/${name}/svc`;
    const recipe = await writeRecipe(join(folder, `${version}.recipe`), releaseOf(version), { image, key });
    const out = join(folder, version);
    const args = ['--recipe', recipe, '--key', join(folder, 'key.pem'), '--bundle', '--out', out, ...more];
    expect((await execa('scripts/release', args)).stdout).toContain(`svc ${version}: signed and checked`);
    return out;
  };
  const made = await make('v1.1.0', '--push');
  // The feed serves these files as the assets of the release.
  await rename(join(made, 'assets'), join(assets, 'v1.1.0'));

  const forge = await startForge({ upstream: host.registry, address: await bridgeAddress(), assets });
  onTestFinished(() => forge.close());
  const platform = await startPlatform(host, {
    ...{ name, feed: forge.feed, registry: host.registry, assets, publisherKey: key, releases: [] },
  });
  onTestFinished(() => platform.dispose());
  const headers = { authorization: `Bearer ${platform.apiToken}`, 'content-type': 'application/json' };
  const api = (init: RequestInit = {}, more = '') =>
    fetch(`${platform.url}/api/v1/instance/update${more}`, { headers, ...init });
  const status = async () => (await (await api({}, '?refresh=1')).json()) as Status;

  forge.publish('v1.1.0');
  const next = async () => (await status()).next?.version;
  await expect.poll(next, { timeout: 60_000, interval: 500 }).toBe('v1.1.0');
  expect((await api({ method: 'POST', body: JSON.stringify({ target: 'v1.1.0' }) })).status).toBe(202);
  const outcome = async () => (await status().catch(() => null))?.run?.outcome ?? null;
  await expect.poll(outcome, { timeout: 120_000, interval: 500 }).not.toBeNull();
  expect((await status()).run).toMatchObject({ outcome: 'updated', to: 'v1.1.0' } satisfies Partial<Run>);

  // This release is in no registry.
  const carried = await make('v2.0.0');
  const archive = `svc-v2.0.0-${machinePlatform.replace('/', '-')}.tar`;
  const from = ['update', '--archive', `/release/assets/${archive}`, '--trust', '/release/publisher.pem'];
  const options = { volumes: [`${carried}:/release:ro`], docker: ['--network', 'none'] };
  const { exitCode, log } = await platform.update(from, options);
  expect([exitCode, log]).toEqual([0, expect.stringContaining('v2.0.0')]);
  await expect.poll(async () => (await status()).version, { timeout: 60_000 }).toBe('v2.0.0');
});
