import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { publisher } from '../provenance/sign.ts';
import { type ArchiveOptions, anna, releaseArchive } from '../rig/release-archive.ts';
import { type ServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { buildClient, Client } from './support/client.ts';
import { createServerInstance, inspect, removeContainer, updaterOf, waitForEnd } from './support/server.ts';

// docs/contract.md 8.40: a release that no registry has is handed to a server, which updates to it.

async function archive(instance: ServerInstance, options: ArchiveOptions = {}) {
  const { bytes } = await releaseArchive(instance.image, 'v1.1.0', { release: { server: true }, ...options });
  const folder = await mkdtemp(join(tmpdir(), 'svc-handed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'svc-v1.1.0-linux.tar');
  await writeFile(path, bytes);
  return { path, bytes, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

test('a server takes the archive of a release, also where it began anew in between, and updates to it', async () => {
  const instance = await createServerInstance({ publish: [], settings: { FEED_URL: '' } });
  await instance.write('data/trust.json', JSON.stringify([anna.key]));
  await instance.compose('restart', 'app');
  await instance.waitUntilHealthy();
  const before = await look(instance);
  const client = new Client(await buildClient(), instance);
  const left = () => readdir(join(instance.directory, 'data/archives'));

  const foreign = await archive(instance, { signer: publisher() });
  const refused = await client.run(`update --from ${foreign.path}`);
  expect([refused.exitCode, refused.out]).toEqual([
    3,
    'It cannot be updated now: the archive is not proven: it is signed by none of the keys that are trusted.\n',
  ]);
  expect(await left()).toEqual([]);

  const { path, bytes, size, sha256 } = await archive(instance);
  const half = 8 * 1024 * 1024;
  const asked = await instance.ask(`${updatePath}/archive`, {
    ...{ method: 'POST', body: JSON.stringify({ size, sha256 }) },
    headers: { 'content-type': 'application/json' },
  });
  expect(await asked.json()).toMatchObject({ version: null, received: 0 });
  const sent = await instance.ask(`${updatePath}/archive?sha256=${sha256}&offset=0`, {
    ...{ method: 'PUT', body: new Uint8Array(bytes.subarray(0, half)) },
    headers: { 'content-type': 'application/octet-stream' },
  });
  expect(await sent.json()).toMatchObject({ version: 'v1.1.0', received: half, ready: false });
  await instance.compose('kill', 'app');
  await instance.compose('start', 'app');
  await instance.waitUntilHealthy();

  const { out, err, exitCode } = await client.run(`update --from ${path}`);
  expect([exitCode, err]).toEqual([0, '']);
  expect(out).toMatch(
    /^(?:Sending .*\n)*Sending svc-v1\.1\.0-linux\.tar .* 100 %, .*\nUpdating svc v1\.0\.0 → v1\.1\.0\n/,
  );
  expect(await waitForEnd(instance)).toMatchObject({ outcome: 'updated', to: 'v1.1.0' });
  const { Args, Mounts } = await inspect(updaterOf(instance));
  expect(Args).toEqual(expect.arrayContaining(['--from', '/run/svc-updater/archive.tar', '--expect']));
  const isArchive = ({ Destination }: { Destination: string }) => Destination.endsWith('/archive.tar');
  expect(Mounts.find(isArchive)).toMatchObject({
    Source: join(instance.directory, `data/archives/archive-${sha256}-${size}.tar`),
    RW: false,
  });
  await expect.poll(left).toEqual([]);
  await removeContainer(updaterOf(instance));
  expect(
    judgeUpdated(before, await look(instance), {
      version: 'v1.1.0',
      changed: { '.env': (text) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') },
    }),
  ).toEqual([]);
});
