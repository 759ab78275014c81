import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineApi } from '../../../../src/engine/engine-api.ts';
import { createRun, RunRecord } from '../../../../src/server/run/run-record.ts';
import { followRunLog } from '../../../../src/server/run/track/follow-run-log.ts';
import type { ContainerDouble } from '../../../rig/engine-double/container-double.ts';
import { EngineDouble } from '../../../rig/engine-double/engine-double.ts';
import { lineOf, workOf } from '../../../rig/engine-double/script.ts';
import { slowEngine, until } from '../../updates/rig.ts';

// When a stopped updater has crashed, and when it may still report its outcome (docs/contract.md 8.4).

const timing = { follow: 5, restart: 150, lastMoments: 150 };
/** Longer than any test: a wait for this time never ends. */
const forever = 1_000_000;
let engine: EngineDouble;
let container: ContainerDouble;
let record: RunRecord;
let closing: AbortController;
let lines: string[];
/** How far the monotonic clock was set forward, in ms. */
let ahead: number;
beforeEach(async () => {
  ahead = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  engine = await EngineDouble.start();
  closing = new AbortController();
  lines = [];
  engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 3));
  record = new RunRecord(
    createRun({ id: '1', from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
  );
});
afterEach(async () => {
  closing.abort();
  await engine.close();
  vi.restoreAllMocks();
});

function make(policy: string | null = 'on-failure'): void {
  const RestartPolicy = { Name: policy ?? 'no', MaximumRetryCount: 3 };
  container = engine.create({ name: 'u', Image: 'acme/u:1', HostConfig: { RestartPolicy } });
}
async function working(policy: string | null = 'on-failure'): Promise<void> {
  make(policy);
  container.start();
  await until(() => container.log.length === 3);
}
/** Follows the log. Returns the duration, and when the container was last started. */
async function follow(more: Partial<typeof timing> = {}): Promise<{ ms: number; startedAt: string | null }> {
  const socket = new EngineApi(`unix://${engine.path}`, { timeouts: slowEngine });
  const began = performance.now();
  const context = { engine: socket, timing: { ...timing, ...more }, closing: closing.signal };
  const startedAt = await followRunLog(
    container.id,
    record,
    context,
    ({ message }) => void lines.push(message),
  );
  return { ms: performance.now() - began, startedAt };
}
const done = (message = 'updated v1.4.2 → v1.5.0 in 4 s') => lineOf({ phase: 'done', message });

/** Waits until the current state of the container was inspected and evaluated. */
async function isJudged(): Promise<void> {
  const looks = () =>
    engine.requests.filter(({ line }) => /^GET \S*\/containers\/\S+\/json/.test(line)).length;
  const before = looks();
  // The first inspection may have started earlier; only the third starts after the second was evaluated.
  await until(() => looks() >= before + 3);
}

/** Checks that the run has not ended: the updater is started again, and succeeds. */
async function goesOn(following: Promise<unknown>): Promise<void> {
  expect(record.hasEnded).toBe(false);
  container.start();
  container.say(done());
  container.exit(0);
  await following;
  expect(record.run.outcome).toBe('updated');
}

describe('an updater that has exited', () => {
  it.each([
    ['by an error, without a policy', 1, null, 0, { lastMoments: forever }],
    ['well, and has said nothing', 0, 'on-failure', 150, {}],
  ])('has crashed: %s', async (_, code, policy, least, more) => {
    await working(policy);
    container.exit(code);
    const { ms, startedAt } = await follow({ restart: forever, ...more });
    expect(record.run).toMatchObject({
      outcome: 'crashed',
      code: 'updater-ended',
      message: `the updater exited with code ${code} without reporting an outcome`,
      endedAt: new Date(container.finishedAt).toISOString(),
    });
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(startedAt).toBe(container.startedAt);
  });

  it('after a kill is followed further if it is restarted in time', async () => {
    await working();
    const following = follow({ restart: forever });
    container.kill('SIGKILL');
    await isJudged();
    ahead = 0.6 * forever;
    await isJudged();
    container.start();
    container.say(lineOf({ phase: 'plan', message: 'the same once more' }));
    container.say(lineOf({ phase: 'pull', message: 'and on' }));
    await until(() => lines.includes('and on'));
    container.kill('SIGKILL');
    await isJudged();
    ahead += 0.6 * forever;
    await isJudged();
    await goesOn(following);
  });

  it('four times has crashed, because the engine does not restart it again', async () => {
    engine.restartPauseMs = 1;
    await working();
    for (let starts = 1; starts <= 4; starts++) {
      await until(() => container.isRunning);
      container.exit(137);
    }
    expect(container.restartCount).toBe(3);
    await follow({ restart: forever, lastMoments: forever });
    expect(record.run.outcome).toBe('crashed');
  });
});

it('waits some time for an updater that was never started', async () => {
  make();
  const following = follow({ restart: forever });
  await isJudged();
  await goesOn(following);
});

it('an updater that was removed has crashed', async () => {
  await working();
  const following = follow();
  await until(() => lines.length === 3);
  container.vanish();
  await following;
  expect(record.run).toMatchObject({ outcome: 'crashed', code: 'updater-gone' });
});

it('reports a log that cannot be read', async () => {
  await working(null);
  container.exit(1);
  engine.fault({ kind: 'refuse', status: 500, message: 'no such driver', match: /\/logs/, times: 1_000 });
  const { ms } = await follow();
  expect(record.run).toMatchObject({
    outcome: 'crashed',
    message: 'the updater exited with code 1, and its log cannot be read',
  });
  expect(ms).toBeGreaterThanOrEqual(295);
});
