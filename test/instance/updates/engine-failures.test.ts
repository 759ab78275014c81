import { describe, expect, it } from 'vitest';
import type { FaultKind } from '../../rig/engine-double/faults.ts';

import { judge } from './invariants.ts';
import { inTurns, patient, Rig, slowEngine, until } from './rig.ts';

// The answer to each question that a run asks the engine is cut, hangs, is refused or halved.

const faults: Record<string, FaultKind> = {
  'no answer': { kind: 'cut' },
  'cut in the head': { kind: 'cut', at: 20 },
  'cut in the body': { kind: 'cut', at: 300 },
  hangs: { kind: 'hang' },
  'hangs in the body': { kind: 'hang', at: 250 },
  refused: { kind: 'refuse', status: 500, message: 'something went wrong' },
  'a page of a proxy': { kind: 'page', status: 503 },
  half: { kind: 'half' },
  trickles: { kind: 'trickle' },
};

/** In the order in which a good run asks. */
const questions: Record<string, RegExp> = {
  version: /^GET \/version/,
  'own container': /^GET \/v[\d.]+\/containers\/(?!svc-updater)[^/]{1,20}\/json/,
  "the updater's name": /^GET .*\/containers\/svc-updater\/json/,
  'the image': /^GET .*\/images\/.*\/json/,
  create: /^POST .*\/containers\/create/,
  start: /^POST .*\/start/,
  'the updater': /^GET .*\/containers\/[0-9a-f]{64}\/json/,
  log: /^GET .*\/logs/,
};

async function trial(match: RegExp, fault: FaultKind, nth: number): Promise<string[]> {
  const rig = await Rig.start();
  try {
    // What ends at once is no question of patience, in which a busy machine may fail to answer.
    const patience = ['hang', 'trickle'].includes(fault.kind) ? slowEngine : patient;
    const one = await rig.server({}, { timing: { silence: 3_000 }, patience });
    const failure = rig.engine.fault({ ...fault, match, nth });
    await one.updates.boot();
    const answer = await one.ask().catch((error: Error) => error.name);
    if (typeof answer === 'string' && answer !== 'Unavailable') return [`POST: ${answer}`];
    const accepted = typeof answer === 'object' && 'run' in answer;
    await until(() => !accepted || one.told.some((what) => what.startsWith('end'))).catch(() => {});
    failure.release();
    const found = await judge(rig, { accepted });
    if (nth === 1 && failure.hits === 0) found.push(`it was never asked: ${JSON.stringify(answer)}`);
    return found;
  } finally {
    await rig.close();
  }
}

describe.concurrent('an engine that fails once', () => {
  it.each(
    Object.entries(faults).flatMap(([name, fault]) =>
      Object.entries(questions).map(([asked, match]) => [name, asked, fault, match] as const),
    ),
  )('%s: %s', async (_, __, fault, match) => {
    const found = await inTurns([1, 2, 3], async (nth) => [nth, await trial(match, fault, nth)] as const);
    expect(found.filter(([, bad]) => bad.length > 0)).toEqual([]);
  });
});
