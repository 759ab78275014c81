import { expect, it } from 'vitest';
import type { Rehearsal } from '../../src/wire/status.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { updatePath } from '../rig/server/server-instance.ts';
import { buildClient, Client } from './support/client.ts';
import { expectNothingLeft } from './support/rehearsal.ts';
import {
  createServerInstance,
  inspect,
  removeContainer,
  type ServerInstance,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// Rehearsals that a server starts (docs/contract.md 8.47, 13). The app of the instance is the server itself.

/** A window that ends at its start time lasts the whole day. */
const always = { from: '00:00', to: '00:00', timeZone: 'UTC' };
const rehearsalContainerOf = (instance: ServerInstance) =>
  `${updaterOf(instance)}-rehearsal-${instance.project}`;

async function createInstanceWithOffer(version: string, { isBroken = false } = {}): Promise<ServerInstance> {
  const instance = await createServerInstance();
  await instance.publish(version, isBroken ? { env: { FAULT_APP: 'exit' } } : {});
  await offer(instance, version);
  return instance;
}

async function offer(instance: ServerInstance, version: string): Promise<void> {
  await instance.offer(version);
  await expect
    .poll(async () => (await instance.status({ refresh: true })).next?.version, { interval: 1_000 })
    .toBe(version);
}

async function rehearse(instance: ServerInstance): Promise<Rehearsal> {
  const answer = await instance.ask(`${updatePath}/rehearsal`, { method: 'POST' });
  expect(answer.status).toBe(202);
  const begun = (await answer.json()) as Rehearsal;
  expect(begun).toMatchObject({ state: 'running', endedAt: null, by: 'admin', readySeconds: null });
  const hasEnded = ({ rehearsal }: { rehearsal: Rehearsal | null }) =>
    rehearsal?.startedAt === begun.startedAt && rehearsal.endedAt !== null;
  const { rehearsal } = await waitForStatus(instance, hasEnded);
  return rehearsal as Rehearsal;
}

/** The runs of an instance, and the times at which its queue was held. */
const readRunsAndHolds = async (instance: ServerInstance) => [
  await instance.history(),
  (await instance.holds()).filter(({ action }) => action === 'hold'),
];

it('rehearses a release without holding the queue or adding a run, and then installs it', async () => {
  const instance = await createInstanceWithOffer('v1.1.0');
  const before = await look(instance);
  const second = await rehearse(instance).then(async (first) => {
    expect(first).toMatchObject({ version: 'v1.1.0', state: 'succeeded', advice: null });
    expect(first.message).toMatch(/^rehearsed v1\.0\.0 → v1\.1\.0: v1\.1\.0 became ready on a copy/);
    expect(first.readySeconds).toBeGreaterThan(0);
    return rehearse(instance);
  });
  expect(second.state).toBe('succeeded');
  expect(await readRunsAndHolds(instance)).toEqual([[], []]);
  await expect.poll(async () => (await inspect(rehearsalContainerOf(instance))).State.Running).toBe(false);

  expect((await instance.startUpdateOverHttp()).status).toBe(202);
  await waitForStatus(instance, ({ version, run }) => version === 'v1.1.0' && run?.endedAt != null);
  expect((await waitForEnd(instance)).outcome).toBe('updated');
  await expect.poll(() => inspect(rehearsalContainerOf(instance))).toBeNull();
  expect((await instance.status()).rehearsal).toBeNull();
  await removeContainer(updaterOf(instance));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
});

it('does not install a release automatically if its rehearsal failed, but installs the next release', async () => {
  const instance = await createInstanceWithOffer('v1.1.1', { isBroken: true });
  const app = await inspect(`${instance.project}-app-1`);
  await instance.setAutomatic({ enabled: true, ...always, rehearse: true });
  const { automatic, rehearsal } = await waitForStatus(
    instance,
    (status) => status.automatic?.blockedBy !== null,
  );
  expect(automatic?.blockedBy?.code).toBe('rehearsal-failed');
  expect(rehearsal).toMatchObject({ version: 'v1.1.1', state: 'failed', by: 'automatic' });
  expect(rehearsal?.message).toMatch(/^v1\.1\.1 did not become ready on a copy of the data: /);
  expect(await readRunsAndHolds(instance)).toEqual([[], []]);
  expect((await inspect(`${instance.project}-app-1`)).State).toEqual(app.State);
  await expectNothingLeft(instance, '');

  await instance.publish('v1.2.0', {});
  await offer(instance, 'v1.2.0');
  await waitForStatus(instance, ({ version, run }) => version === 'v1.2.0' && run?.endedAt != null);
  expect(await waitForEnd(instance)).toMatchObject({ outcome: 'updated', by: 'automatic' });
});

it('cancels a rehearsal if an admin cancels it or an update starts', async () => {
  const instance = await createInstanceWithOffer('v1.1.0');
  const client = new Client(await buildClient(), instance);
  const first = client.start('rehearse');
  await first.says(/Starting v1\.0\.0 on the copy/);
  const cancelled = await client.run('rehearse --cancel');
  expect(cancelled).toMatchObject({ exitCode: 0, err: '' });
  expect(cancelled.out).toContain('The rehearsal of v1.1.0 was cancelled');
  expect(await first.done).toMatchObject({ exitCode: 3 });
  await expectNothingLeft(instance, '');
  expect(await client.run('rehearse --cancel')).toMatchObject({
    exitCode: 3,
    out: 'No rehearsal is running.\n',
  });

  const second = client.start('rehearse --target v1.1.0');
  await second.says(/Starting v1\.0\.0 on the copy/);
  expect((await client.run('update')).exitCode).toBe(0);
  expect(await second.done).toMatchObject({ exitCode: 3, err: '' });
  await expectNothingLeft(instance, '');
});
