import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { createInstance } from './support/instance.ts';
import { ownData } from './support/own-data.ts';

// docs/contract.md 2.25: a restore point contains a directory that the app shares with the host only if the settings
// file sets this.

test('a home directory is saved only if the settings file includes it, and the rollback preview names the directory', async () => {
  const home = await mkdtemp('/home/svct-');
  onTestFinished(() => rm(home, { recursive: true }));
  const note = join(home, 'note');
  await writeFile(note, 'of v1.0.0\n');
  const instance = await createInstance({
    layout: ownData,
    up: ['--no-deps', 'app'],
    text: { volumes: [`${home}:/files`] },
  });
  const withPoint = ['--target', 'v1.1.0', '--restore-point'];
  const says = [
    `app:/files is mounted from the host path "${home}", which contains more than the data of app`,
    'Under data, set "app:/files: none" or "app:/files: save"',
  ];
  const ends = [/^refused \(data-undeclared\): .*set data: \{app:\/files: none\}/];
  await expectAttempt(instance, withPoint, { exitCode: 3, says, ends });
  await expectAttempt(instance, ['plan', '--target', 'v1.1.0'], {
    exitCode: 0,
    says: ['to use restore points (--restore-point), set data: {app:/files: none}'],
    ends: ['planned'],
  });
  await instance.write('.svc-updater.yaml', "data: {'app:/files': save}\n");
  const updated = await instance.update(withPoint);
  expect(updated.exitCode, updated.log).toBe(0);
  expect(updated.log).toContain('app:/files');
  await writeFile(note, 'of v1.1.0\n');
  // Without the setting, as with a restore point created by an earlier version of the updater.
  await rm(join(instance.directory, '.svc-updater.yaml'));
  const named = `the rollback will replace everything in the host directory "${home}"`;
  expectWords(await instance.update(['rollback']), { exitCode: 0, says: [named], ends: ['planned'] });
  const { exitCode, log } = await instance.update(['rollback', '--yes']);
  expect(exitCode, log).toBe(0);
  expect(await readFile(note, 'utf8'), log).toBe('of v1.0.0\n');
});
