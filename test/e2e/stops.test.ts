import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { killAt, onEngineEvent } from '../faults/kill.ts';
import { judgeOthers } from '../judge/containers.ts';
import { judgeBroughtBack, judgeUpdated } from '../judge/judge.ts';
import { judgeWords } from '../judge/log.ts';
import { type Look, look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { composeText } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 2.15 and 2.16: no deadline cuts a stop off, and a stop that was cut off is waited for before the old
// version is said to run again.

const toNext = ['--target', 'v1.1.0'];
const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
const slow = (seconds: number) => ({ STOP_DELAY: `"${seconds}"` });

/** Seconds between two lines of the log, from the beginning of `recreate` to the last one that tells of waiting. */
function longestSilence({ lines }: UpdateResult): number {
  const last = lines.findLastIndex(({ message }) => message.startsWith('waiting for '));
  const told = lines.slice(0, last + 1).filter(({ phase }) => phase === 'recreate');
  const times = told.map(({ time }) => Date.parse(time));
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time))) / 1000;
}

describe.concurrent('a stop that takes longer than any answer of the engine may', () => {
  /** What requests and commands are given: 30 s. */
  const longer = 35;

  test.for(['worker', 'app'])('of the %s is waited for', async (service, { onTestFinished }) => {
    const instance = await createInstanceFor(onTestFinished, {
      ...alone,
      text: {
        extra: { [service]: 'stop_grace_period: 1h' },
        [service === 'app' ? 'environment' : 'workerEnvironment']: slow(longer),
      },
    });
    const before = await look(instance);
    const result = await instance.update(toNext);
    const waited = new RegExp(`waiting for \\S+-${service}-1 to stop \\([23]\\d s\\)`);
    const good = { exitCode: 0, says: [waited], ends: ['updated v1.0.0 → v1.1.0'], never: [/ WARN /] };
    const facts = [
      ...judgeWords(result, good),
      ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
    ];
    expect(facts, result.log).toEqual([]);
    // It tells every nine seconds, and may be held up: one that is left out is seen.
    expect(longestSilence(result)).toBeLessThan(17);
  });
});

