import type { Server } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createScriptedUpdates,
  type Disturbance,
  type InstanceUpdates,
  type Script,
  type ScriptedJob,
  typicalRun,
} from '../../../src/instance/testing/index.ts';
import { cancelCodes, endStates, phaseWords, reasonCodes, runStates } from '../../../src/wire/codes.ts';
import type { Run } from '../../../src/wire/status.ts';
import { check, origin, path } from '../http/ask.ts';

let updates: InstanceUpdates | undefined;
let server: Server | undefined;
afterEach(async () => {
  await updates?.close();
  server?.closeAllConnections();
  server?.close();
});

async function play(script: Script = {}) {
  const playing = createScriptedUpdates({ speed: 100, ...script });
  updates = playing;
  await playing.start();
  const ended = new Promise<Run>((resolve) => playing.on('end', resolve));
  /** Each answer is held against the document. */
  const ask = async (method: string, where = '', headers: Record<string, string> = {}) => {
    const response = await playing.handle(new Request(`${origin}${path}${where}`, { method, headers }));
    return check(method, new URL(`${origin}${path}${where}`).pathname, response);
  };
  return { playing, ended, ask };
}

const withoutSave = phaseWords.filter((word) => word !== 'save');
const at = '2026-11-21T10:42:15.000Z';
const point = { at, version: 'v1.4.2', bytes: 325_000_000, seconds: 3 };

const job = (more: Partial<ScriptedJob> = {}): ScriptedJob => ({
  kind: 'backup',
  state: 'running',
  title: 'nightly',
  since: null,
  stuck: false,
  ...more,
});

