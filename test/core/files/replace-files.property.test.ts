import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../src/core/errors/update-error.ts';
import {
  type FilePermissions,
  type FileSystem,
  replaceFileSafely,
} from '../../../src/core/files/file-system.ts';
import {
  type FileRecord,
  type FileReplacement,
  replaceFiles,
  restoreFiles,
} from '../../../src/core/files/transaction/replace-files.ts';
import { FakeDisk, type FakeProcess, type Fault, type Luck } from './fake-file-system.ts';

const state = '/srv/svc/.svc-updater';
const journal = `${state}/journal.json`;
const backup = `${state}/backup/20261121T104207Z`;
const directories = ['/srv/svc', '/srv/svc/sub', '/srv/other'];

interface File {
  directory: string;
  name: string;
  isNew: boolean;
  before: string;
  after: string;
  owner: FilePermissions;
}

/** The permissions of a new file. */
const made: FilePermissions = { uid: 0, gid: 0, mode: 0o600 };

const pathOf = ({ directory, name }: Pick<File, 'directory' | 'name'>) => join(directory, name);

const text = fc.oneof(fc.constantFrom('', 'A=1\r\n', 'ä'), fc.string({ maxLength: 8 }));

const filesOf = (maxLength: number) =>
  fc.uniqueArray(
    fc.record<File>({
      directory: fc.constantFrom(...directories),
      name: fc.constantFrom('.env', 'compose.yaml', '1-.env'),
      isNew: fc.constantFrom(false, false, true),
      before: text,
      after: text,
      owner: fc.constantFrom({ uid: 0, gid: 0, mode: 0o644 }, { uid: 1000, gid: 100, mode: 0o4640 }),
    }),
    { minLength: 1, maxLength, selector: pathOf },
  );

/** All files outside the updater's state directory. */
const outside = (disk: FakeDisk) =>
  Object.fromEntries([...disk.contents()].filter(([path]) => !path.startsWith(`${state}/`)));

/** The disk of an instance with these files. */
function diskWith(files: readonly File[], side: 'before' | 'after'): FakeDisk {
  const disk = new FakeDisk();
  for (const path of directories) disk.putDirectory(path);
  for (const file of files) {
    if (side === 'after') disk.putFile(pathOf(file), file.after, file.isNew ? made : file.owner);
    else if (!file.isNew) disk.putFile(pathOf(file), file.before, file.owner);
  }
  return disk;
}

/** An instance before its update: the replacements, and all files before and after the update. */
function layOut(files: readonly File[], seed: number) {
  const replacements = files.map((file): FileReplacement => {
    const { isNew, before, after } = file;
    return { path: pathOf(file), before: isNew ? null : before, after };
  });
  const [old, updated] = [outside(diskWith(files, 'before')), outside(diskWith(files, 'after'))];
  return { files, replacements, seed, old, updated };
}

type Instance = ReturnType<typeof layOut>;

/** A disk of this instance. Its state directory was just created and is not synced yet. */
async function diskOf({ files }: Instance): Promise<FakeDisk> {
  const disk = diskWith(files, 'before');
  await disk.process().makeDirectory(state, 0o700);
  return disk;
}

interface Journal {
  /** `write`: files are being replaced; `done`: all files are new; `back`: all files are restored. */
  phase: 'write' | 'done' | 'back';
  files: readonly FileRecord[];
}

const note = (fs: FileSystem, content: Journal) =>
  replaceFileSafely(fs, journal, JSON.stringify(content), { mode: 0o600 });

async function readJournal(fs: FileSystem): Promise<Journal | null> {
  const bytes = await fs.read(journal);
  return bytes && JSON.parse(bytes.toString());
}

/** The part of a run that replaces files. */
async function update(fs: FileSystem, { replacements }: Instance) {
  try {
    const files = await replaceFiles(replacements, {
      runId: basename(backup),
      backupDirectory: backup,
      planned: replacements.flatMap(({ path, before }) => (before === null ? [] : [{ path, text: before }])),
      prepared: (files) => note(fs, { phase: 'write', files }),
      fs,
    });
    await note(fs, { phase: 'done', files });
  } catch (error) {
    // After a complete restore, the run records the restore in the journal, so that no recovery follows.
    if (codeOf(error) === 'write-failed' && (await readJournal(fs)))
      await note(fs, { phase: 'back', files: [] });
    throw error;
  }
}

/** The first action of the next process. */
async function recover(fs: FileSystem) {
  const found = await readJournal(fs);
  if (found?.phase !== 'write') {
    // The journal may be only in memory.
    if (found) await fs.sync(state);
    return;
  }
  expect(await restoreFiles(found.files, { fs })).toEqual([]);
  await note(fs, { phase: 'back', files: found.files });
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error);

