import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import { mountExfat } from '../rig/exfat.ts';
import { startInstance } from '../rig/instance.ts';
import { expectWords } from './support/attempt.ts';
import { alone } from './support/instance.ts';

test('on exFAT: one run at a time, a whole update, and the log names what is not kept', async () => {
  const host = inject('host');
  const disk = await mountExfat(join(host.directory, 'exfat'));
  onTestFinished(disk.unmount);
  const registry = await startBadRegistry(host.registry);
  onTestFinished(() => registry.close());
  const options = { folder: 'exfat', keepsNoOwners: true, registry: registry.host };
  const instance = await startInstance(host, { ...alone, ...options });
  onTestFinished(() => instance.dispose());
  const toNext = ['--target', 'v1.1.0'];
  const before = await look(instance);

  let goOn = () => {};
  /** It is in its pull, and stays there until it may go on. */
  const startHeld = async (args: readonly string[]) => {
    const until = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    registry.fail({ kind: 'late', after: 0, until }, { on: 'blobs' });
    registry.requests.length = 0;
    const run = instance.startUpdate(args);
    const pulls = () => registry.requests.some((asked) => asked.includes('/blobs/'));
    await expect.poll(pulls, { timeout: 60_000 }).toBe(true);
    return run;
  };
  const first = await startHeld(toNext);
  const second = await instance.update(toNext);
  expectWords(second, {
    exitCode: 3,
    says: [`another update is running: container ${first.name}, since `],
    ends: ['refused (update-running): '],
  });
  goOn();
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
  const killed = await startHeld(['--target', 'v1.2.0']);
  await killed.kill();
  await killed.done;
  registry.fail(null);
  const plan = await instance.update(['plan', '--target', 'v1.2.0']);
  expectWords(plan, { exitCode: 0, says: [], ends: ['planned: nothing was changed'] });
  expect(judgeUntouched(after, { ...(await look(instance)), leftovers: [] })).toEqual([]);
  expectWords(await instance.update(['--target', 'v1.2.0']), {
    exitCode: 0,
    says: [`took over the lock of ${killed.name}`],
    ends: ['updated v1.1.0 → v1.2.0'],
  });
});