describe('a script', () => {
  it('plays an update through every state, and what runs afterwards', async () => {
    const { ask, ended } = await play();
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.4.2', canUpdate: true, run: null });
    expect((await ask('GET', '?notes=1')).json).toMatchObject({ releases: [{ version: 'v1.5.0' }] });
    expect((await ask('GET')).json.latest.notes).toBeNull();
    expect((await ask('POST')).json).toMatchObject({ id: 'run1', state: 'launching', by: 'admin' });
    const run = await ended;
    expect(run).toMatchObject({ outcome: 'updated', from: 'v1.4.2', to: 'v1.5.0', away: 2 });
    expect(run.steps.map(({ state }) => state)).toEqual(['launching', ...withoutSave]);
    const { json } = await ask('GET');
    expect(json).toMatchObject({
      version: 'v1.5.0',
      next: null,
      upToDate: { code: 'newest' },
      run: { id: 'run1' },
    });
    expect((await ask('GET', '/history')).json).toHaveLength(1);
    expect((await ask('POST')).json.reason.code).toBe('up-to-date');
  });

  it.each(endStates)('ends as it says: %s', async (outcome) => {
    const why = {
      cause: 'the registry has no such tag',
      code: 'pull-unknown',
      advice: 'See that it is published.',
    };
    const isGood = outcome === 'updated' || outcome === 'unchanged';
    const script = typicalRun({
      outcome,
      ...(isGood ? {} : { in: 'pull', message: 'v1.4.2 runs on', ...why }),
    });
    const { ask, ended, playing } = await play({ runs: [script] });
    const phases: string[] = [];
    playing.on('line', ({ line }) => phases.push(line.phase));
    await ask('POST');
    const run = await ended;
    // An updater that crashed has said nothing of its end.
    expect(phases.includes('done')).toBe(outcome !== 'crashed');
    expect(run).toMatchObject({
      outcome,
      state: outcome,
      ...(isGood ? {} : { message: 'v1.4.2 runs on', ...why }),
    });
    expect(run.steps.at(-1)?.state).toBe(isGood ? 'verify' : 'pull');
    expect((await ask('GET', '/progress')).json).toMatchObject({ outcome });
    // The same target is accepted again where nobody knows what runs.
    expect((await ask('GET')).json.canUpdate).toBe(outcome !== 'updated');
  });

  it('may save the data first, and roll back to it', async () => {
    const rolledBack = { version: 'v1.4.2', at };
    const { ask, ended } = await play({ runs: [typicalRun({ outcome: 'failed', point, rolledBack })] });
    await ask('POST');
    const run = await ended;
    expect(run).toMatchObject({ outcome: 'failed', point, rolledBack, away: 4 });
    expect(run.steps.map(({ state }) => state)).toEqual(['launching', ...phaseWords]);
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.4.2', canUpdate: true });
  });

  it('offers a rollback, and plays it', async () => {
    const offer = {
      from: 'v1.4.2',
      to: 'v1.4.1',
      at,
      seconds: 40,
    };
    const { playing, ask, ended } = await play({ rollback: offer });
    expect((await ask('GET', '/rollback')).json).toEqual(offer);
    expect(await playing.rollback({ confirm: 'v1.4.0' })).toMatchObject({ reason: { code: 'no-point' } });
    expect(await playing.rollback({ confirm: 'v1.4.1', by: 'anna' })).toMatchObject({
      run: { kind: 'rollback', from: 'v1.4.2', to: 'v1.4.1', by: 'anna' },
    });
    expect(await ended).toMatchObject({ kind: 'rollback', outcome: 'updated' });
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.4.1', next: { version: 'v1.5.0' } });
  });

  it('goes a path to its end, and waits in between', async () => {
    const latest = { version: 'v2.0.0', url: null, notes: null, publishedAt: null };
    const path = ['v1.5.0', 'v2.0.0'];
    let waits = true;
    const { playing, ask } = await play({
      status: { latest, next: { version: 'v1.5.0', major: false, path } },
      betweens: [{ seconds: 1, says: 'old rows are moved', lasts: () => waits }],
    });
    const told = await playing.update({ target: 'v2.0.0', through: true, by: 'anna' });
    expect(told).toMatchObject({ run: { from: 'v1.4.2', to: 'v1.5.0', path } });
    const status = async () => (await ask('GET')).json;
    await expect.poll(async () => (await status()).between).not.toBeNull();
    expect(await status()).toMatchObject({
      version: 'v1.5.0',
      between: { to: 'v2.0.0', says: 'old rows are moved' },
      next: { version: 'v2.0.0', path: ['v2.0.0'] },
      run: { outcome: 'updated', path },
    });
    waits = false;
    await expect.poll(async () => (await status()).version).toBe('v2.0.0');
    expect(await status()).toMatchObject({
      between: null,
      next: null,
      run: { id: 'run2', to: 'v2.0.0', by: 'anna', path },
    });
  });

  it('has each state that there is', async () => {
    const states = new Set<string>();
    const steps = [
      { state: 'waiting', seconds: 1, jobs: [job()], until: '2026-11-21T11:40:00.000Z' },
      { state: 'preparing', seconds: 1, says: ['pg_dump'] },
      ...typicalRun({ outcome: 'updated', point }).steps,
    ] as const;
    for (const outcome of endStates) {
      const { ended, playing } = await play({ runs: [{ steps, end: { outcome } }] });
      playing.on('line', ({ run }) => states.add(run.state));
      await playing.update();
      for (const { state } of [...(await ended).steps, await ended]) states.add(state);
    }
    expect([...states].toSorted()).toEqual(runStates.toSorted());
  });

  it.each(reasonCodes.filter((code) => !/running|queued|up-to-date/.test(code)))(
    'is in the way: %s',
    async (code) => {
      const reason = { code, message: 'Not here.' };
      const { ask } = await play({ status: { reason } });
      expect((await ask('GET')).json).toMatchObject({ canUpdate: false, reason });
      expect((await ask('POST')).json.reason).toEqual(reason);
    },
  );

  it('has jobs, which end, are waited for, or are cut short', async () => {
    const jobs = [
      job({ kind: 'deployment', state: 'queued', seconds: 20 }),
      job({ seconds: 10, title: 'hourly' }),
    ];
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now);
    onTestFinished(() => clock.mockRestore());
    const { playing, ask, ended } = await play({ jobs });
    const refused = await ask('POST');
    expect([refused.status, refused.json.reason.code]).toEqual([409, 'deployment-queued']);
    expect(refused.json.reason.jobs).toHaveLength(2);
    const waiting = await playing.update({ when: 'idle', by: 'anna' });
    expect(waiting).toMatchObject({ run: { state: 'waiting', by: 'anna' } });
    const left = expect.poll(async () => (await ask('GET')).json.run.jobs.length, { interval: 5 });
    await left.toBe(2);
    expect((await ask('POST')).json.reason.code).toBe('update-running');
    clock.mockReturnValue(now + 150);
    await left.toBe(1);
    clock.mockReturnValue(now + 250);
    expect(await ended).toMatchObject({ outcome: 'updated', jobs: [] });
    expect((await ended).steps[0]).toMatchObject({ state: 'waiting', message: 'waits for 1 jobs' });

    const stuck = (await play({ jobs: [job({ stuck: true })] })).playing;
    expect(await stuck.update({ when: 'idle' })).toMatchObject({ reason: { code: 'backup-running' } });
    expect(await stuck.update({ force: true })).toMatchObject({ run: { state: 'launching' } });
  });

  it.each([
    ['launching', 'cancelled'],
    ['pull', 'cancelled'],
    ['verify', 'updated'],
  ])('is cancelled in %s: %s', async (state, outcome) => {
    const { steps, end } = typicalRun();
    let isMet = false;
    const lasts = (step: string) => step === state && !isMet;
    const run = { steps: steps.map((step) => ({ ...step, lasts: () => lasts(step.state) })), end };
    const { playing, ask, ended } = await play({ runs: [run] });
    expect((await ask('DELETE', '/progress')).json.reason.code).toBe(cancelCodes[0]);
    await playing.update();
    await expect.poll(async () => (await playing.status()).run?.state, { interval: 2 }).toBe(state);
    const cancelled = await playing.cancel({ by: 'anna' });
    isMet = true;
    expect(cancelled).toMatchObject(
      outcome === 'updated' ? { reason: { code: 'too-late' } } : { run: { cancelAskedBy: 'anna' } },
    );
    // What has not been launched never is; an updater is asked, and stops when it can.
    if ('run' in cancelled) expect(cancelled.run.outcome).toBe(state === 'launching' ? 'cancelled' : null);
    expect(await ended).toMatchObject({ outcome });
  });
});

