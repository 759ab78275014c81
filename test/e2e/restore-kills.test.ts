import { expect, inject, onTestFinished, test } from 'vitest';
import { onRecord } from '../faults/restore-moments.ts';
import { RestoreStage } from '../faults/restore-stage.ts';
import { type Story, tryOnce } from '../faults/restore-tries.ts';

// A few of the kills of scripts/restore-kills. Wherever a slow machine lets them strike, all is of one time in the end.

test('killed while data are kept and put back, all is of one time in the end', {
  timeout: 900_000,
}, async () => {
  const stage = await RestoreStage.start(inject('host'), 'files');
  onTestFinished(() => stage.dispose());
  const moments: [Story, record: number][] = [
    ['bad', 3],
    ['bad', 8],
    ['bad', 9],
    ['back', 1],
    ['back', 2],
  ];
  for (const [story, record] of moments) {
    const { why } = await tryOnce(stage, { story, strike: 'updater', moment: onRecord(record) });
    expect(why).toContain('record');
  }
});
