import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { fileStore } from '../../src/server/store/file-store.ts';
import type { Run, Status } from '../../src/wire/status.ts';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { type BadRegistry, startBadRegistry } from '../rig/bad-registry.ts';
import type { JobRequest, StoredJob } from '../rig/server/job-queue.ts';
import { type ServerInstance, startServerInstance } from '../rig/server/server-instance.ts';
import { alone } from './support/instance.ts';
import { watchReplaced } from './support/replaced.ts';
import {
  inspect,
  judgeHold,
  removeContainer,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// Successive runs of one instance whose servers, updater and engine are killed (docs/contract.md 8.2, 8.18–8.20).

/**
 * Larger than the rest of the release that the engine does not have yet. The pull stops after a quarter, which is more
 * than the engine buffers before it reports a layer. A resumed pull continues after the received bytes.
 */
const ballast = 12_000_000;

let registry: BadRegistry;
let engine: BadEngine;
let instance: ServerInstance;

beforeAll(async () => {
  const host = inject('host');
  registry = await startBadRegistry(host.registry);
  engine = await startBadEngine(join(host.directory, `${randomBytes(3).toString('hex')}.sock`));
  instance = await startServerInstance(host, {
    ...alone,
    registry: registry.host,
    settings: { SVC_SOCKET: engine.socket },
    publish: [],
  });
  await instance.publish('v1.1.0', { ballast });
  await instance.offer('v1.1.0');
  await instance.status({ refresh: true });
});

afterAll(async () => {
  await instance?.dispose();
  await engine?.close();
  await registry?.close();
});

const app = () => `${instance.project}-app-1`;
/** The state of the instance after the updater container is removed. */
const state = async () => {
  await removeContainer(updaterOf(instance));
  return look(instance);
};

async function start(order: Parameters<ServerInstance['startUpdateOverHttp']>[1] = {}) {
  const answer = await instance.startUpdateOverHttp(undefined, order);
  const run = (await answer.json()) as Run;
  expect({ status: answer.status, run }).toMatchObject({ status: 202, run: { state: expect.any(String) } });
  return run;
}

const cancel = async () => {
  const answer = await instance.cancelOverHttp();
  return {
    status: answer.status,
    ...((await answer.json()) as Partial<Run> & { reason?: { code: string } }),
  };
};

const inState = (state: Run['state']): Promise<Status> =>
  waitForStatus(instance, ({ run }) => run?.state === state);

/** The reported states of a run, in order. They are read from the disk, because no server may be available. */
const toldOf = async (id: string) => {
  const lines = (await instance.read('data/ended').catch(() => '')).trim().split('\n');
  const runs = lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { run: Run }).run);
  return runs.filter((run) => run.id === id).map(({ state }) => state);
};

const jobOf = async (id: number) => (await instance.jobs()).find((job) => job.id === id);

/** Starts a job that runs until the test ends it. */
async function startJob(job: Pick<JobRequest, 'kind' | 'title'>): Promise<StoredJob> {
  const added = await instance.addJob({ ...job, milliseconds: 600_000 });
  await expect.poll(() => jobOf(added.id)).toMatchObject({ progress: 'running', runs: 1 });
  return added;
}

/** Stalls every pull until the returned function is called. */
function stallPulls(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  registry.fail({ kind: 'late', after: ballast / 4, until: promise }, { on: 'blobs' });
  return () => {
    registry.fail(null);
    resolve();
  };
}

/** Kills the server without a signal that it could handle, and starts it again. */
async function killServer(): Promise<void> {
  await execa('docker', ['kill', '--signal', 'KILL', app()]);
  expect(await instance.version()).toBeNull();
  await execa('docker', ['start', app()]);
}

it('a run waits for running jobs, holds queued jobs and is cancelled during the pull', async () => {
  const before = await state();
  const goOn = stallPulls();
  const backup = await startJob({ kind: 'backup', title: 'Nightly backup' });
  const { id, ...accepted } = await start({ when: 'idle' });
  const jobs = [{ kind: 'backup', title: 'Nightly backup', state: 'running', stuck: false }];
  expect(accepted).toMatchObject({ state: 'waiting', jobs });
  const queued = await instance.addJob({ kind: 'job', milliseconds: 50 });

  const { run, reason, canUpdate } = await waitForStatus(instance, (status) => status.run?.until != null);
  expect({ run, reason, canUpdate }).toMatchObject({
    run: { id, state: 'waiting', jobs, by: 'admin' },
    reason: { code: 'update-running' },
    canUpdate: false,
  });
  expect(await inspect(updaterOf(instance))).toBeNull();
  await instance.endJob(backup.id);
  await inState('pull');
  expect([await jobOf(backup.id), await jobOf(queued.id)]).toMatchObject([
    { progress: 'done', runs: 1 },
    { progress: 'queued', runs: 0 },
  ]);

  expect(await cancel()).toMatchObject({ status: 202, id, cancelRequestedBy: 'admin' });
  const ended = await waitForEnd(instance);
  expect(ended).toMatchObject({ id, state: 'cancelled', phase: 'pull', code: null, jobs: [] });
  expect(await cancel()).toMatchObject({ status: 409, reason: { code: 'not-running' } });
  goOn();
  await expect.poll(() => jobOf(queued.id)).toMatchObject({ progress: 'done', runs: 1 });
  expect(Date.parse((await jobOf(queued.id))?.started ?? '')).toBeGreaterThan(
    Date.parse(ended.endedAt ?? ''),
  );
  expect(judgeHold(await instance.holds(), ended)).toEqual([]);
  await expect.poll(() => toldOf(id)).toEqual(['cancelled']);
  expect(judgeUntouched(before, await state())).toEqual([]);
});