describe('a server that does not answer', () => {
  /** A state that is waited for lasts until it was met. */
  const awaited = new Set<string>();
  const during = (disturbed: Disturbance) => ({
    open: {
      steps: [
        { state: 'pull', seconds: 5, lasts: () => awaited.has('pull') },
        { state: 'recreate', seconds: 30, disturbed, lasts: () => awaited.has('recreate') },
        { state: 'verify', seconds: 5, lasts: () => awaited.has('verify') },
      ],
      end: { outcome: 'updated' },
    } as const,
  });
  const reached = async (playing: InstanceUpdates, state: string) =>
    await expect.poll(async () => (await playing.history())[0]?.state, { interval: 2 }).toBe(state);

  it.each([
    ['bad-gateway', 502, 'text/html; charset=utf-8'],
    ['html', 200, 'text/html; charset=utf-8'],
    ['logged-out', 401, 'application/problem+json'],
    ['unknown', 404, 'application/problem+json'],
    // A connection that breaks: an error of the network.
    ['closed', 0, null],
  ] as const)('is %s', async (disturbed, status, type) => {
    awaited.add('recreate');
    const { playing, ended } = await play(during(disturbed));
    await reached(playing, 'recreate');
    const response = await playing.handle(new Request(`${origin}${path}/progress`));
    expect([response.status, response.headers.get('content-type')]).toEqual([status, type]);
    if (disturbed === 'unknown') expect((await playing.status()).run).toBeNull();
    awaited.clear();
    expect((await ended).away).toBe(['bad-gateway', 'closed'].includes(disturbed) ? 30 : null);
    expect((await playing.handle(new Request(`${origin}${path}/progress`))).status).toBe(200);
  });
});
