import { describe, expect, it } from 'vitest';
import { goodRun, type Script } from '../../rig/engine-double/script.ts';
import type { FailureKind, Part } from '../../rig/host-double/call-recorder.ts';
import { judge } from './invariants.ts';
import { inTurns, patient, Rig, until } from './rig.ts';

// A server dies in the midst of a call, which was carried out or not; another one comes.

const calls: Partial<Record<Part, number>> = { hold: 2, resume: 2, jobs: 2, get: 24, set: 8, onEnd: 1 };
const kinds: FailureKind[] = ['hang', 'done-then-hang'];
const good = goodRun('v1.4.2', 'v1.5.0');
const slow: Script = good.flatMap((step) => [step, { pause: 10 }]);

async function trial(part: Part, how: FailureKind, nth: number, comesBack: boolean): Promise<string[]> {
  const rig = await Rig.start();
  try {
    rig.engine.updaterDoes(slow);
    const one = await rig.server({}, { patience: patient });
    const death = one.host.fail(part, { how, nth });
    void one.updates.boot().catch(() => {});
    // On a busy machine it may be refused, too.
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
    return await judge(rig, { accepted: null });
  } finally {
    await rig.close();
  }
}

describe.concurrent('a server that dies, and the next one', () => {
  for (const [part, count] of Object.entries(calls) as [Part, number][]) {
    it.each(kinds.flatMap((how) => [true, false].map((comesBack) => [part, how, comesBack] as const)))(
      'at each %s: %s, in the same container: %s',
      async (_, how, comesBack) => {
        const numbers = Array.from({ length: count }, (_, at) => at + 1);
        const found = await inTurns(
          numbers,
          async (nth) => [nth, await trial(part, how, nth, comesBack)] as const,
        );
        expect(found.filter(([, bad]) => bad.length > 0)).toEqual([]);
      },
    );
  }
});
