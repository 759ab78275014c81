import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import type { Haproxy } from '../rig/haproxy.ts';
import type { StoredJob } from '../rig/server/job-queue.ts';
import { startLoadBalancer } from '../rig/server/load-balancer.ts';
import { type ServerInstance, startServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { alone } from './support/instance.ts';
import {
  askReplica,
  follow,
  inspect,
  judgeHold,
  removeContainer,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// Two servers of one instance, behind a proxy, with the store and the queue in common (docs/contract.md 8.18–8.20).

let instance: ServerInstance;
let proxy: Haproxy;

beforeAll(async () => {
  instance = await startServerInstance(inject('host'), {
    ...alone,
    compose: { port: null, extra: { app: 'deploy: { replicas: 2 }' } },
  });
  proxy = await startLoadBalancer(instance, '/version');
  await instance.offer('v1.1.0');
});

afterAll(async () => {
  await proxy?.stop();
  await instance?.dispose();
});

const replica = (number: 1 | 2) => `${instance.project}-app-${number}`;

const askAt = (number: 1 | 2, path: string, init?: RequestInit) => askReplica(instance, number, path, init);
const statusAt = async (number: 1 | 2, query = '') =>
  (await (await askAt(number, `${updatePath}${query}`)).json()) as Status;
const toldOf = async (id: string) =>
  (await instance.ended()).flatMap(({ run }) => (run.id === id ? [run.state] : []));
const serversOf = async () => new Set((await instance.holds()).map(({ server }) => server));

it('make one run, which a restart of the other one leaves alone, and which the other one cancels', async () => {
  for (const number of [1, 2] as const) {
    await expect
      .poll(() => statusAt(number, '?refresh=1').catch(() => null))
      .toMatchObject({ canUpdate: true });
  }
  await waitForStatus(instance, ({ canUpdate }) => canUpdate);
  // By the first one, so that the restart of the other one does not cut it short.
  const job = { kind: 'deployment', milliseconds: 600_000, title: 'shop' };
  const added = await askAt(1, '/test/jobs', { method: 'POST', body: JSON.stringify(job) });
  const accepted = await askAt(1, updatePath, { method: 'POST', body: '{"when":"idle"}' });
  expect(accepted.status).toBe(202);
  const { id } = (await accepted.json()) as Run;
  const jobs = [{ kind: 'deployment', title: 'shop' }];
  const isOn = { run: { id, state: 'waiting', jobs, outcome: null }, reason: { code: 'update-running' } };
  for (const number of [1, 2] as const) {
    await expect.poll(() => statusAt(number), { timeout: 30_000 }).toMatchObject(isOn);
  }
  await execa('docker', ['restart', replica(2)]);
  await expect.poll(() => statusAt(2).catch(() => null), { timeout: 30_000 }).toMatchObject(isOn);
  expect((await askAt(2, updatePath, { method: 'POST' })).status).toBe(409);
  expect(await statusAt(1)).toMatchObject(isOn);

  expect((await askAt(2, `${updatePath}/progress`, { method: 'DELETE' })).status).toBe(202);
  for (const number of [1, 2] as const) {
    await expect
      .poll(async () => (await statusAt(number)).run, { timeout: 30_000 })
      .toMatchObject({ id, state: 'cancelled', cancelAskedBy: 'admin' });
  }
  const run = await waitForEnd(instance);
  await expect.poll(() => toldOf(id), { timeout: 30_000 }).toEqual(['cancelled']);
  expect(judgeHold(await instance.holds(), run)).toEqual([]);
  expect(await inspect(updaterOf(instance))).toBeNull();
  await instance.endJob(((await added.json()) as StoredJob).id);
  await waitForStatus(instance, ({ canUpdate }) => canUpdate);
});

it('are both replaced by what both are asked for at once, and tell one end', async () => {
  const before = await look(instance);
  const old = await serversOf();
  expect(old.size).toBe(2);
  const answers = await Promise.all(
    ([1, 2] as const).map((number) => askAt(number, updatePath, { method: 'POST' })),
  );
  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as Partial<
    Run & { reason: { code: string } }
  >[];
  expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
  const id = bodies.find((body) => body.id !== undefined)?.id ?? '';
  expect(bodies.find(({ reason }) => reason !== undefined)?.reason?.code).toBe('update-running');
  const following = follow(instance);
  const queued = await instance.addJob({ kind: 'job', milliseconds: 1 });
  for (const number of [1, 2] as const) {
    await expect
      .poll(() => statusAt(number), { timeout: 30_000 })
      .toMatchObject({ run: { id, outcome: null } });
  }

  const { events, lines, runs, reconnections } = await following;
  expect(reconnections).toBeGreaterThan(0);
  const numbers = events.flatMap(({ event, id }) => (event === 'line' ? [Number(id?.split(':')[1])] : []));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  expect(new Set(runs.map((run) => run.id))).toEqual(new Set([id]));
  expect(lines.at(-1)?.message).toMatch(/^updated v1\.0\.0 → v1\.1\.0 /);

  const run = await waitForEnd(instance);
  expect(run).toMatchObject({ id, state: 'updated', by: 'admin' });
  for (const number of [1, 2] as const) {
    await expect
      .poll(() => statusAt(number).catch(() => null), { timeout: 30_000 })
      .toMatchObject({ version: 'v1.1.0', run: { id, state: 'updated' }, reason: { code: 'up-to-date' } });
  }
  const isDone = async () => (await instance.jobs()).find((job) => job.id === queued.id);
  await expect.poll(isDone, { timeout: 30_000 }).toMatchObject({ progress: 'done', runs: 1 });
  expect(Date.parse((await isDone())?.started ?? '')).toBeGreaterThan(Date.parse(run.endedAt ?? ''));
  expect(judgeHold(await instance.holds(), run)).toEqual([]);
  expect((await serversOf()).size).toBe(4);
  await expect.poll(() => toldOf(id), { timeout: 30_000 }).toEqual(['updated']);
  expect((await instance.history()).map(({ state }) => state)).toEqual(['updated', 'cancelled']);

  await removeContainer(updaterOf(instance));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
  expect((await instance.ended()).map(({ run }) => run.state)).toEqual(['cancelled', 'updated']);
});
