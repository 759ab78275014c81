import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 2.17: the clock of the machine is set while an update waits. The updater image is unmodified; a
// preload script shifts the clock of its program by `offset` milliseconds.

const hours = 2 * 3_600_000;
const preload = `const { readFileSync } = require('node:fs');
const Real = Date;
const now = () => Real.now() + Number(readFileSync('/clock/offset', 'utf8') || 0);
globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length > 0 ? given : [now()]));
  }
  static now() {
    return now();
  }
};
`;

interface Clock {
  volumes: string[];
  env: Record<string, string>;
  set(offset: number): Promise<void>;
}

async function clockFor({ directory }: Instance): Promise<Clock> {
  const folder = `${directory}.clock`;
  await mkdir(folder);
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'preload.cjs'), preload);
  const set = (offset: number) => writeFile(join(folder, 'offset'), String(offset));
  await set(0);
  return { volumes: [`${folder}:/clock:ro`], env: { NODE_OPTIONS: '--require=/clock/preload.cjs' }, set };
}

/** Finds durations in the log that are negative or longer than the run. */
function judgeDurations({ log, durationMs }: UpdateResult): string[] {
  const told = [...log.matchAll(/(-?\d+(?:\.\d+)?) s\b/g)].map(([, seconds]) => Number(seconds));
  const wrong = told.filter((seconds) => seconds < 0 || seconds > durationMs / 1000 + 1);
  return wrong.map((seconds) => `the run took ${durationMs / 1000} s, and the log tells of ${seconds} s`);
}

test('an update has correct timeouts and durations if the clock is set during the pull, the stop and the verification', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({
    up: ['--no-deps', 'app', 'worker'],
    registry: registry.host,
    text: { extra: { worker: 'stop_grace_period: 1m' } },
    release: { env: { STOP_UNTIL: '/data/go' } },
    publish: [],
  });
  await instance.publish('v1.1.0', { env: { READY_WHEN: 'v1.1.0' } });
  await instance.publish('v1.2.0', { env: { FAULT_APP: 'unhealthy' } });
  const clock = await clockFor(instance);

  const started = async (boot: string, ended: Promise<unknown>) => {
    const isThere = async () => (await instance.boots()).includes(boot);
    while (!(await isThere()) && (await Promise.race([ended, sleep(20, null)])) === null);
  };
  const waiting = / verify waiting \(.* so far.*\): \S+-app-1 is /;
  const before = await look(instance);
  registry.fail(registryFaults.error, { on: 'manifests', times: 2 });
  const run = instance.startUpdate(['--target', 'v1.1.0'], clock);
  await run.waitFor('trying again in');
  await clock.set(hours);
  await run.waitFor('recreate stopping worker');
  await clock.set(-hours);
  await instance.write('data/go', '');
  const ended = run.done;
  await started('app v1.1.0', ended);
  await clock.set(hours);
  await run.waitFor(waiting);
  for (const service of ['app', 'worker']) await instance.write(`data/v1.1.0-${service}`, '');
  const result = await ended;
  const words = { exitCode: 0, says: [], ends: ['updated v1.0.0 → v1.1.0 in '] };
  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  const facts = [
    ...judgeWords(result, words),
    ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
    ...judgeDurations(result),
  ];
  expect(facts, result.log).toEqual([]);
  const [, ready, took] = /app healthy after ([\d.]+) s, .* in (\d+) s;/s.exec(result.log) ?? [];
  expect(Number(took), result.log).toBeGreaterThan(Number(ready));

  // A timeout that depended on the clock would take two hours longer.
  await clock.set(0);
  const late = instance.startUpdate(['--target', 'v1.2.0', '--wait-timeout', '8'], {
    ...clock,
    patience: 90,
  });
  await started('app v1.2.0', late.done);
  await clock.set(-hours);
  const unwell = await late.done;
  const told = { exitCode: 5, says: [/app-1 is \S+ .*after \d{1,2} s/], ends: [/^broken \([a-z-]+\): /] };
  expect([...judgeWords(unwell, told), ...judgeDurations(unwell)], unwell.log).toEqual([]);
});
