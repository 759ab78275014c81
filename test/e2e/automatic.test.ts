import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, inject, it } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import type { Haproxy } from '../rig/haproxy.ts';
import { startLoadBalancer } from '../rig/server/load-balancer.ts';
import { type ServerInstance, startServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { alone } from './support/instance.ts';
import {
  askReplica,
  inspect,
  judgeHold,
  removeContainer,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';
import { minuteAfter, windowFrom } from './support/window.ts';

// What is offered starts by itself (docs/contract.md 8.37). Windows begin and end with a minute: which hour of the night that
// is, the time zone says. Both stories are told at once, as most of them is waiting.

let one: ServerInstance;
let two: ServerInstance;
let proxy: Haproxy;

beforeAll(async () => {
  [one, two] = await Promise.all([
    startServerInstance(inject('host'), alone),
    startServerInstance(inject('host'), {
      ...alone,
      compose: { port: null, extra: { app: 'deploy: { replicas: 2 }' } },
    }),
  ]);
  proxy = await startLoadBalancer(two, '/version');
  for (const instance of [one, two]) await instance.offer('v1.1.0');
  await Promise.all([
    one.status({ refresh: true }),
    askReplica(two, 1, readNow),
    askReplica(two, 2, readNow),
  ]);
});

const readNow = `${updatePath}?refresh=1`;

afterAll(async () => {
  await proxy?.stop();
  await Promise.all([one?.dispose(), two?.dispose()]);
});

const minute = 60_000;
/** Three minutes of it are waiting. */
const timeout = 10 * minute;
/** A server looks every fifteen seconds. */
const oneLook = 16_000;

const told = (runs: Run[]) => runs.map(({ to, outcome, by }) => `${to} ${outcome} ${by}`);
const day = 1440 * minute;
const isoOf = (moment: number) => new Date(moment).toISOString();
const nextOf = ({ automatic }: Status) => automatic?.nextAt;

it.concurrent('begins in its window, ends quietly with it where a job does not, and stays off', {
  timeout,
}, async ({ expect }) => {
  const before = await look(one);
  const job = await one.addJob({ kind: 'deployment', milliseconds: 600_000, title: 'shop' });
  // Not yet.
  const later = minuteAfter(0) + 120 * minute;
  const set = await one.setAutomatic({ enabled: true, ...windowFrom(later, 60) });
  expect(set.automatic).toMatchObject({ enabled: true, from: '02:00', to: '03:00', age: 72, keptBack: null });
  expect(nextOf(set)).toBe(isoOf(later));

  // It is two o'clock already, and not for long.
  const begin = minuteAfter(-minute);
  const end = minuteAfter(3 * oneLook);
  await one.setAutomatic(windowFrom(begin, (end - begin) / minute));
  const jobs = [{ kind: 'deployment', title: 'shop' }];
  const { run, reason } = await waitForStatus(one, (status) => status.run?.until != null, 60);
  expect({ run, reason }).toMatchObject({
    run: { state: 'waiting', from: 'v1.0.0', to: 'v1.1.0', by: 'automatic', jobs },
    reason: { code: 'update-running' },
  });
  const quiet = await waitForStatus(one, (status) => status.run?.endedAt != null, 180);
  expect(quiet.run).toMatchObject({
    id: run?.id,
    outcome: 'cancelled',
    message: 'it was not idle by the end of its window: nothing was changed',
    code: null,
  });
  expect(Date.parse(quiet.run?.endedAt ?? '')).toBeGreaterThanOrEqual(end);
  // Its window is over, and the queue goes on.
  expect(nextOf(quiet)).toBe(isoOf(begin + day));
  const lastHold = async () => (await one.holds()).at(-1)?.action;
  await expect.poll(lastHold, { timeout: 30_000 }).toBe('resume');
  expect(judgeHold(await one.holds(), quiet.run as Run)).toEqual([]);
  expect(await inspect(updaterOf(one))).toBeNull();

  // Off again, idle and in a window.
  await one.setAutomatic({ enabled: false, ...windowFrom(end, 30) });
  await one.endJob(job.id);
  await sleep(oneLook);
  expect(await one.status()).toMatchObject({ automatic: { enabled: false, nextAt: null }, canUpdate: true });
  expect(told(await one.history())).toEqual(['v1.1.0 cancelled automatic']);
  expect(await one.ended()).toEqual([]);

  await one.setAutomatic({ enabled: true });
  await waitForStatus(one, ({ version, run }) => version === 'v1.1.0' && run?.endedAt != null, 120);
  const updated = await waitForEnd(one);
  expect(updated).toMatchObject({ outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'automatic' });
  expect((await one.ended()).map(({ run }) => run.id)).toEqual([updated.id]);
  await removeContainer(updaterOf(one));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await look(one), { version: 'v1.1.0', changed })).toEqual([]);
});

it.concurrent('begins once its window does, one run whatever the number of servers', { timeout }, async ({
  expect,
}) => {
  const before = await look(two);
  for (const number of [1, 2]) {
    const status = await (await askReplica(two, number, updatePath)).json();
    expect(status).toMatchObject({ canUpdate: true, next: { version: 'v1.1.0' } });
  }
  // Each server looks at least once before.
  const begin = minuteAfter(oneLook);
  const set = await two.setAutomatic({ enabled: true, ...windowFrom(begin, 180) });
  expect(nextOf(set)).toBe(isoOf(begin));
  await waitForStatus(two, ({ version, run }) => version === 'v1.1.0' && run?.endedAt != null, 200);
  const run = await waitForEnd(two);
  expect(run).toMatchObject({ outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'automatic', jobs: [] });
  expect(Date.parse(run.startedAt)).toBeGreaterThanOrEqual(begin);
  expect(judgeHold(await two.holds(), run)).toEqual([]);

  // What comes out now has another night.
  await two.offer('v1.1.0', 'v1.2.0');
  const offered = ({ next }: Status) => next?.version === 'v1.2.0';
  await expect.poll(async () => offered(await two.status({ refresh: true })), { timeout: 60_000 }).toBe(true);
  expect(nextOf(await two.status())).toBe(isoOf(begin + day));
  expect(told(await two.history())).toEqual(['v1.1.0 updated automatic']);
  expect((await two.ended()).map(({ run }) => run.id)).toEqual([run.id]);
  const servers = async () => new Set((await two.holds()).map(({ server }) => server)).size;
  await expect.poll(servers, { timeout: 60_000 }).toBe(4);
  await removeContainer(updaterOf(two));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await look(two), { version: 'v1.1.0', changed })).toEqual([]);
});
