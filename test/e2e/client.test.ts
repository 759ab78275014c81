import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { formatServerMessage } from '../../src/client/output/text.ts';
import type { ProgressEvent } from '../../src/core/progress/event.ts';
import type { Run } from '../../src/wire/status.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { type BadRegistry, startBadRegistry } from '../rig/bad-registry.ts';
import { watchOutage } from '../rig/outage.ts';
import { plainPhases } from '../rig/phases.ts';
import { type ServerInstance, startServerInstance } from '../rig/server/server-instance.ts';
import { buildClient, Client, type Typed } from './support/client.ts';
import { watchReplaced } from './support/replaced.ts';
import { inspect, removeContainer, updaterOf, waitForStatus } from './support/server.ts';

// One instance and its operator: the bundled client, the server in its container, and a real engine (docs/client.md). Each
// test continues with the state of the previous one.

/** Bytes that the engine does not have yet; most of the release. */
const ballast = 4_000_000;
/** The worker, which is stopped first, does not stop until the client shows "Replacing", before svc stops. */
const stopsOnceReplacing = { STOP_UNTIL: '/data/shows-replacing' };
const stopsOnceDownloaded = { STOP_UNTIL: '/data/shows-downloaded' };
/** The new server does not respond until this file exists. */
async function endMigration(): Promise<void> {
  migratedAt ??= Date.now() / 1_000;
  await instance.write('data/migrated', '');
}
let migratedAt: number | undefined;

let registry: BadRegistry;
let instance: ServerInstance;
let client: Client;

beforeAll(async () => {
  registry = await startBadRegistry(inject('host').registry);
  const starting = startServerInstance(inject('host'), {
    registry: registry.host,
    settings: { UPDATER_WAIT: '7' },
    compose: { extra: { worker: 'stop_grace_period: 5m' } },
    release: { env: stopsOnceReplacing },
    publish: ['v1.3.1', 'v1.4.0'],
  });
  const [file, started] = await Promise.all([buildClient(), starting]);
  instance = started;
  client = new Client(file, instance);
  const env = { MIGRATES_UNTIL: '/data/migrated', ...stopsOnceDownloaded };
  await instance.publish('v1.1.0', { env, ballast });
  // The app exits immediately after each start.
  await instance.publish('v1.3.1', { env: { FAULT_APP: 'exit' } });
  await instance.write(
    'data/build-servers.json',
    JSON.stringify([
      { name: 'build-1', version: 'v1.0.0', command: 'ssh build-1 update-worker' },
      { name: 'build-20', version: 'v0.9.0', command: 'ssh build-20 update-worker' },
    ]),
  );
  await instance.offer('v1.1.0');
  await instance.status({ refresh: true });
});

afterAll(async () => {
  await instance?.dispose();
  await registry?.close();
});

const outdated = [
  '2 build servers are outdated:',
  '  build-1   ssh build-1 update-worker',
  '  build-20  ssh build-20 update-worker',
];
const logCommand = () => `docker logs ${updaterOf(instance)}`;
/** Runs a command printed by the client, on the server. */
const onMachine = async (command: string) => (await execa('sh', ['-c', command], { all: true })).all;
/** Everything except the server's own files. */
const state = async () => {
  await removeContainer(updaterOf(instance));
  return look(instance);
};
/** Removes the lines that are printed every ten seconds during a phase. */
const ofEndedPhases = (text: string) =>
  text.replace(/^(?:Waiting|Preparing|Checking|Downloading|Replacing|Verifying)\b.*\n/gm, '');
/** Replaces ages and times. */
const ageless = (text: string) =>
  text.replace(/\b\d+ (?:s|min|h|days)\b(?: \d+ s\b)?/g, 'N').replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d/g, 'T');

