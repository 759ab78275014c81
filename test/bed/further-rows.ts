import { execa } from 'execa';
import { expectThat } from '../faults/fault.ts';
import { badTag, goodTag } from './bed-instance.ts';
import { expectBack, held, settled } from './expect.ts';
import { judge, look } from './judge/look.ts';
import type { BedRow } from './run-bed.ts';

/** Beside the bad releases: a good one that is left a day later, one that is stayed with, and many files. */
export const furtherRows: readonly BedRow[] = [
  {
    name: 'back-a-day-later',
    async play(instance, note) {
      const run = async (exitCode: number, ...args: string[]) => {
        const result = await instance.run(...args);
        note(result);
        const last = result.log.trim().split('\n').at(-1);
        expectThat(result.exitCode === exitCode, `${args.join(' ')} ended with ${result.exitCode}: ${last}`);
        return result.log;
      };
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      await run(0, 'update', '--restore-point', '--target', goodTag);
      await settled(instance, goodTag);
      await instance.pause();
      const newer = await look(instance, false);
      const told = await run(0, 'back');
      const lost = instance.database === 'sqlite' ? /\d+ files? new/ : /live: [\d,]+ rows more/;
      expectThat(lost.test(told), `back does not say what is lost:\n${told}`);
      const untouched = judge(newer, await look(instance, false));
      expectThat(untouched.length === 0, `back without --yes has changed something: ${untouched.join('; ')}`);
      await run(0, 'back', '--yes');
      const gone = judge(before, await look(instance, false));
      expectThat(gone.length === 0, `after back: ${gone.join('; ')}`);
      // And forward again, to what the newer version had written.
      await run(0, 'back', '--yes');
      const again = judge(newer, await look(instance, false));
      expectThat(again.length === 0, `after back, twice: ${again.join('; ')}`);
      await settled(instance, goodTag);
      await instance.pause();
      await run(0, 'back', '--yes');
      await expectBack(instance, before, true, known);
    },
  },
  {
    name: 'stay-then-back',
    async play(instance, note) {
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      const bad = badTag('never-healthy');
      const stayed = await instance.run(
        'update',
        '--restore-point',
        '--stay',
        '--target',
        bad,
        '--wait-timeout',
        '15',
      );
      note(stayed);
      expectThat(stayed.exitCode === 5, `the run ended with ${stayed.exitCode}`);
      const damage = judge(before, await look(instance, false));
      expectThat(
        damage.length > 3,
        `the judge sees little of what the bad release did: ${damage.join('; ')}`,
      );
      const back = await instance.run('back', '--yes');
      note(back);
      expectThat(back.exitCode === 0, `back ended with ${back.exitCode}`);
      await expectBack(instance, before, true, known);
    },
  },
  {
    name: 'fifty-thousand-files',
    async play(instance, note) {
      const uploads = instance.trees.uploads ?? '';
      const make =
        'import os,sys\nfor n in range(50000):\n d=f"{sys.argv[1]}/many/{n%500}"\n os.makedirs(d,exist_ok=True)\n open(f"{d}/{n}","w").write(str(n))';
      await execa('python3', ['-c', make, uploads]);
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, true);
      const result = await instance.run(
        'update',
        '--restore-point',
        '--target',
        badTag('empties-uploads'),
        '--wait-timeout',
        '15',
      );
      note(result);
      expectThat(result.exitCode === 4, `the run ended with ${result.exitCode}`);
      await expectBack(instance, before, true, known);
    },
  },
];
