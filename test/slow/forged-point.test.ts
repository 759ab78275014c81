import { chown, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import type { JournalData } from '../../src/agent/state/journal.ts';
import { blueprintOf } from '../../src/engine/api/blueprint.ts';
import type { Json } from '../../src/engine/json.ts';
import { alone, createInstance, type Instance } from '../e2e/support/instance.ts';
import { createWithData, ownData, restoreOf } from '../e2e/support/own-data.ts';
import { leastRights, type UpdaterOptions } from '../rig/updater-run.ts';

// SECURITY.md, "Who is trusted with what": restore points that the owner of a compose directory has forged.

const owner = 1000;
const toNext = ['--target', 'v1.1.0', '--restore-point'];

/** One that has been updated with a restore point, in a directory that is not root's. */
async function updatedInstance(options: UpdaterOptions = {}): Promise<Instance> {
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

/** A restore point as a journal has it. */
const savedIn = (directory: string, services: readonly string[] = []): NonNullable<JournalData['point']> => ({
  ...{ directory, state: 'saved', services, inMemory: [], riders: [], ports: [], policies: [] },
});

async function pointOf(instance: Instance): Promise<{ directory: string; record: string }> {
  const [run = ''] = await readdir(restoreOf(instance));
  const directory = join(restoreOf(instance), run);
  return { directory, record: await readFile(join(directory, 'point.json'), 'utf8') };
}

test('a journal gives a data service that is created again no more rights', async () => {
  const instance = await createWithData();
  const updated = await instance.update(toNext);
  expect(updated.exitCode, updated.log).toBe(0);
  const { directory } = await pointOf(instance);
  const journal: JournalData = JSON.parse(await instance.read('.svc-updater/journal.json'));
  const { changeover } = journal;
  const db = changeover?.containers.find(({ service }) => service === 'db');
  if (!changeover || !db) throw new Error('the journal has no database');
  const { stdout } = await execa('docker', ['inspect', db.name]);
  const [raw] = JSON.parse(stdout) as Json[];
  const { id, imageId, reference } = db;
  const blueprint = blueprintOf(raw as Json);
  const forged: JournalData = {
    ...journal,
    ...{ phase: 'save', outcome: null, started: false, goingBack: null },
    point: { ...savedIn(directory, ['db']), state: 'saving' },
    blueprints: [
      {
        ...{ ...blueprint, id, imageId, imageManifest: null, imageReference: reference },
        hostConfig: { ...blueprint.hostConfig, Privileged: true },
      },
    ],
  };
  await execa('docker', ['rm', '--force', db.name]);
  await instance.write('.svc-updater/journal.json', JSON.stringify(forged));
  const result = await instance.update(['--target', 'v1.2.0', '--restore-point']);
  expect(result.log).toContain(`${db.name} is not made again: the journal would give it privileged: true`);
  expect(result.exitCode, result.log).toBe(5);
  expect(Object.keys(await instance.containers())).not.toContain(db.name);
});

test('data is saved and restored with the least rights', async () => {
  const options = { docker: leastRights };
  const instance = await updatedInstance(options);
  await instance.write('data/note', 'of v1.1.0\n');
  const { exitCode, log } = await instance.update(['rollback', '--yes'], options);
  expect(exitCode, log).toBe(0);
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
});
