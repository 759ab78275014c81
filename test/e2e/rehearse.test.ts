import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findContainers } from '../rig/engine-api.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';
import { createWithData, during, expectAsBefore } from './support/own-data.ts';
import {
  addressOf,
  awaitRehearsed,
  connectFrom,
  expectNothingLeft,
  loseControlHelper,
  processStates,
  runIn,
} from './support/rehearsal.ts';

// docs/contract.md 13: `rehearse` starts the new version on a copy of the data.

const toNext = ['rehearse', '--target', 'v1.1.0'] as const;
const rehearsed =
  /^rehearsed v1\.0\.0 → v1\.1\.0: v1\.1\.0 became ready on a copy of the data \(.+\) after \d+ s; nothing was changed$/;
/** A release whose app is healthy once `/data/go-app` exists. */
const waiting = { env: { READY_WHEN: 'go' } };

async function expectUntouched(instance: Instance, log: string): Promise<void> {
  await expectAsBefore(instance, log);
  await expectNothingLeft(instance, log);
  expect(await readdir(join(instance.directory, '.svc-updater'))).toEqual(
    expect.not.arrayContaining(['rehearsal', 'restore', 'lock']),
  );
}

describe('a rehearsal', () => {
  test('reports that a good release became ready, and changes nothing', async () => {
    const instance = await createWithData({ publish: ['v1.1.0'] });
    const { log } = await expectAttempt(instance, toNext, {
      exitCode: 0,
      says: ['v1.0.0 became ready on the copy of the data after '],
      ends: [rehearsed],
    });
    await expectUntouched(instance, log);
    const plan = await instance.update(['plan', '--target', 'v1.1.0']);
    expect(plan.log).toMatch(
      /INFO {2}plan rehearsed at [\d: -]+ UTC: v1\.1\.0 became ready on a copy of the data/,
    );
    await instance.write('.env', `${await instance.read('.env')}SVC_HOST=changed\n`);
    expect((await instance.update(['plan', '--target', 'v1.1.0', '--accept-drift'])).log).not.toContain(
      'rehearsed at',
    );
  });

  test('reports that a bad release failed, with its log', async () => {
    const instance = await createWithData({ publish: ['v1.1.1'] });
    const { log } = await expectAttempt(instance, ['rehearse', '--target', 'v1.1.1'], {
      exitCode: 4,
      says: ['svc: cannot read the settings', 'v1.1.1 did not become ready on a copy of the data: '],
      ends: [/^failed \(rehearsal-failed\): nothing was changed; v1\.0\.0 is still running/],
    });
    await expectUntouched(instance, log);
    const plan = await instance.update(['plan', '--target', 'v1.1.1']);
    expect(plan.log).toMatch(
      /WARN {2}plan a rehearsal at [\d: -]+ UTC failed: v1\.1\.1 did not become ready/,
    );
  });

  test('has no result if the running version does not become ready on the copy', async () => {
    const instance = await createWithData({
      publish: ['v1.1.0'],
      release: waiting,
      impatient: true,
      text: { volumes: ['./more:/more'] },
    });
    await instance.write('data/go-app', '');
    await instance.write('data/go-worker', '');
    await instance.waitUntilHealthy();
    await instance.write('.svc-updater.yaml', "data: {'app:/data': none, 'worker:/data': none}\n");
    const { log } = await expectAttempt(instance, [...toNext, '--wait-timeout', '2'], {
      exitCode: 3,
      says: [
        'empty in the rehearsal: app:/data',
        'v1.0.0 did not become ready on a copy of the data, although it is running: ',
      ],
      ends: [/^refused \(rehearsal-inconclusive\): nothing was changed; v1\.0\.0 is still running/],
    });
    await expectNothingLeft(instance, log);
  });

  test('sees the data and reaches nothing else', async () => {
    const instance = await createWithData({
      publish: [],
      text: {
        volumes: ['/var/run/docker.sock:/var/run/docker.sock', '/etc/hostname:/etc/name:ro'],
        extra: {
          app: 'labels: { traefik.enable: "true" }\nextra_hosts: ["host.docker.internal:host-gateway"]',
        },
      },
    });
    await instance.publish('v1.1.0', { ...waiting, labels: { 'traefik.enable': 'true' } });
    const run = instance.startUpdate(toNext);
    const app = await awaitRehearsed(instance, run, 'v1.1.0');
    const found = [
      await runIn(app, 'cat /data/note; echo changed >/data/note; cat /etc/name >/tmp/name && echo name'),
      await runIn(app, '[ -S /var/run/docker.sock ] && echo socket; ls /var/run/docker.sock'),
    ];
    expect(found[0], run.log).toBe('of v1.0.0\nname');
    expect(found[1], run.log).toBe('');
    const live = (await findContainers(instance.project)).find(
      ({ Name }) => Name === `/${instance.project}-app-1`,
    );
    const hosts = ['127.1.2.3', await addressOf(live?.Id ?? ''), '172.17.0.1', '192.0.2.1'];
    const codes = ['ECONNREFUSED', 'ENETUNREACH', 'ENETUNREACH', 'ENETUNREACH'];
    expect((await connectFrom(app, hosts)).toSorted()).toEqual(codes);
    expect(app.Config.Labels, run.log).toMatchObject({ 'traefik.enable': 'false' });
    await runIn(app, ': >/data/go-app');
    const result = await run.done;
    expectWords(result, { exitCode: 0, says: [], ends: [rehearsed] });
    await expectUntouched(instance, result.log);
  });

  test('is refused if a service could reach the host, before anything is copied', async () => {
    const instance = await createWithData({
      publish: ['v1.1.0'],
      text: { extra: { app: 'cap_add: [NET_ADMIN]\npid: host' } },
    });
    const { log } = await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['these parts of the compose file cannot be rehearsed: app.cap_add, app.pid'],
      ends: [/^refused \(rehearsal-unsupported\): nothing was changed/],
      never: ['copying the data'],
    });
    await expectUntouched(instance, log);
  });
});

