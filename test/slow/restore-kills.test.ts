import { expect, inject, onTestFinished, test } from 'vitest';
import { onTools } from '../faults/restore-moments.ts';
import { RestoreStage } from '../faults/restore-stage.ts';
import { type Try, tryOnce } from '../faults/restore-tries.ts';

// A few of the tries of scripts/campaign restore-kills.

test('after a kill while data is saved or restored, the next run ends with everything of one version', {
  timeout: 900_000,
}, async () => {
  const stage = await RestoreStage.start(inject('host'), 'files');
  onTestFinished(() => stage.dispose());
  const tries: Try[] = [
    { story: 'bad', strike: 'updater', moment: onTools('cold') },
    { story: 'bad', strike: 'up', moment: onTools('cold') },
    { story: 'bad', strike: 'updater', moment: onTools('restore') },
    { story: 'rollback', strike: 'updater', moment: onTools('restore') },
  ];
  for (const each of tries) expect((await tryOnce(stage, each)).why).not.toBeNull();
});
