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

/** Creates a directory that is unrelated to the instance. */
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

/** Replaces the restore point of root with a forged copy, which the owner of the compose directory is able to do. */
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

test('a rollback is refused if root does not own the restore point, or if a link has replaced a saved directory', async () => {
  const instance = await updatedInstance();
  const victim = await makeVictim(instance);
  // The owner replaces the data directory with a link; nothing may be restored to the target of the link.
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

  // The owner can also write a journal that refers to the forged restore point.
  const { back } = JSON.parse(await readFile(join(directory, 'point.json'), 'utf8')).point;
  const journal: JournalData = {
    ...back,
    state: { at: 'restoring', ending: null },
    point: savedIn(directory),
  };
  await instance.write('.svc-updater/journal.json', JSON.stringify(journal));
  await chown(join(instance.directory, '.svc-updater', 'journal.json'), owner, owner);
  expectWords(await instance.update(toNext), refused);
  // A journal that refers to a restore point in another directory.
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
