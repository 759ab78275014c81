import { chown, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import type { JournalData } from '../../src/updater/run/state/journal.ts';
import { expectWords } from './support/attempt.ts';
import { owner, pointOf, savedIn, toNext, updatedInstance } from './support/forged-restore-point.ts';
import type { Instance } from './support/instance.ts';
import { restoreOf } from './support/own-data.ts';

// SECURITY.md, "Who is trusted with what": restore points that the owner of a compose directory has forged.

/** Another directory of the machine, which the instance has nothing to do with. */
async function makeVictim(instance: Instance): Promise<string> {
  const victim = `${instance.directory}-victim`;
  await mkdir(victim);
  await writeFile(join(victim, 'precious'), 'of somebody else\n');
  return victim;
}

async function expectUnharmed(victim: string): Promise<void> {
  expect(await readdir(victim)).toEqual(['precious']);
  expect(await readFile(join(victim, 'precious'), 'utf8')).toBe('of somebody else\n');
  await rm(victim, { recursive: true });
}

/** What the owner may do: a copy of his own in the place of root's. */
async function forgePoint(instance: Instance, victim: string): Promise<string> {
  const { directory, record } = await pointOf(instance);
  const path = JSON.stringify(join(instance.directory, 'data')).slice(1, -1);
  expect(record).toContain(`"${path}`);
  const forged = record.replaceAll(new RegExp(`"${path}(?:/[^"]*)?"`, 'g'), JSON.stringify(victim));
  await rename(restoreOf(instance), `${restoreOf(instance)}-of-root`);
  await execa('cp', ['-r', `${restoreOf(instance)}-of-root`, restoreOf(instance)]);
  await writeFile(join(directory, 'point.json'), forged);
  await execa('chown', ['-R', `${owner}:${owner}`, restoreOf(instance)]);
  return directory;
}

test('a restore point of the owner of the directory restores nothing, and a link leads to no other place', async () => {
  const instance = await updatedInstance();
  const victim = await makeVictim(instance);
  // Nor is anything restored to the target of a link that has taken the place of a directory.
  const data = join(instance.directory, 'data');
  await rename(data, `${data}-away`);
  await symlink(victim, data);
  for (const args of [['rollback'], ['rollback', '--yes']])
    expectWords(await instance.update(args), {
      exitCode: 3,
      says: [`${data}: `, ` is now ${victim} instead of ${data}`],
      ends: ['refused (modified-since): nothing was changed'],
    });
  expect(await readdir(victim)).toEqual(['precious']);
  await rm(data);
  await rename(`${data}-away`, data);

  const directory = await forgePoint(instance, victim);
  const refused = {
    exitCode: 3,
    says: [
      `${restoreOf(instance)} is not accepted as a restore point, because it is owned by user ${owner} instead of root`,
    ],
    ends: ['refused (unexpected-file): nothing was changed', `chown -R 0:0 ${restoreOf(instance)}`],
  };
  for (const args of [['rollback'], ['rollback', '--yes'], ['restore-point', 'rm'], toNext])
    expectWords(await instance.update(args), refused);

  // By a journal, too, which he may write.
  const { back } = JSON.parse(await readFile(join(directory, 'point.json'), 'utf8')).point;
  const journal: JournalData = {
    ...back,
    state: { at: 'restoring', ending: null },
    point: savedIn(directory),
  };
  await instance.write('.svc-updater/journal.json', JSON.stringify(journal));
  await chown(join(instance.directory, '.svc-updater', 'journal.json'), owner, owner);
  expectWords(await instance.update(toNext), refused);
  // Where he keeps it somewhere else.
  const elsewhere = join(instance.directory, 'data', 'x');
  await rename(restoreOf(instance), elsewhere);
  const point = savedIn(directory.replace(restoreOf(instance), elsewhere));
  await instance.write('.svc-updater/journal.json', JSON.stringify({ ...journal, point }));
  expectWords(await instance.update(toNext), {
    exitCode: 3,
    says: [
      `the journal lists the restore point ${point.directory}, which is outside the restore point directories`,
    ],
    ends: ['refused (unexpected-file): nothing was changed'],
  });
  await expectUnharmed(victim);
});
