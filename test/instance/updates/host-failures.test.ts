import { describe, expect, it } from 'vitest';
import type { FailureKind, Part } from '../../rig/host-double/call-recorder.ts';
import { judge } from './invariants.ts';
import { inTurns, patient, Rig, until } from './rig.ts';

// Each function of the platform fails at each of its calls in the course of a run, in each manner.

const kinds: FailureKind[] = ['throw', 'reject', 'hang', 'done-then-hang', 'done-then-reject'];
/** How many calls a good run makes at most. */
const calls: Partial<Record<Part, number>> = { hold: 2, resume: 3, jobs: 2, get: 26, set: 9, onEnd: 1 };

async function trial(part: Part, how: FailureKind, nth: number): Promise<string[]> {
  const rig = await Rig.start();
  try {
    const one = await rig.server({}, { patience: patient });
    const failure = one.host.fail(part, { how, nth, times: nth % 2 === 0 ? 2 : 1 });
    await one.updates.boot();
    const answer = await one.ask().catch((error: Error) => error.name);
    if (typeof answer === 'string' && answer !== 'Unavailable') return [`POST: ${answer}`];
    const accepted = typeof answer === 'object' && 'run' in answer;
    await until(() => !accepted || one.told.some((what) => what.startsWith('end'))).catch(() => {});
    if (part === 'onEnd') await until(() => failure.hits > 0);
    // What hangs answers at last, at the worst moment.
    failure.release();
    const found = await judge(rig, { accepted });
    if (nth === 1 && failure.hits === 0) found.push('it was never asked');
    return found;
  } finally {
    await rig.close();
  }
}

describe.concurrent('a platform that fails once or twice', () => {
  for (const [part, count] of Object.entries(calls) as [Part, number][]) {
    it.each(kinds.map((how) => [how]))(`at each ${part}: %s`, async (how) => {
      const numbers = Array.from({ length: count }, (_, at) => at + 1);
      const found = await inTurns(numbers, async (nth) => [nth, await trial(part, how, nth)] as const);
      expect(found.filter(([, bad]) => bad.length > 0)).toEqual([]);
    });
  }
});
