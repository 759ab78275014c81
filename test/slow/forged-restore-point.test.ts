import { execa } from 'execa';
import { expect, test } from 'vitest';
import { toContainerSnapshot } from '../../src/engine/containers/container-snapshot.ts';
import type { Json } from '../../src/engine/objects/json.ts';
import type { JournalData } from '../../src/updater/run/state/journal.ts';
import { pointOf, savedIn, toNext, updatedInstance } from '../e2e/support/forged-restore-point.ts';
import { createWithData } from '../e2e/support/own-data.ts';
import { leastRights } from '../rig/updater-run.ts';

// SECURITY.md, "Who is trusted with what": the owner of a compose directory has forged a restore point.

test('a forged journal gives a recreated data service no additional rights', async () => {
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
  const blueprint = toContainerSnapshot(raw as Json);
  const forged: JournalData = {
    ...journal,
    ...{ state: { at: 'saving' }, started: false },
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
  expect(result.log).toContain(
    `${db.name} was not recreated: the journal would grant it privileges that neither the compose files nor the service's other containers have: privileged: true`,
  );
  expect(result.exitCode, result.log).toBe(5);
  expect(Object.keys(await instance.containers())).not.toContain(db.name);
});

test('an updater with the least rights saves and restores data', async () => {
  const options = { docker: leastRights };
  const instance = await updatedInstance(options);
  await instance.write('data/note', 'of v1.1.0\n');
  const { exitCode, log } = await instance.update(['rollback', '--yes'], options);
  expect(exitCode, log).toBe(0);
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
});
