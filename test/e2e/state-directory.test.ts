import { hash } from 'node:crypto';
import { lstat, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import {
  type ContainerSnapshot,
  toContainerSnapshot,
} from '../../src/engine/containers/container-snapshot.ts';
import type { Json } from '../../src/engine/objects/json.ts';
import type { JournalData } from '../../src/updater/run/state/journal.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 7.7 to 7.9: the updater does not trust files that another user wrote into its directory.

const journalOf = async (instance: Instance): Promise<JournalData> =>
  JSON.parse(await instance.read('.svc-updater/journal.json'));
const forge = (instance: Instance, journal: JournalData) =>
  instance.write('.svc-updater/journal.json', JSON.stringify(journal));
const hashOf = (text: string) => hash('sha256', text);
const toNext = ['--target', 'v1.1.0'];

/** An instance whose containers were replaced, so its journal contains the old containers. */
async function updatedInstance(): Promise<Instance> {
  const instance = await createInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0'] });
  const { exitCode, log } = await instance.update(toNext);
  expect(exitCode, log).toBe(0);
  return instance;
}

test('a forged journal restores only files of the project, and no file with more rights', async () => {
  const instance = await updatedInstance();
  const journal = await journalOf(instance);
  const [env] = journal.files;
  if (env?.backup == null || env.before === null) throw new Error('the update has changed no file');
  const tool = join(instance.directory, 'data', 'tool');
  await writeFile(tool, 'harmless\n', { mode: 0o644 });
  const kept = join(env.backup, '..', 'tool');
  await writeFile(kept, 'not harmless\n', { mode: 0o755 });
  const root = { uid: 0, gid: 0, mode: 0o4755 };
  const file = { path: tool, real: tool, before: hashOf('not harmless\n'), after: hashOf('harmless\n') };
  const killed = { ...journal, state: { at: 'pulling' }, changeover: null } as const;
  const forged = { ...file, backup: kept, owner: root, temporary: `${tool}.new` };
  await forge(instance, { ...killed, files: [forged] });
  const result = await instance.update(toNext);
  expect((await lstat(tool)).mode & 0o7777).toBe(0o644);
  expect(await readFile(tool, 'utf8')).toBe('harmless\n');
  expectWords(result, {
    exitCode: 3,
    says: [`the journal lists ${tool}, which is not a project file`],
    ends: ['refused (unexpected-file): nothing was changed; v1.0.0 is still running. Next: '],
  });

  // A file of the project is restored with the current permissions of the file.
  const path = join(instance.directory, '.env');
  await forge(instance, { ...killed, files: [{ ...env, owner: root }] });
  const { uid, gid, mode } = await lstat(path);
  const again = await instance.update(['--target', 'v1.2.0']);
  expect(again.exitCode, again.log).toBe(0);
  expect(again.log).toContain('the interrupted update was undone, and v1.0.0 has been restored');
  expect(await lstat(path)).toMatchObject({ uid, gid, mode });
  expect(await instance.read(`.svc-updater/backup/${(await journalOf(instance)).run}/.env`)).toContain(
    'v1.0.0',
  );
});

/** Snapshots that a journal would contain for the replaced containers, built from their replacements. */
async function blueprintsOf({ changeover }: JournalData, project: string): Promise<ContainerSnapshot[]> {
  const records = changeover?.containers ?? [];
  const moved = records.filter(({ service }) => changeover?.moved.some(({ name }) => name === service));
  const inspected = await execa('docker', ['inspect', ...moved.map(({ name }) => name)]);
  expect(moved.map(({ name }) => name).sort()).toEqual([`${project}-app-1`, `${project}-worker-1`]);
  return (JSON.parse(inspected.stdout) as Json[]).map((raw, at) => {
    const { id = '', imageId = '', reference = '' } = moved[at] ?? {};
    return { ...toContainerSnapshot(raw), id, imageId, imageManifest: null, imageReference: reference };
  });
}

test('a forged journal creates no container with more rights than the compose files grant', async () => {
  const instance = await updatedInstance();
  const app = `${instance.project}-app-1`;
  const journal = await journalOf(instance);
  const blueprints = await blueprintsOf(journal, instance.project);
  const armed = blueprints.map((each) =>
    each.name === app
      ? {
          ...each,
          hostConfig: {
            ...each.hostConfig,
            Privileged: true,
            Binds: ['/:/host', ...((each.hostConfig.Binds ?? []) as string[])],
          },
        }
      : each,
  );
  const state = { at: 'rolling-back', from: 'replacing', ending: null } as const;
  await forge(instance, { ...journal, state, started: false, blueprints: armed });
  expectWords(await instance.update(['--target', 'v1.2.0']), {
    exitCode: 5,
    says: [
      `${app} was not recreated: the journal would grant it privileges that neither the compose files nor the service's other containers have: privileged: true and host path / mounted at /host`,
    ],
    ends: ['broken (containers-not-restored): '],
  });
  const { stdout } = await execa('docker', ['ps', '-aq', '--filter', `name=${app}`]);
  const found = stdout === '' ? '[]' : (await execa('docker', ['inspect', ...stdout.split('\n')])).stdout;
  expect(JSON.parse(found).map(({ HostConfig }: Json) => (HostConfig as Json).Privileged)).not.toContain(
    true,
  );
});

test.each([
  [1, 'an older'],
  [3, 'a newer'],
])('a journal of format %d makes every run refused before anything changes', async (format, which) => {
  const instance = await createInstance(alone);
  const text = `{\n "format": ${format},\n "phase": "recreate"\n}\n`;
  await instance.write('.svc-updater/journal.json', text);
  const commands = [toNext, ['plan', ...toNext], ['rollback'], ['rollback', '--yes']];
  for (const args of commands)
    expectWords(await instance.update(args), {
      exitCode: 3,
      says: [`journal.json was written by ${which} version of the updater`],
      ends: [
        /^refused \(journal-pending\): nothing was changed.* Next: If that update has ended \(see the last line of /,
      ],
    });
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.read('.svc-updater/journal.json')).toBe(text);
});