it('a run is cancelled if its server is killed before the launch, and the next server reports the run', async () => {
  const job = await startJob({ kind: 'cron' });
  const { id } = await start({ when: 'idle' });
  // The server reports the state slightly before the store contains it, but the next server reads only the store.
  const store = fileStore(join(instance.directory, 'data', 'updates'));
  await expect.poll(() => store.get('run')).toContain('"state":"waiting"');
  await killServer();
  const ended = await waitForEnd(instance);
  expect(ended).toMatchObject({ id, state: 'cancelled', phase: null });
  expect(await inspect(updaterOf(instance))).toBeNull();
  await expect.poll(() => toldOf(id)).toEqual(['cancelled']);
  expect(judgeHold(await instance.holds(), ended)).toEqual([]);
  // The job was interrupted and is run again.
  await expect.poll(() => jobOf(job.id)).toMatchObject({ progress: 'running', runs: 2 });
  await instance.endJob(job.id);
  await waitForStatus(instance, ({ canUpdate }) => canUpdate);
});

it('a run is followed while the engine is down, after its server is killed, and after its updater is killed', async () => {
  const before = await state();
  const goOn = stallPulls();
  const { id } = await start();
  const isOn = { run: { id, state: 'pull', outcome: null }, reason: { code: 'update-running' } };
  await inState('pull');
  const waiting = await instance.addJob({ kind: 'job', milliseconds: 1 });

  engine.down();
  // Wait until the updater has noticed it; the server reports nothing about the engine.
  const away = /the engine stopped responding|the engine went away|trying again/;
  await expect
    .poll(async () => (await execa('docker', ['logs', updaterOf(instance)], { all: true })).all)
    .toMatch(away);
  expect(await instance.progress()).toMatchObject(isOn.run);
  engine.up();
  await expect.poll(async () => (await instance.progress()).warnings.join()).toMatch(away);
  expect(await waitForStatus(instance, ({ reason }) => reason?.code === 'update-running')).toMatchObject(
    isOn,
  );

  await killServer();
  expect(await inState('pull')).toMatchObject(isOn);
  expect(await toldOf(id)).toEqual([]);
  expect(await jobOf(waiting.id)).toMatchObject({ progress: 'queued' });

  await execa('docker', ['kill', '--signal', 'KILL', updaterOf(instance)]);
  const crashed = await waitForEnd(instance);
  expect(crashed).toMatchObject({ id, state: 'crashed', code: 'updater-ended' });
  expect(judgeHold(await instance.holds(), crashed)).toEqual([]);
  await expect.poll(() => jobOf(waiting.id)).toMatchObject({ progress: 'done' });
  await expect.poll(() => toldOf(id)).toEqual(['crashed']);

  const calls = (await instance.holds()).length;
  await execa('docker', ['start', updaterOf(instance)]);
  expect(await inState('pull')).toMatchObject(isOn);
  expect((await instance.history())[0]).toMatchObject({ id, outcome: null, by: 'admin' });
  const kept = await instance.addJob({ kind: 'job', milliseconds: 1 });
  const changes = await watchReplaced(app());
  // The new server responds but is unhealthy, so the updater waits.
  await instance.write('data/unwell.json', '"v1.1.0"');
  goOn();
  let refusedAt = 0;
  const told = async () => {
    const askedAt = Date.now() / 1_000;
    const nobody = (error: Error) => {
      if (error instanceof TypeError) refusedAt = askedAt;
    };
    return instance.status().catch(nobody);
  };
  await expect.poll(told, { timeout: 120_000 }).toMatchObject({ version: 'v1.1.0', run: { endedAt: null } });
  const answeredAt = Date.now() / 1_000;
  expect(await cancel()).toMatchObject({ status: 409, reason: { code: 'too-late' } });
  await instance.write('data/unwell.json', '""');
  const updated = await waitForEnd(instance);
  expect(updated).toMatchObject({ id, state: 'updated', from: 'v1.0.0', to: 'v1.1.0', code: null });
  const { die } = await changes.stop();
  // The engine reports a signal or a start only afterwards, when a server may already have recorded its own time.
  const toldToStop = Date.parse(updated.steps.at(-2)?.startedAt ?? '') / 1_000;
  const times = JSON.stringify({ toldToStop, die, refusedAt, answeredAt, away: updated.downtimeSeconds });
  expect(updated.downtimeSeconds, times).toBeGreaterThan(refusedAt - die - 0.1);
  expect(updated.downtimeSeconds, times).toBeLessThan(answeredAt - toldToStop + 0.1);
  await expect.poll(() => toldOf(id)).toEqual(['crashed', 'updated']);
  const since = (await instance.holds()).slice(calls).map(({ action }) => action);
  expect(since.indexOf('resume')).toBe(since.length - 1);
  await expect.poll(() => jobOf(kept.id)).toMatchObject({ progress: 'done', runs: 1 });
  expect(Date.parse((await jobOf(kept.id))?.started ?? '')).toBeGreaterThan(
    Date.parse(updated.endedAt ?? ''),
  );
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await state(), { version: 'v1.1.0', changed })).toEqual([]);
  expect((await instance.history()).map((run) => run.state)).toEqual(['updated', 'cancelled', 'cancelled']);
});
