import { describe, expect, it } from 'vitest';
import type { FaultKind } from '../../rig/engine-double/faults.ts';
import { goodRun, type Script } from '../../rig/engine-double/script.ts';
import type { FailureKind, Part } from '../../rig/host-double/call-recorder.ts';
import { judge } from './invariants.ts';
import { patient, Rig, type Server, slowEngine, until } from './rig.ts';

// One part fails during a run: a response of the engine, a function of the application, or the server itself.
// In every case, the run has one correct outcome, which is reported, and the queue is resumed.

async function trial(act: (rig: Rig) => Promise<boolean | null>): Promise<string[]> {
  const rig = await Rig.start();
  try {
    const accepted = await act(rig);
    return await judge(rig, { accepted });
  } finally {
    await rig.close();
  }
}

/** Requests an update, waits until it has finished, and returns whether it was accepted. */
async function runToItsEnd(one: Server): Promise<boolean> {
  await one.updates.boot();
  const answer = await one.ask().catch((error: Error) => error.name);
  if (typeof answer === 'string') expect(answer).toBe('UnavailableError');
  const accepted = typeof answer === 'object' && 'run' in answer;
  await until(() => !accepted || one.told.some((what) => what.startsWith('end'))).catch(() => {});
  return accepted;
}

const create = /^POST .*\/containers\/create/;
const log = /^GET .*\/logs/;
/** Each kind of fault, and each request of a run to the engine, in the order of the requests. */
const faults: [name: string, match: RegExp, FaultKind][] = [
  ['the version is cut', /^GET \/version/, { kind: 'cut' }],
  ['the own container hangs', /^GET .*\/containers\/(?!svc-updater)[^/]{1,20}\/json/, { kind: 'hang' }],
  ["the updater's name is half an answer", /^GET .*\/containers\/svc-updater\/json/, { kind: 'half' }],
  ['the image is a page of a proxy', /^GET .*\/images\/.*\/json/, { kind: 'page', status: 503 }],
  ['create is cut in its head', create, { kind: 'cut', at: 20 }],
  ['create is refused', create, { kind: 'refuse', status: 500, message: 'something went wrong' }],
  ['start hangs', /^POST .*\/start/, { kind: 'hang' }],
  ['start is cut in its head', /^POST .*\/start/, { kind: 'cut', at: 20 }],
  ['the updater hangs in its body', /^GET .*\/containers\/[0-9a-f]{64}\/json/, { kind: 'hang', at: 250 }],
  ['the log is cut in its body', log, { kind: 'cut', at: 300 }],
  ['the log trickles', log, { kind: 'trickle' }],
];

describe.concurrent('an engine that fails once', () => {
  it.each(faults)('does not prevent a correct outcome: %s', async (_, match, fault) => {
    const found = await trial(async (rig) => {
      // Short timeouts only for faults that need them: a busy machine may exceed them.
      const patience = ['hang', 'trickle'].includes(fault.kind) ? slowEngine : patient;
      const one = await rig.server({}, { timing: { silence: 3_000 }, patience });
      const failure = rig.engine.fault({ ...fault, match });
      const accepted = await runToItsEnd(one);
      failure.release();
      expect(failure.hits).toBeGreaterThan(0);
      return accepted;
    });
    expect(found).toEqual([]);
  });
});

/** Each kind of failure, and each function of the application at its first call and at a later call. */
const failures: [Part, nth: number, FailureKind][] = [
  ['hold', 1, 'throw'],
  ['hold', 2, 'done-then-reject'],
  ['resume', 1, 'hang'],
  ['resume', 2, 'reject'],
  ['jobs', 1, 'reject'],
  ['jobs', 2, 'hang'],
  ['get', 1, 'throw'],
  ['get', 8, 'hang'],
  ['set', 2, 'done-then-hang'],
  ['set', 3, 'reject'],
  ['set', 5, 'done-then-reject'],
  ['onEnd', 1, 'done-then-hang'],
];

describe.concurrent('an application that fails once', () => {
  it.each(failures)('does not prevent a correct outcome at %s, call %d: %s', async (part, nth, how) => {
    const found = await trial(async (rig) => {
      const one = await rig.server({}, { patience: patient });
      const failure = one.host.fail(part, { how, nth });
      const accepted = await runToItsEnd(one);
      if (part === 'onEnd') await until(() => failure.hits > 0);
      // A hanging call finally returns, at the worst moment.
      failure.release();
      return accepted;
    });
    expect(found).toEqual([]);
  });
});

const slow: Script = goodRun('v1.4.2', 'v1.5.0').flatMap((step) => [step, { pause: 10 }]);
/** The maximum number of calls of each function in a run. */
const calls: Partial<Record<Part, number>> = { hold: 2, resume: 2, jobs: 2, set: 8, onEnd: 1 };
const deaths = Object.entries(calls).flatMap(([part, count]) =>
  Array.from({ length: count }, (_, at) => [part as Part, at + 1] as const),
);

describe.concurrent('a server that dies', () => {
  it.each(deaths)('during %s, call %d, leaves a run that the next server completes', async (part, nth) => {
    // Either the call had no effect and the server restarts, or it had an effect and another server starts.
    for (const [how, comesBack] of [
      ['hang', true],
      ['done-then-hang', false],
    ] as const) {
      const found = await trial(async (rig) => {
        rig.engine.updaterDoes(slow);
        const one = await rig.server({}, { patience: patient });
        const death = one.host.fail(part, { how, nth });
        void one.updates.boot().catch(() => {});
        // On a busy machine, the request may also be rejected.
        let isOver = false;
        void one.ask().then(
          (answer) => (isOver = 'reason' in answer),
          () => (isOver = true),
        );
        await until(() => death.hits > 0 || isOver || one.told.includes('end updated'));
        await one.die();
        if (comesBack) await rig.engine.up(one.place.door);
        else one.place.container.vanish();
        const two = await rig.server(comesBack ? one.place : { name: 'svc-app-2' });
        await two.updates.boot();
        return null;
      });
      expect(found, how).toEqual([]);
    }
  });
});
