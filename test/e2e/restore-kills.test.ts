import { expect, inject, onTestFinished, test } from 'vitest';
import { type Moment, onFileChange } from '../faults/kill.ts';
import { onRecord } from '../faults/restore-moments.ts';
import { RestoreStage } from '../faults/restore-stage.ts';
import { type Story, tryOnce } from '../faults/restore-tries.ts';

// A few of the kills of scripts/restore-kills. Wherever a slow machine lets them strike, all is of one time in the end.

test('killed while data are kept and put back, all is of one time in the end', {
  timeout: 900_000,
}, async () => {
  const stage = await RestoreStage.start(inject('host'), 'files');
  onTestFinished(() => stage.dispose());
  const moments: [Story, Moment][] = [
    ['bad', onRecord(3)],
    ['bad', onRecord(8)],
    ['bad', onRecord(9)],
    ['back', onRecord(1)],
    ['back', onRecord(2)],
    // What stands in for a file until it takes its name.
    ['back', onFileChange(/^\.\.env\.svc-updater-/)],
  ];
  for (const [story, moment] of moments) {
    const { why } = await tryOnce(stage, { story, strike: 'updater', moment });
    expect(why).not.toBeNull();
  }
});
