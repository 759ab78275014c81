import { execa } from 'execa';
import { expect, it } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { alone } from './support/instance.ts';
import {
  createServerInstance,
  inspect,
  judgeHold,
  removeContainer,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// Automatic updates: one starts in its window (docs/contract.md 8.37), and the steps of an upgrade path follow each
// other (8.38).

/** A window that ends at its start time lasts the whole day. */
const always = { from: '00:00', to: '00:00', timeZone: 'UTC' };
const notYet = 'The index is being built.';

// Three updates.
const longRun = { timeout: 600_000 };

it(
  'an automatic update starts in its window, and a manual update installs all steps of an upgrade path',
  longRun,
  async () => {
    const instance = await createServerInstance(alone);
    await instance.publish('v1.5.0', { labels: { 'svc.release-requires': 'v1.1.0' } });
    await instance.publish('v2.0.0', { labels: { 'svc.release-requires': 'v1.5.0' } });
    const before = await look(instance);
    await instance.offer('v1.1.0');
    const { next } = await instance.status({ refresh: true });
    expect(next?.version).toBe('v1.1.0');

    const set = await instance.setAutomatic({ enabled: true, ...always });
    expect(set.automatic).toMatchObject({ enabled: true, ...always, minAgeHours: 72, blockedBy: null });
    await waitForStatus(instance, ({ version, run }) => version === 'v1.1.0' && run?.endedAt != null);
    const first = await waitForEnd(instance);
    expect(first).toMatchObject({ outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'automatic' });

    await instance.offerPath('v1.1.0', 'v1.5.0', 'v2.0.0');
    const path = ['v1.5.0', 'v2.0.0'];
    const offered = async () => (await instance.status({ refresh: true })).next?.upgradePath;
    await expect.poll(offered, { interval: 1_000 }).toEqual(path);
    await instance.afterStep({ 'v1.5.0': notYet });
    const answer = await instance.startUpdateOverHttp(undefined, { allSteps: true });
    const pressed = (await answer.json()) as Run;
    expect(pressed).toMatchObject({ from: 'v1.1.0', to: 'v1.5.0', upgradePath: path, by: 'admin' });

    // The server of the intermediate step waits until the platform is ready. After a kill, the server that replaces it
    // waits too.
    const waits = ({ version, pendingStep: between }: Status) =>
      version === 'v1.5.0' && between?.reason === notYet;
    const { pendingStep: between, run } = await waitForStatus(instance, waits);
    expect([run, between]).toMatchObject([{ id: pressed.id, outcome: 'updated' }, { to: 'v2.0.0' }]);
    await expect.poll(async () => (await instance.holds()).at(-1)?.action).toBe('resume');
    await expect.poll(() => instance.recordedEnds()).toContain(pressed.id);
    const app = `${instance.project}-app-1`;
    await execa('docker', ['kill', '--signal', 'KILL', app]);
    await execa('docker', ['start', app]);
    await waitForStatus(instance, waits);
    const updater = await inspect(updaterOf(instance));
    await instance.afterStep({});
    const isOver = ({ version, run: last }: Status) => version === 'v2.0.0' && last?.endedAt != null;
    await waitForStatus(instance, isOver);
    expect((await waitForEnd(instance)).upgradePath).toEqual(path);
    expect((await inspect(updaterOf(instance))).Id).not.toBe(updater.Id);

    const history = await instance.history();
    expect(history.map(({ from, to, outcome, by }) => `${from} ${to} ${outcome} ${by}`)).toEqual([
      'v1.5.0 v2.0.0 updated admin',
      'v1.1.0 v1.5.0 updated admin',
      'v1.0.0 v1.1.0 updated automatic',
    ]);
    // Each run was started by the server of the previous release, and reported once by the next server.
    const holds = await instance.holds();
    for (const one of history) expect(judgeHold(holds, one)).toEqual([]);
    const ended = await instance.ended();
    expect(ended.map(({ version, run }) => `${version} ${run.state}`)).toEqual(
      ['v1.1.0', 'v1.5.0', 'v2.0.0'].map((version) => `${version} updated`),
    );
    await removeContainer(updaterOf(instance));
    const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v2.0.0') };
    expect(judgeUpdated(before, await look(instance), { version: 'v2.0.0', changed })).toEqual([]);
  },
);
