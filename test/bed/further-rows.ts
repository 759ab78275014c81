import { execa } from 'execa';
import { expectThat } from '../faults/fault.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { type BedInstance, badTag, goodTag } from './bed-instance.ts';
import { expectBack, held, settled } from './expect.ts';
import { judge, look } from './judge/look.ts';
import type { BedRow } from './run-bed.ts';

const lastLine = ({ log }: UpdateResult) => log.trim().split('\n').at(-1);
const expectExit = (result: UpdateResult, code: number) =>
  expectThat(result.exitCode === code, `exit code ${result.exitCode}, not ${code}: ${lastLine(result)}`);

/** The row before has saved data for manual recovery, which stays until an update succeeds. */
const removePoints = async (instance: BedInstance) =>
  expectExit(await instance.run('restore-point', 'rm'), 0);

/** Rollbacks by command, and many files. */
export const furtherRows: readonly BedRow[] = [
  {
    name: 'rollback-a-day-later',
    async play(instance, note) {
      const run = async (...args: string[]) => {
        const result = await instance.run(...args);
        note(result);
        expectExit(result, 0);
        return result.log;
      };
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      await run('update', '--restore-point', '--target', goodTag);
      await settled(instance, goodTag);
      await instance.pause();
      const newer = await look(instance, false);
      const told = await run('rollback');
      expectThat(/will be replaced/.test(told), `rollback does not warn:\n${told}`);
      const touched = judge(newer, await look(instance, false));
      expectThat(touched.length === 0, `rollback without --yes has changed something: ${touched.join('; ')}`);
      await run('rollback', '--yes');
      await expectBack(instance, before, true, known, 2);
    },
  },
  {
    name: 'no-rollback-then-rollback',
    async play(instance, note) {
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      await removePoints(instance);
      const flags = ['--restore-point', '--no-rollback', '--wait-timeout', '15'];
      const stayed = await instance.run('update', ...flags, '--target', badTag('never-healthy'));
      note(stayed);
      expectExit(stayed, 5);
      const damage = judge(before, await look(instance, false));
      expectThat(damage.length > 3, `the bad release did little: ${damage.join('; ')}`);
      const back = await instance.run('rollback', '--yes');
      note(back);
      expectExit(back, 0);
      await expectBack(instance, before, true, known, 2);
    },
  },
  {
    name: 'fifty-thousand-files',
    async play(instance, note) {
      const make =
        'import os,sys\nfor n in range(50000):\n d=f"{sys.argv[1]}/many/{n%500}"\n os.makedirs(d,exist_ok=True)\n open(f"{d}/{n}","w").write(str(n))';
      await execa('python3', ['-c', make, instance.trees.uploads ?? '']);
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      await removePoints(instance);
      const flags = ['--restore-point', '--wait-timeout', '15'];
      const result = await instance.run('update', ...flags, '--target', badTag('empties-uploads'));
      note(result);
      expectExit(result, 4);
      await expectBack(instance, before, true, known);
    },
  },
];