/** Runs the work of a process, and returns the code of its error. */
async function attempt(process: FakeProcess, work: (fs: FileSystem) => Promise<void>): Promise<unknown> {
  try {
    await work(process);
    return 'good';
  } catch (error) {
    if (process.stopped) return 'stopped';
    if (error instanceof UpdateError || (error instanceof Error && 'syscall' in error)) return codeOf(error);
    throw error;
  }
}

/** Expects exactly the old files, or the new files if the journal is `done`: now, and after a power loss. */
async function expectSettled(instance: Instance, disk: FakeDisk, where: string, luck: Luck) {
  const phase = (await readJournal(disk.process()))?.phase ?? 'none';
  expect(phase, where).not.toBe('write');
  const wanted = phase === 'done' ? instance.updated : instance.old;
  expect(outside(disk), where).toEqual(wanted);
  disk.losePower(luck);
  expect(outside(disk), `${where}, and power lost once more`).toEqual(wanted);
}

const nothingSpared: Luck = () => 0;

/** Pseudo-random numbers that depend only on the seed. */
function luckOf(seed: number): Luck {
  let at = (seed * 2654435761) % 2 ** 32;
  return () => {
    at = (at * 1664525 + 1013904223) % 2 ** 32;
    return at / 2 ** 32;
  };
}

/** No power loss, a power loss that spares nothing, and a random one. */
const lucks = (seed: number): (Luck | null)[] => [null, nothingSpared, luckOf(seed)];

const once = (operation: number, fault: Fault) => (n: number) => (n === operation ? fault : undefined);

/** Tries each operation number until a process finishes before it reaches that number. */
async function forEveryOperation(tryOne: (operation: number) => Promise<FakeProcess>): Promise<number> {
  for (let n = 0; ; n++) if ((await tryOne(n)).operations <= n) return n;
}

const check = (count: number, numRuns: number, property: (instance: Instance) => Promise<unknown>) =>
  fc.assert(
    fc.asyncProperty(
      fc.tuple(filesOf(count), fc.nat()).map(([given, seed]) => layOut(given, seed)),
      async (instance) => void (await property(instance)),
    ),
    { numRuns },
  );

describe('replacing files as one transaction', () => {
  it('restores all files if one operation fails', () =>
    check(5, 10, (instance) =>
      forEveryOperation(async (n) => {
        let process: FakeProcess | undefined;
        for (const fault of ['fail', 'fail-after'] as const) {
          const disk = await diskOf(instance);
          process = disk.process(once(n, fault));
          const code = await attempt(process, (fs) => update(fs, instance));
          const where = `${fault} at ${n}: ${code}`;
          // EIO is an error of the last write of the journal, not of the files.
          expect(['good', 'write-failed', 'EIO'], where).toContain(code);
          if (code === 'EIO') await recover(disk.process());
          await expectSettled(instance, disk, where, n % 2 ? nothingSpared : luckOf(instance.seed + n));
        }
        return process as FakeProcess;
      }),
    ));

  it('leaves all files old or all new after kills at any operation and power losses', () =>
    check(3, 8, (instance) =>
      forEveryOperation(async (n) => {
        let process: FakeProcess | undefined;
        await forEveryOperation(async (m) => {
          const before = lucks(instance.seed + m)[(n + m) % 3];
          const amid = lucks(instance.seed + n)[m % 3];
          const disk = await diskOf(instance);
          process = disk.process(once(n, (n + m) % 4 < 2 ? 'stop-after' : 'stop-amid'));
          await attempt(process, (fs) => update(fs, instance));
          if (before) disk.losePower(before);
          const recovery = disk.process(once(m, m % 2 ? 'stop-after' : 'stop-amid'));
          await attempt(recovery, recover);
          if (amid) disk.losePower(amid);
          await recover(disk.process());
          await expectSettled(instance, disk, `stops at ${n} and ${m}`, nothingSpared);
          return recovery;
        });
        return process as FakeProcess;
      }),
    ));

  it('needs no disk space to restore all files', () =>
    check(5, 25, (instance) =>
      forEveryOperation(async (n) => {
        const disk = await diskOf(instance);
        // While the disk is full, a rename may fail as well.
        const failing = n + Math.floor(luckOf(instance.seed + n)() * 20);
        const process = disk.process(once(failing, 'fail'));
        process.onOperation = () => {
          disk.full ||= process.operations > n;
        };
        const code = await attempt(process, (fs) => update(fs, instance));
        const where = `full from ${n}, failure at ${failing}: ${code}`;
        expect(['good', 'write-failed', 'EIO', 'ENOSPC'], where).toContain(code);
        // If the journal could not be updated, the next process still finds the phase `write` in it.
        await attempt(disk.process(), recover);
        const { phase } = (await readJournal(disk.process())) ?? {};
        expect(outside(disk), where).toEqual(phase === 'done' ? instance.updated : instance.old);
        disk.full = false;
        await recover(disk.process());
        await expectSettled(instance, disk, where, luckOf(instance.seed + n));
        return process;
      }),
    ));
});