it('shows an update on a terminal, in a pipe and as JSON while the server is replaced', async () => {
  const before = await state();
  // Half of the download arrives at once, the rest once a second client follows.
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  registry.fail({ kind: 'late', after: ballast / 2, until }, { on: 'blobs' });
  onTestFinished(() => registry.fail(null));
  const watch = watchOutage(`http://127.0.0.1:${instance.port}/data/kept.txt`);
  const changes = await watchReplaced(`${instance.project}-app-1`);
  // A job delays the updater until the JSON client is listening, so that this client receives every line.
  const backup = await instance.addJob({ kind: 'backup', milliseconds: 120_000, title: 'nightly' });
  const progress = async () => (await instance.jobs()).find(({ id }) => id === backup.id)?.progress;
  await expect.poll(progress).toBe('running');
  const endBackup = () => instance.endJob(backup.id);
  onTestFinished(endBackup);
  let json: Typed | undefined;
  let plain: Typed | undefined;
  const seen = new Set<string>();
  const { screens, all, exitCode } = await client.sit('update --when-idle', {
    columns: 80,
    onScreen: (screen) => {
      if (json === undefined) {
        json = client.start('follow --json');
        json.says(/"waiting"/).then(endBackup, () => {});
      }
      if (plain === undefined && /● Downloading +\d+ % /.test(screen)) {
        plain = client.start('follow');
        plain.says(/Updating/).then(goOn, () => {});
      }
      if (/^● Replacing/m.test(screen)) void instance.write('data/shows-replacing', '');
      const away = /svc is unavailable +\d+ s$/m.exec(screen)?.[0];
      if (away !== undefined && seen.add(away).size > 1) void endMigration();
    },
  });
  const outage = await watch.stop();
  const { die } = await changes.stop();
  const [piped, programs] = await Promise.all([plain?.done, json?.done]);
  const log = await onMachine(logCommand());

  // The list fills in from top to bottom and is redrawn in place.
  expect(exitCode, all).toBe(0);
  for (const screen of screens) {
    expect(screen.match(/^Updating svc v1\.0\.0 → v1\.1\.0$/gm)).toHaveLength(1);
    for (const line of screen.split('\n')) expect(line.length).toBeLessThan(80);
  }
  const states = screens.map((screen) => /^● (\w+)/m.exec(screen)?.[1] ?? '').filter(Boolean);
  expect(states.filter((word, at) => word !== states[at - 1])).toEqual(
    ['Waiting', 'Preparing', 'Checking', 'Downloading', 'Replacing', 'Verifying'].filter((word) =>
      states.includes(word),
    ),
  );
  expect(states).toEqual(expect.arrayContaining(['Downloading', 'Replacing']));
  const percents = screens
    .flatMap((screen) => /^● Downloading +(\d+) % /m.exec(screen)?.[1] ?? [])
    .map(Number);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(Math.min(...percents)).toBeLessThan(100);
  // The client counts the downtime while it lasts. The pauses between attempts grow by at most half. A client without
  // CPU time skips seconds, and may count the same number of seconds too many.
  const counted = screens
    .flatMap((screen) => /svc is unavailable +(\d+) s$/m.exec(screen)?.[1] ?? [])
    .map(Number);
  expect(new Set(counted).size, screens.join('\n---\n')).toBeGreaterThan(1);
  expect(counted).toEqual(counted.toSorted((a, b) => a - b));
  const skipped = Math.max(...counted.map((seconds, at) => seconds - (counted[at - 1] ?? seconds)));
  expect(Math.max(...counted)).toBeLessThan((outage.longestMs / 1_000) * 1.5 + 3 + skipped);

  // An update on a busy machine may take more than a minute.
  const time = '(?:\\d+ min(?: \\d+ s)?|\\d+ s)';
  const end = new RegExp(
    `^✓ Updated to v1\\.1\\.0 in ${time} \\((?:(\\d+) min)? ?(?:(\\d+) s)? downtime\\)$`,
  );
  const lines = all.split('\n');
  expect(lines.slice(1, 6).map((line) => line.replace(/^(✓ \w+).* \d+ s$/, '$1'))).toEqual(
    ['Prepared', 'Checked', 'Downloaded', 'Replaced', 'Verified'].map((word) => `✓ ${word}`),
  );
  expect(lines[6]).toMatch(end);
  expect(lines.slice(7)).toEqual(outdated);
  const [, minutes = 0, seconds = 0] = end.exec(lines[6] ?? '') ?? [];
  const away = 60 * Number(minutes) + Number(seconds);

  // Clients that started to follow later print the same result.
  const closing = `${lines.slice(6).join('\n')}\n`;
  const [title = '', ...rows] = ofEndedPhases(piped?.out ?? '').split('\n');
  expect([piped?.exitCode, piped?.err, title]).toEqual([0, '', lines[0]]);
  expect(rows.slice(0, 5).map((row) => row.replace(/, \d+ (?:s|min).*/, ''))).toEqual([
    'Prepared',
    'Checked',
    'Downloaded',
    'Replaced',
    'Verified',
  ]);
  expect(rows.slice(5).join('\n')).toBe(closing);
  expect(piped?.out).not.toContain('\x1b');
  expect([programs?.exitCode, programs?.err]).toEqual([0, closing]);
  const told: { event: string; data: object }[] = (programs?.out ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const runs = told.flatMap(({ event, data }) => (event === 'run' ? [data as Run] : []));
  const said = told.flatMap(({ event, data }) => (event === 'line' ? [data as ProgressEvent] : []));
  expect(runs.length + said.length).toBe(told.length);
  expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
  expect(runs.at(-1)).toMatchObject({ outcome: 'updated', from: 'v1.0.0', to: 'v1.1.0', by: 'anna' });
  // Times are in whole seconds. The old server may respond until its exit, which the engine reports later.
  const toldToStop =
    Date.parse(runs.at(-1)?.steps.find(({ state }) => state === 'recreate')?.startedAt ?? '') / 1_000;
  expect(away).toBeGreaterThan((migratedAt ?? Number.NaN) - die - 1);
  expect(away).toBeLessThan(outage.longestMs / 1_000 + (die - toldToStop) + 1);
  // Across both servers, each log line was received once and in order.
  const logged = log.split('\n').map((line) => (JSON.parse(line) as ProgressEvent).time);
  expect(new Set(said.map(({ phase }) => phase))).toEqual(new Set(plainPhases));
  expect(said.map(({ time }) => time)).toEqual(logged.slice(-said.length));

  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await state(), { version: 'v1.1.0', changed })).toEqual([]);
});

