import { expect, inject, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import { createServerInstance, inspect, removeContainer, updaterOf, waitForEnd } from './support/server.ts';

test('a server has what it offers fetched while nobody looks, and the update asks for no layer', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  try {
    const instance = await createServerInstance({ registry: registry.host, settings: { AHEAD: 'yes' } });
    const before = await look(instance);
    await instance.offer('v1.1.0');
    await instance.status({ refresh: true });
    const ready = async () => (await instance.status()).next;
    await expect
      .poll(ready, { timeout: 120_000, interval: 500 })
      .toMatchObject({ version: 'v1.1.0', ready: true });
    const name = `${updaterOf(instance)}-ahead-${instance.project}`;
    expect(await inspect(name)).toMatchObject({ State: { ExitCode: 0 } });
    await instance.compose('up', '-d');
    const strays = [`${name} (exited)`];
    const after = await look(instance);
    expect(after.strays).toEqual(strays);
    expect(judgeUntouched(before, { ...after, strays: [] })).toEqual([]);

    registry.fail(registryFaults.gone, { on: 'blobs' });
    expect((await instance.startUpdateOverHttp()).status).toBe(202);
    await waitForEnd(instance);
    // What told that the images are here is of no use to anybody any more.
    await expect.poll(() => inspect(name), { timeout: 120_000, interval: 500 }).toBeNull();
    await removeContainer(updaterOf(instance));
    expect(
      judgeUpdated(before, await look(instance), {
        version: 'v1.1.0',
        changed: { '.env': (text) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') },
      }),
    ).toEqual([]);
  } finally {
    await registry.close();
  }
});
