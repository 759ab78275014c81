import { expect, inject, onTestFailed, onTestFinished, test } from 'vitest';
import { type ProgressEvent, phases } from '../../src/core/progress/event.ts';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { endingOf, messages } from '../judge/log.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import type { UpdaterRun } from '../rig/updater-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// The log, which operators read and the server parses (docs/contract.md 6.1 to docs/contract.md 6.5).

const lastRun = (instance: Instance) => instance.read('.svc-updater/last-run.log');
const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Parses the text log; every line must be an event. */
function parsed(text: string): ProgressEvent[] {
  return lines(text).map((line) => {
    const event = parseEventLine(line);
    if (event === null) throw new Error(`no line of the log's format: ${line}`);
    return event;
  });
}

/** The events of `--log json`. */
function parsedJson(text: string): ProgressEvent[] {
  return lines(text).map((line) => {
    const { level, time, phase, percent, msg } = JSON.parse(line);
    const levels: Record<number, ProgressEvent['level']> = { 30: 'info', 40: 'warn', 50: 'error' };
    const known = levels[level];
    if (known === undefined) throw new Error(`no level: ${line}`);
    return { time, level: known, phase, ...(percent === undefined ? {} : { percent }), message: msg };
  });
}

/** Times, phases and the percentages of each phase never decrease, and the last event has the phase `done`. */
function expectForward(events: readonly ProgressEvent[]): void {
  const percent = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    const before = events[index - 1] ?? event;
    expect(phases.indexOf(event.phase)).toBeGreaterThanOrEqual(phases.indexOf(before.phase));
    expect(Date.parse(event.time)).toBeGreaterThanOrEqual(Date.parse(before.time));
    if (event.percent === undefined) continue;
    expect(event.percent).toBeGreaterThanOrEqual(percent.get(event.phase) ?? 0);
    percent.set(event.phase, event.percent);
  }
  expect(events.at(-1)?.phase).toBe('done');
}

test('the log reports the progress of the pull and the outcome of the run, with equal events in both formats and last-run.log', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({ ...alone, registry: registry.host, publish: ['v1.1.1'] });
  await instance.publish('v1.1.0', { ballast: 9_000_000 });
  const end = async (
    args: string[],
    expected: { code: number; word: string; says: (string | RegExp)[] },
    during: (run: UpdaterRun) => Promise<void> = async () => {},
  ) => {
    const run = instance.startUpdate(args);
    onTestFailed(() => console.log(run.log));
    await during(run);
    const result = await run.done;
    expect(result.exitCode, result.log).toBe(expected.code);
    const kept = parsed(await lastRun(instance));
    const events = args.includes('json') ? parsedJson(result.log) : parsed(result.log);
    expect(events).toEqual(kept);
    expectForward(events);
    expect(endingOf({ ...result, lines: events })).toBe(expected.word);
    for (const text of expected.says) expect(events.at(-1)?.message).toMatch(text);
    return { ...result, events };
  };
  await end(['--target', 'v9.9.9'], {
    code: 4,
    word: 'failed',
    says: ['nothing was changed; v1.0.0 is still running', /published.*run the update again/],
  });
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  registry.fail({ kind: 'late', after: 4_500_000, until }, { on: 'blobs' });
  const updated = await end(
    ['--target', 'v1.1.0', '--log', 'json'],
    {
      code: 0,
      word: 'updated',
      says: ['v1.0.0 → v1.1.0', `docker image rm ${instance.image}:v1.0.0`],
    },
    async (run) => {
      await run.waitFor(/"percent":[1-9]\d?\b/);
      goOn();
    },
  );
  const percents = updated.events.flatMap(({ phase, percent }) => (phase === 'pull' ? (percent ?? []) : []));
  expect(
    percents.some((percent) => percent > 0 && percent < 100),
    updated.log,
  ).toBe(true);
  expect(percents.at(-1)).toBe(100);
  expect(updated.log).toMatch(/ \d+ of \d+ MB/);
  registry.fail(null);
  await end(['--target', 'v1.1.0'], {
    code: 0,
    word: 'unchanged',
    says: ['app and worker', 'v1.1.0', 'nothing to do'],
  });
  const broken = await end(['--target', 'v1.1.1', '--wait-timeout', '60'], {
    code: 5,
    word: 'broken',
    says: [`docker compose -p ${instance.project} ps`, `logs app worker`, 'run the update again'],
  });
  expect(messages(broken, 'error').some((line) => line.includes('svc: cannot read the settings'))).toBe(true);
});
