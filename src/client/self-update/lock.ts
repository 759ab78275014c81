import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { giveToOwnerOfDirectory, isGone, systemCode } from '../../files/file-system.ts';
import { names } from '../names.ts';
import { refused, unchangedBy } from './failure.ts';

/** Ends what `takeLock` began. */
export interface Lock {
  /** Whether other updates are kept out; not where the system does not tell of its processes. */
  isHeld: boolean;
  release(): Promise<void>;
}

/**
 * Keeps a second update of the same file out, by a directory beside it with one name in it, that of the process which holds
 * the lock: only who may replace the file can take it or be in its way. A claim becomes the lock by one rename, which an
 * empty directory in its place lets through and any other does not. What a killed process has left is emptied by the name
 * of that process, so that nobody takes the lock of who was faster. Systems without /proc have none; there the temporary
 * files of two updates have names of their own, and the last one wins.
 * @throws Failure, refused, failed
 */
export async function takeLock(file: string): Promise<Lock> {
  const mine = await marksOf(process.pid);
  if (mine === null) return { isHeld: false, release: async () => {} };
  const directory = dirname(file);
  const lock = join(directory, `.${names().name}-updating-${basename(file).slice(-150)}`);
  const claim = `${lock}.${mine}`;
  try {
    await mkdir(claim);
    await writeFile(join(claim, mine), '', { flag: 'wx' });
    await giveToOwnerOfDirectory(claim);
    while (!(await isRenamed(claim, lock))) await expectNobody(lock, file);
    await removeDead(lock);
  } catch (error) {
    await rm(claim, { recursive: true, force: true }).catch(() => {});
    if (systemCode(error) === undefined) throw error;
    unchangedBy(`${file} cannot be locked`, directory)(error);
  }
  return { isHeld: true, release: () => empty(lock, mine).catch(() => {}) };
}

const isRenamed = (claim: string, lock: string): Promise<boolean> =>
  rename(claim, lock).then(
    () => true,
    (error) => {
      if (['ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')) return false;
      throw error;
    },
  );

/** Empties the lock of who no longer runs. */
async function expectNobody(lock: string, file: string): Promise<void> {
  const holders = await readdir(lock).catch((error) => {
    if (isGone(error)) return [];
    throw error;
  });
  for (const holder of holders) {
    if (await isRunning(holder))
      throw refused(
        `${file} is being replaced by another ${names().name} update.`,
        'wait until that one has ended, then run it again.',
      );
    await empty(lock, holder);
  }
}

/** Another may have made it its own by then, which is not empty. */
async function empty(lock: string, holder: string): Promise<void> {
  await rm(join(lock, holder), { force: true });
  await rmdir(lock).catch(() => {});
}

/** Claims of who was killed before they became the lock. */
async function removeDead(lock: string): Promise<void> {
  const prefix = `${basename(lock)}.`;
  for (const name of await readdir(dirname(lock)))
    if (name.startsWith(prefix) && !(await isRunning(name.slice(prefix.length))))
      await rm(join(dirname(lock), name), { recursive: true, force: true });
}

async function isRunning(marks: string): Promise<boolean> {
  const pid = Number(marks.split('-')[0]);
  return Number.isSafeInteger(pid) && pid > 0 && (await marksOf(pid)) === marks;
}

/**
 * A process by its number, its start and the start of the machine, as a number alone is given again. Null where the
 * process has ended, be it as a zombie, and where there is no /proc.
 */
async function marksOf(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    // Behind the program's name, which may hold anything: its state first, and as the 20th when it began.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return /^[ZX]/.test(fields[0] ?? '') ? null : `${pid}-${fields[19]}-${boot.trim()}`;
  } catch {
    return null;
  }
}
