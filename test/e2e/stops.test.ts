import { expect, onTestFinished, test, vi } from 'vitest';
import { killAt, onEngineEvent } from '../faults/kill.ts';
import { judgeBroughtBack } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 2.15 and 2.16: no timeout interrupts a stop, and an interrupted stop is completed before the updater
// reports that the old version is running again.

const toNext = ['--target', 'v1.1.0'];

test('the next run completes a stop of the app that was interrupted by a kill of the updater', async () => {
  // The app stops only when the test writes a file.
  const stuck = {
    extra: { app: 'stop_grace_period: 10m' },
    environment: { STOP_UNTIL: '/data/stop-now' },
  };
  const instance = await createInstance({ ...alone, text: stuck });
  const socket = `${instance.directory}.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(() => engine.close());
  const before = await look(instance);
  const start = () => instance.startUpdate(toNext);
  const { run, why } = await killAt(onEngineEvent('kill', 'app'), instance, start);
  expect(why).toContain(`${instance.project}-app-1`);
  await run.done;

  const next = instance.startUpdate(['--target', 'v1.9.9'], { socket });
  const app = before.containers[`${instance.project}-app-1`]?.id;
  // The request of the updater has no API version in its path; requests of compose have one.
  const isAsked = () => engine.requests.some((asked) => asked.startsWith(`POST /containers/${app}/stop`));
  let hasEnded = false;
  void next.done.finally(() => {
    hasEnded = true;
  });
  await vi.waitUntil(() => hasEnded || isAsked(), { timeout: 120_000 });
  expect(hasEnded, next.log).toBe(false);
  await instance.write('data/stop-now', '');
  const result = await next.done;
  expectWords(result, {
    exitCode: 4,
    says: ['the interrupted update was undone, and v1.0.0 has been restored'],
    ends: ['failed (pull-unknown): nothing was changed; v1.0.0 is still running.'],
  });
  // The same containers are healthy again: they were stopped and started.
  const after = await look(instance);
  expect(judgeBroughtBack(before, after), result.log).toEqual([]);
  expect(after.boots.slice(before.boots.length).sort()).toEqual(['app v1.0.0', 'worker v1.0.0']);
  const idsOf = ({ containers }: typeof before) => Object.values(containers).map(({ id }) => id);
  expect(idsOf(after)).toEqual(idsOf(before));
});
