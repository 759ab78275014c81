import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { mountExfat } from '../rig/exfat.ts';
import { startInstance } from '../rig/instance.ts';
import { expectWords } from './support/attempt.ts';
import { alone } from './support/instance.ts';

test('on exFAT: one run at a time, a whole update, and the log names what is not kept', async () => {
  const host = inject('host');
  const disk = await mountExfat(join(host.directory, 'exfat'));
  onTestFinished(disk.unmount);
  const instance = await startInstance(host, { ...alone, folder: 'exfat', keepsNoOwners: true });
  onTestFinished(() => instance.dispose());
  const toNext = ['--target', 'v1.1.0'];
  const before = await look(instance);

  const first = instance.startUpdate(toNext);
  await first.waitFor(/ INFO {2}(inspect app and worker run|plan )/);
  const second = await instance.update(toNext);
  expectWords(second, {
    exitCode: 3,
    says: [`another update is running: container ${first.name}, since `],
    ends: ['refused (update-running): '],
  });
  const result = await first.done;
  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  const warns = [
    /keeps no owners and no modes: whoever may read it may read what is kept in \.svc-updater, too$/,
  ];
  const after = await look(instance);
  const facts = [
    ...judgeOutcome(result, ['updated']),
    ...judgeUpdated(before, after, { version: 'v1.1.0', changed }),
    ...judgeGoodLog(result, { warns }),
  ];
  expect(facts, result.log).toEqual([]);

  // A killed run's lock is not for ever.
  await instance.publish('v1.2.0');
  const killed = instance.startUpdate(['--target', 'v1.2.0']);
  await killed.waitFor(/ INFO {2}(inspect app and worker run|plan )/);
  await killed.kill();
  await killed.done;
  const plan = await instance.update(['plan', '--target', 'v1.2.0']);
  expectWords(plan, { exitCode: 0, says: [], ends: ['planned: nothing was changed'] });
  expect(judgeUntouched(after, { ...(await look(instance)), leftovers: [] })).toEqual([]);
  expectWords(await instance.update(['--target', 'v1.2.0']), {
    exitCode: 0,
    says: [`took over the lock of ${killed.name}`],
    ends: ['updated v1.1.0 → v1.2.0'],
  });
});
