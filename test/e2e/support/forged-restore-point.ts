import { chown, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JournalData } from '../../../src/updater/run/state/journal.ts';
import type { UpdaterOptions } from '../../rig/updater-run.ts';
import { alone, createInstance, type Instance } from './instance.ts';
import { ownData, restoreOf } from './own-data.ts';

/** The user id of the owner of the compose directory. */
export const owner = 1000;
export const toNext = ['--target', 'v1.1.0', '--restore-point'];

/** An instance that was updated with a restore point, in a directory not owned by root. */
export async function updatedInstance(options: UpdaterOptions = {}): Promise<Instance> {
  const instance = await createInstance({
    ...alone,
    layout: ownData,
    publish: ['v1.1.0'],
  });
  await chown(instance.directory, owner, owner);
  await instance.write('data/note', 'of v1.0.0\n');
  const { exitCode, log } = await instance.update(toNext, options);
  expect(exitCode, log).toBe(0);
  return instance;
}

/** A restore point as stored in a journal. */
export const savedIn = (
  directory: string,
  services: readonly string[] = [],
): NonNullable<JournalData['point']> => ({
  ...{ directory, state: 'saved', services, inMemory: [], riders: [], ports: [], policies: [] },
});

export async function pointOf(instance: Instance): Promise<{ directory: string; record: string }> {
  const [run = ''] = await readdir(restoreOf(instance));
  const directory = join(restoreOf(instance), run);
  return { directory, record: await readFile(join(directory, 'point.json'), 'utf8') };
}
