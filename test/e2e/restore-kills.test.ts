import { inject, onTestFinished, test } from 'vitest';
import { afterMs, onLine } from '../faults/kill.ts';
import { onRecord } from '../faults/restore-moments.ts';
import { RestoreStage } from '../faults/restore-stage.ts';
import { type Try, tryOnce } from '../faults/restore-tries.ts';

// The small part of scripts/restore-kills: a kill at what is recorded on each way, and some between.

const steps = (story: Try['story'], records: readonly number[]): Try[] =>
  records.map((k) => ({ story, strike: 'updater', moment: onRecord(k) }));

test.concurrent.for<[name: string, tries: readonly Try[]]>([
  ['in an update that keeps the data first', steps('bad', [1, 2, 3, 4, 5, 6])],
  ['on the way back of a bad release', steps('bad', [7, 8, 9, 10, 11])],
  ['on the way back by command', steps('back', [1, 2, 3, 4, 5])],
  [
    'somewhere between, or before somebody’s own up',
    [
      { story: 'bad', strike: 'updater', moment: onLine(/did not come up: going back/, 700) },
      { story: 'bad', strike: 'reader', moment: onLine(/then keeping the data/, 400) },
      { story: 'back', strike: 'updater', moment: afterMs(1_500) },
      // Last, as it goes forward.
      { story: 'bad', strike: 'updater', moment: onRecord(2), isMeddled: true },
    ],
  ],
])('killed %s, all is of one time in the end', { timeout: 900_000 }, async ([, tries]) => {
  const stage = await RestoreStage.start(inject('host'), 'files');
  onTestFinished(() => stage.dispose());
  for (const each of tries) await tryOnce(stage, each);
});
