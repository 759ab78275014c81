import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectThat, Lost } from '../faults/fault.ts';
import { badReleases, type Damage } from './bad-releases.ts';
import { badTag } from './bed-instance.ts';
import { settled } from './expect.ts';
import { judge, look, shorten } from './judge/look.ts';
import type { BedRow } from './run-bed.ts';

/** What the judge must find; any difference in the database by default. */
const seen: Partial<Record<Damage, RegExp>> = {
  // Nothing is changed that can be read from outside.
  'hold locks': /^/,
  'empty uploads': /^files of uploads: "plain\.txt": .*found null/,
  'change owners': /^files of uploads: "\.": .*"owner":"4242:4242"/,
  'fill disk': /^files of files: "filling"/,
  'link for directory': /^files of uploads: "plain\.txt": .*"kind":"directory"/,
  'write 10,000 files': /^files of uploads: "invented\/99\/9999"/,
  'dig deep': /^files of uploads: "dddd|File name too long/,
};

/** Tests the judge: plain compose starts each bad release, and its damage must be found. The instance is of no use afterwards. */
export const unguardedRows: readonly BedRow[] = badReleases.map(({ name, damage, at }) => ({
  name,
  async play(instance) {
    await settled(instance, 'v1.0.0');
    await instance.pause();
    const before = await look(instance, false);
    const settings = join(instance.directory, '.env');
    await writeFile(settings, (await readFile(settings, 'utf8')).replace('v1.0.0', badTag(name)));
    await instance.compose('up', '-d', 'app', 'worker');
    const pattern = (damage && seen[damage]) ?? /^(?!files|surroundings)/;
    let facts: string[] = [];
    for (let tries = 0; tries < 15; tries++) {
      await sleep(1000);
      // A database that lets nobody in is a difference, too.
      const found = await look(instance, false).then(
        (after) => judge(before, after),
        (error) => [String(error)],
      );
      facts = found.filter((fact) => !fact.startsWith('surroundings'));
      if (at !== 'boot' && facts.some((fact) => pattern.test(fact))) return;
    }
    if (at === 'boot')
      return expectThat(facts.length === 0, `nothing was done, and the judge finds: ${facts}`);
    throw new Lost([`the judge does not find ${pattern}, but:`, ...shorten(facts)]);
  },
}));