describe('other moments of a rehearsal', () => {
  test('an update ends a running rehearsal first, and succeeds', async () => {
    const instance = await createWithData({ publish: ['v1.1.0'] });
    await instance.publish('v1.2.0', waiting);
    const rehearsal = instance.startUpdate(['rehearse', '--target', 'v1.2.0']);
    await awaitRehearsed(instance, rehearsal, 'v1.2.0');
    const second = await instance.update(toNext);
    expectWords(second, { exitCode: 3, says: [], ends: [/^refused \(rehearsal-running\): /] });
    const update = await instance.update(['--target', 'v1.1.0', '--restore-point']);
    expectWords(update, {
      exitCode: 0,
      says: [/stopping the rehearsal in container .+, because updates and rollbacks take precedence/],
      ends: [/^updated v1\.0\.0 → v1\.1\.0/],
    });
    expect((await rehearsal.done).exitCode, rehearsal.log).toBe(143);
    await expectNothingLeft(instance, update.log);
    expect(await instance.read('data/note')).toBe('of v1.0.0\n');
  });

  test('a killed updater leaves no process suspended, and the next rehearsal removes the rest', async () => {
    const instance = await createWithData({ publish: ['v1.1.0'] });
    const killed = await during(instance, { args: toNext, verb: 'cold' }, async (run) => {
      await expect.poll(() => processStates(instance), { timeout: 30_000 }).toMatch(/^T+$/);
      await run.kill();
      await expect.poll(() => processStates(instance), { timeout: 30_000 }).not.toContain('T');
    });
    expect(killed.exitCode).toBe(137);
    const again = await instance.update(toNext);
    expectWords(again, { exitCode: 0, says: [], ends: [rehearsed] });
    await expectUntouched(instance, again.log);
  });

  test('a killed updater leaves no rehearsed container running', async () => {
    const instance = await createWithData({ publish: [] });
    await instance.publish('v1.1.0', waiting);
    const run = instance.startUpdate(toNext);
    await awaitRehearsed(instance, run, 'v1.1.0');
    await run.kill();
    const running = async () =>
      (await findContainers(`${instance.project}-rehearsal-`)).filter(({ State }) => State.Running).length;
    await expect.poll(running, { timeout: 30_000 }).toBe(0);
    const update = await instance.update(['--target', 'v1.0.0']);
    expectWords(update, { exitCode: 0, says: ['removing the remains of an earlier rehearsal'], ends: [] });
    await expectNothingLeft(instance, update.log);
  });

  test.each(['killed', 'removed'] as const)(
    'processes are resumed if the helper that suspends them is %s, and the rehearsal has no result',
    async (how) => {
      const instance = await createWithData({ publish: ['v1.1.0'] });
      const result = await during(instance, { args: toNext, verb: 'cold' }, async () => {
        await expect.poll(() => processStates(instance), { timeout: 30_000 }).toMatch(/^T+$/);
        await loseControlHelper(instance, how);
        if (how === 'killed')
          await expect.poll(() => processStates(instance), { timeout: 30_000 }).not.toContain('T');
      });
      expectWords(result, {
        exitCode: 3,
        says: [/the helper container that suspends .+ ended too early/],
        ends: [/^refused \(rehearsal-inconclusive\): nothing was changed/],
      });
      expect(await processStates(instance)).not.toContain('T');
      await expectUntouched(instance, result.log);
    },
  );

  test('SIGTERM ends a rehearsal at once, with nothing left', async () => {
    const instance = await createWithData({ publish: [] });
    await instance.publish('v1.1.0', waiting);
    const run = instance.startUpdate(toNext);
    await awaitRehearsed(instance, run, 'v1.1.0');
    await run.stop();
    const result = await run.done;
    expectWords(result, { exitCode: 143, says: [], ends: [/^cancelled: nothing was changed/] });
    await expectUntouched(instance, result.log);
  });
});

describe('update --rehearse', () => {
  test('updates after a successful rehearsal', async () => {
    const instance = await createWithData({ publish: ['v1.1.0'] });
    const run = await instance.update(['--target', 'v1.1.0', '--rehearse'], {
      ...{ keep: true, docker: ['--restart', 'on-failure:3'] },
    });
    expectWords(run, {
      exitCode: 0,
      says: [/rehearsed v1\.0\.0 → v1\.1\.0: v1\.1\.0 became ready .+; continuing with the update/],
      ends: [/^updated v1\.0\.0 → v1\.1\.0/],
    });
    await expectNothingLeft(instance, run.log);
    expect(await instance.version()).toBe('v1.1.0');
  });

  test('does not update after a failed one, also by the settings file', async () => {
    const instance = await createWithData({ publish: ['v1.1.1'] });
    await instance.write('.svc-updater.yaml', 'rehearse: true\n');
    const { log } = await expectAttempt(instance, ['--target', 'v1.1.1', '--restore-point'], {
      exitCode: 4,
      says: ['.svc-updater.yaml: rehearse true', 'svc: cannot read the settings'],
      ends: [/^failed \(rehearsal-failed\): nothing was changed; v1\.0\.0 is still running/],
    });
    await expectNothingLeft(instance, log);
  });
});
