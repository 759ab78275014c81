import { expect, test } from 'vitest';
import { createWithData, expectAsBefore } from '../e2e/support/own-data.ts';
import { expectNothingLeft, processStates } from '../e2e/support/rehearsal.ts';
import { beforeEngineChange, killAt } from '../faults/kill.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { findContainers } from '../rig/engine-api.ts';

// docs/contract.md 13.2 and 13.6: the updater is killed before each request that changes something in the engine.

/** More changes than any rehearsal requests. */
const mostChanges = 120;

test('a rehearsal can be killed before each change of the engine', async () => {
  const instance = await createWithData({ publish: ['v1.1.0'] });
  const before = await instance.containers();
  const isRehearsed = async () =>
    (await findContainers(`${instance.project}-rehearsal-`)).filter(({ State }) => State.Running).length > 0;
  let killed = 0;
  for (let change = 1; change <= mostChanges; change++) {
    const socket = `${instance.directory}-${change}.sock`;
    const engine = await startBadEngine(socket);
    const start = () => instance.startUpdate(['rehearse', '--target', 'v1.1.0'], { socket });
    const { run, why } = await killAt(beforeEngineChange(engine, change), instance, start);
    await engine.close();
    if (why === null) {
      expect((await run.done).exitCode, run.log).toBe(0);
      break;
    }
    killed++;
    console.log(why);
    const wait = { timeout: 60_000, interval: 200 };
    await expect.poll(() => processStates(instance), wait).not.toContain('T');
    await expect.poll(isRehearsed, wait).toBe(false);
    const next = await instance.update(['--target', 'v1.0.0']);
    expect(next.exitCode, next.log).toBe(0);
    await expectNothingLeft(instance, `${why}\n${run.log}\n${next.log}`);
  }
  // The helper containers that look at the data, copy it twice, suspend and guard; two versions; and the removals.
  expect(killed).toBeGreaterThan(30);
  await expectAsBefore(instance, '');
  expect(Object.keys(await instance.containers())).toEqual(Object.keys(before));
}, 3_000_000);
