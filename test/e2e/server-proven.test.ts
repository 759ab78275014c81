import { execa } from 'execa';
import { expect, test } from 'vitest';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { publisher } from '../provenance/sign.ts';
import {
  createServerInstance,
  inspect,
  removeContainer,
  type ServerInstance,
  updaterOf,
  waitForEnd,
} from './support/server.ts';

// docs/contract.md 8.39: a server with `feed.trust` offers what somebody has signed, and tells its updater what that is.

const anna = publisher();
const none = `sha256:${'0'.repeat(64)}`;

/** A release with what proves it, as a forge has it. */
async function offer(
  instance: ServerInstance,
  version: string,
  digest: string,
  { signer = anna, publishedAt = '2026-11-20T08:00:00Z' } = {},
): Promise<void> {
  const { stdout: platform } = await execa('docker', ['version', '-f', '{{.Server.Os}}/{{.Server.Arch}}']);
  const file = JSON.stringify({
    ...{ format: 1, product: 'svc', version, channel: 'stable', publishedAt, files: {} },
    images: {
      [instance.image]: {
        reference: `${instance.image}:${version}`,
        digest,
        platforms: { [platform]: { manifest: none, config: none } },
      },
    },
  });
  const names = ['release.json', 'release.json.sigstore.json'];
  const assets = names.map((name) => ({ name, url: `${version}.${name}` }));
  await instance.write(`data/${version}.release.json`, file);
  await instance.write(`data/${version}.release.json.sigstore.json`, signer.sign(Buffer.from(file)));
  await instance.write(
    'data/releases.json',
    JSON.stringify({ releases: [{ version, publishedAt, assets }] }),
  );
}

test('a server offers what somebody has signed, and its updater takes nothing else for it', async () => {
  const instance = await createServerInstance({ publish: [] });
  await instance.write('data/trust.json', JSON.stringify([anna.key]));
  await instance.compose('restart', 'app');
  await instance.waitUntilHealthy();
  const before = await look(instance);
  const digest = await instance.publish('v1.1.0');

  await offer(instance, 'v1.1.0', digest, { signer: publisher() });
  const unproven = await instance.status({ refresh: true });
  expect([unproven.next, unproven.feedError?.message]).toEqual([
    null,
    expect.stringContaining('v1.1.0 is not proven: it is signed by none of the keys that are trusted'),
  ]);
  const refused = await instance.startUpdateOverHttp('v1.1.0');
  expect([refused.status, await refused.json()]).toEqual([
    409,
    expect.objectContaining({ reason: expect.objectContaining({ code: 'unproven' }) }),
  ]);

  // A release of its own, as what is wrong stays wrong; its tag is moved after it was signed.
  const signed = await instance.publish('v1.2.0', { version: '1.2.0' });
  await offer(instance, 'v1.2.0', signed);
  const next = async () => (await instance.status({ refresh: true })).next?.version;
  await expect.poll(next, { timeout: 60_000, interval: 11_000 }).toBe('v1.2.0');
  await instance.publish('v1.2.0', { version: '1.2.0', labels: { moved: 'yes' } });
  expect((await instance.startUpdateOverHttp()).status).toBe(202);
  expect(await waitForEnd(instance)).toMatchObject({ outcome: 'refused', code: 'not-proven' });
  const { Args } = await inspect(updaterOf(instance));
  expect(Args).toContain(`${instance.image}=${signed}`);

  await instance.publish('v1.2.0', { version: '1.2.0' });
  expect((await instance.startUpdateOverHttp()).status).toBe(202);
  expect(await waitForEnd(instance)).toMatchObject({ outcome: 'updated', to: 'v1.2.0' });
  await removeContainer(updaterOf(instance));
  expect(
    judgeUpdated(before, await look(instance), {
      version: 'v1.2.0',
      changed: { '.env': (text) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.2.0') },
    }),
  ).toEqual([]);
});