it('reports an unknown result if svc does not respond, and the result after a manual repair', async () => {
  const updating = client.start('update --target v1.3.1 --timeout 4');
  await updating.says(/^Downloaded, /m);
  await instance.write('data/shows-downloaded', '');
  const { out, err, exitCode } = await updating.done;
  expect([exitCode, err]).toEqual([1, '']);
  expect(ofEndedPhases(out)).toMatch(
    /^Updating svc v1\.1\.0 → v1\.3\.1\nPrepared, .*\nChecked, .*\nDownloaded, .*\n/,
  );
  const [, command = ''] = /On the server, run: (docker logs \S+)\n/.exec(out) ?? [];
  expect(out.trimEnd().split('\n').slice(-3)).toEqual([
    'svc has not responded for 4 s; the result of the update is unknown.',
    `On the server, run: ${logCommand()}`,
    'When svc responds again, run: svc instance follow',
  ]);
  const status = async () => (await inspect(updaterOf(instance)))?.State.Status;
  await expect.poll(status, { timeout: 90_000, interval: 100 }).toBe('exited');
  const last = JSON.parse((await onMachine(command)).split('\n').at(-1) ?? '');
  expect(last).toMatchObject({
    phase: 'done',
    msg: expect.stringMatching(/^broken \(broken\): /),
    result: { outcome: 'broken', code: 'broken' },
  });

  await instance.write('.env', (await instance.read('.env')).replace('v1.3.1', 'v1.4.0'));
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
  await waitForStatus(instance, ({ version, run }) => version === 'v1.4.0' && run?.outcome === 'broken');
  const followed = await client.run('follow');
  const { message, advice } = last.result;
  expect([followed.exitCode, followed.err]).toEqual([5, '']);
  expect(followed.out).toContain(
    `✗ v1.3.1 was installed but is unhealthy (broken). ${formatServerMessage(message)}`,
  );
  expect(followed.out).toContain(`\n  Next: ${advice}\n  Full log, on the server: ${command}\n`);
  const ends = ageless((await client.run('history')).out)
    .split('\n')
    .slice(0, 2);
  expect(ends.map((line) => line.replace(/ +/g, ' '))).toEqual([
    'T v1.1.0 → v1.3.1 broken (broken) N, N downtime, by anna',
    'T v1.0.0 → v1.1.0 updated N, N downtime, by anna',
  ]);
});