describe.concurrent('a stop that was cut off', () => {
  const grace = 'stop_grace_period: 10m';
  /** That service does not stop before the test says so. */
  const stuck = (service: string): InstanceOptions => ({
    ...alone,
    text: {
      extra: { [service]: grace },
      [service === 'app' ? 'environment' : 'workerEnvironment']: { STOP_UNTIL: '/data/stop-now' },
    },
  });

  async function engineFor({ directory }: Instance, finished: (remove: () => Promise<void>) => void) {
    const socket = `${directory}.sock`;
    const engine = await startBadEngine(socket);
    finished(async () => {
      await engine.close();
      await rm(socket, { force: true });
    });
    return engine;
  }

  /** The updater's own, by a path without a version: compose's has one. */
  const stopsAsked = ({ requests }: BadEngine, id: string) =>
    requests.filter((asked) => asked.startsWith(`POST /containers/${id}/stop`)).length;

  /** Lets it stop once the run has asked for that so often as is wanted. */
  async function endOf(instance: Instance, run: UpdaterRun, isAsked: () => boolean): Promise<UpdateResult> {
    let hasEnded = false;
    const ended = run.done.finally(() => {
      hasEnded = true;
    });
    while (!hasEnded && !isAsked()) await sleep(50);
    expect(hasEnded, run.log).toBe(false);
    await instance.write('data/stop-now', '');
    return ended;
  }

  /** The very same containers are well again; those that were told to stop have ended, and run again. */
  async function expectBack(instance: Instance, before: Look, result: UpdateResult, stopped: string[]) {
    const after = await look(instance);
    expect(judgeBroughtBack(before, after), result.log).toEqual([]);
    const boots = after.boots.slice(before.boots.length).sort();
    expect(boots, result.log).toEqual(stopped.map((service) => `${service} v1.0.0`));
    const states = Object.values(after.containers).map(({ service, id }) => [service, id]);
    expect(states).toEqual(Object.values(before.containers).map(({ service, id }) => [service, id]));
  }

  const idOf = ({ containers }: Look, service: string): string =>
    Object.values(containers).find((each) => each.service === service)?.id ?? '';

  // Nobody knows what a killed run had told to stop: after it, everything that runs is waited for.
  test.for(['worker', 'app'])(
    'by a kill while the %s stops is finished by the next run',
    async (service, { onTestFinished }) => {
      const instance = await createInstanceFor(onTestFinished, stuck(service));
      const engine = await engineFor(instance, onTestFinished);
      const before = await look(instance);
      const start = () => instance.startUpdate(toNext);
      const { run, why } = await killAt(onEngineEvent('kill', service), instance, start);
      expect(why).toContain(`${instance.project}-${service}-1`);
      await run.done;
      const next = instance.startUpdate(['--target', 'v1.9.9'], { socket: engine.socket });
      const result = await endOf(instance, next, () => stopsAsked(engine, idOf(before, service)) > 0);
      const back = 'what it had changed is put back: v1.0.0 runs';
      const ends = ['failed (pull-unknown): nothing was changed, v1.0.0 runs on.'];
      expect(judgeWords(result, { exitCode: 4, says: [back], ends }), result.log).toEqual([]);
      await expectBack(instance, before, result, ['app', 'worker']);
    },
  );

  test.for([
    ['worker', ['worker']],
    ['app', ['app', 'worker']],
  ] as const)(
    'as the requests for the %s break, is finished on the way back',
    async ([service, stopped], { onTestFinished }) => {
      const instance = await createInstanceFor(onTestFinished, stuck(service));
      const engine = await engineFor(instance, onTestFinished);
      const before = await look(instance);
      const id = idOf(before, service);
      // As often as the run asks before it gives up.
      const tries = 3;
      engine.breakOff(new RegExp(`^POST /containers/${id}/stop`), tries);
      const run = instance.startUpdate(toNext, { socket: engine.socket });
      const result = await endOf(instance, run, () => stopsAsked(engine, id) > tries);
      const words = {
        exitCode: 4,
        says: ['nothing of the new version has started: the old one is brought back'],
        ends: [/^failed \(engine-away\): the files are as they were and v1\.0\.0 runs again\./],
      };
      expect(judgeWords(result, words), result.log).toEqual([]);
      await expectBack(instance, before, result, [...stopped]);
    },
  );
});

test('what is made again on the way back is told to stop before it is removed', async () => {
  const instance = await createInstance({
    up: ['--no-deps', 'app', 'worker', 'sidecar'],
    publish: ['v1.1.3'],
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({
          app: `${c.image}:v1.0.0`,
          parts: c.parts,
          extra: {
            sidecar: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\nnetwork_mode: service:app`,
          },
        }),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\n`,
      },
      flags: [],
    }),
  });
  const sidecar = `${instance.project}-sidecar-1`;
  const began = Date.now() / 1_000;
  const before = await look(instance);
  const result = await instance.update(['--target', 'v1.1.3']);
  expect(judgeWords(result, { exitCode: 4, says: [], ends: ['v1.0.0 runs again'] }), result.log).toEqual([]);
  expect(
    judgeOthers(before.containers, (await look(instance)).containers, ['app', 'worker', 'sidecar']),
  ).toEqual([]);
  const period = ['--since', `${began}`, '--until', `${Date.now() / 1_000}`];
  const filter = ['--filter', `container=${sidecar}`, '--format', '{{json .}}'];
  const events = await execa('docker', ['events', ...period, ...filter]);
  const codes = /"exitCode":"(\d+)"/.exec(events.stdout);
  // 137 is what a container ends with that nobody asked.
  expect(codes?.[1], result.log).toBe('0');
});
