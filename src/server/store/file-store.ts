import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Store } from '../contract/instance-options.ts';

/** A store in a directory. */
export interface FileStore extends Store {
  /** Absolute path. It must be on a mount of the server's container. */
  readonly directory: string;
  get(key: string): Promise<string | null>;
  set(key: string, text: string | null, condition: { was: string | null }): Promise<boolean>;
}

/** Codes of errors by which another server was faster. */
const overtaken = ['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'];
/** How often one call is tried, where others are faster or remove the directory again and again. */
const attempts = 1_000;

/** So many numbers behind the current one a text is emptied, to an empty shell of its number. */
const kept = 8;
/** So many numbers behind, the shell is removed: nobody is overtaken by so many within one call of the system. */
const shells = 256;

/**
 * A store for all servers that have the directory in common; made where it is missing. It needs neither a lock nor a
 * clock: a key is a directory with its last texts, `<directory>/<key>/<number>/text`, of which the highest counts. Whoever
 * sets another makes it inside of that one and moves it to the next number. The move succeeds for one alone: the next
 * number must not be there, and whoever was left behind so far that it might be gone again finds what it began gone with
 * the number that it began in. A server that is killed at any moment leaves the text as it was or as it was to be, and at
 * most some rubbish, which is removed later.
 */
export function fileStore(directory: string): FileStore {
  const home = resolve(directory);
  const folderOf = (key: string) => join(home, fileName(key));
  return {
    directory: home,
    get: async (key) => (await current(folderOf(key))).text,
    async set(key, text, { was }) {
      const folder = folderOf(key);
      for (let left = attempts; left > 0; left--) {
        const now = await current(folder);
        if (now.text !== was) return false;
        if (text === was) return true;
        if (now.number === null) await begin(folder);
        else if (await isReplaced(folder, now.number, text)) return true;
      }
      throw new Error(`could not write to ${folder} after ${attempts} attempts`);
    },
  };
}

/** In small letters, digits, `-` and `_`, whatever the key: a file system may know no others, nor capitals. */
function fileName(key: string): string {
  const escaped = key.replace(/[^a-z0-9_-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return escaped === '' ? '%' : escaped;
}

/** The current text and its number; a number of null where the key has never been set. */
async function current(folder: string): Promise<{ number: number | null; text: string | null }> {
  for (let left = attempts; left > 0; left--) {
    const numbers = await numbersIn(folder);
    if (numbers === null) return { number: null, text: null };
    const number = numbers.at(-1);
    if (number === undefined) continue;
    const place = join(folder, String(number));
    const text = await readFile(join(place, 'text'), 'utf8').catch(unless('ENOENT'));
    if (text !== null) return { number, text };
    // There is none; or the text is gone since the number was seen, as there are newer ones.
    if (await stat(join(place, 'none')).catch(unless('ENOENT'))) return { number, text: null };
  }
  throw new Error(`could not read ${folder} in ${attempts} attempts`);
}

/** Ascending; null where there is no such folder. */
async function numbersIn(folder: string): Promise<number[] | null> {
  const names = await readdir(folder).catch(unless('ENOENT'));
  if (names === null) return null;
  const numbers = names.filter((name) => /^\d+$/.test(name)).map(Number);
  return numbers.toSorted((a, b) => a - b);
}

/** The key's folder with a first text, which is none. It comes whole, so that no number is ever given twice. */
async function begin(folder: string): Promise<void> {
  const unfinished = `${folder}.${nonce()}`;
  try {
    await mkdir(join(unfinished, '0'), { recursive: true });
    await writeFile(join(unfinished, '0/none'), '', { flush: true });
    await moved(unfinished, folder);
  } catch (error) {
    // A server that was faster has removed the unfinished folder, as below.
    const isThere = await stat(folder).catch(unless('ENOENT'));
    if (isThere === null || !overtaken.includes(codeOf(error))) throw error;
  }
  const home = dirname(folder);
  await sync(home);
  // Also the unfinished folders of others, which the folder makes useless.
  for (const name of await readdir(home)) {
    if (name.startsWith(`${basename(folder)}.`)) await remove(join(home, name));
  }
}

async function isReplaced(folder: string, number: number, text: string | null): Promise<boolean> {
  const draft = join(folder, String(number), nonce());
  try {
    await mkdir(draft);
    // A number without a text has a file all the same: nothing can be moved over a directory with something in it.
    await writeFile(join(draft, text === null ? 'none' : 'text'), text ?? '', { flush: true });
    await sync(draft);
    if (!(await moved(draft, join(folder, String(number + 1))))) return false;
  } catch (error) {
    // On a full disk no draft must stay. A draft that was overtaken is gone already.
    await remove(draft).catch(() => {});
    if (overtaken.includes(codeOf(error))) return false;
    throw error;
  }
  await sync(folder);
  // Leftovers are removed by the next write.
  await tidy(folder, number).catch(() => {});
  return true;
}

/**
 * Removes numbers far below the given one, lowest first. Each is renamed before it is removed. While a number exists, every
 * later one exists and is not empty, so nothing can be moved over it.
 */
async function tidy(folder: string, last: number): Promise<void> {
  for (const number of (await numbersIn(folder)) ?? []) {
    if (number <= last - shells) await moved(join(folder, String(number)), join(folder, `old-${nonce()}`));
  }
  // With some numbers before it, as a server may have been killed before it emptied them.
  for (let number = last - kept; number > last - kept - 4; number--)
    await empty(join(folder, String(number)));
  for (const name of await readdir(folder)) {
    if (name.startsWith('old-')) await remove(join(folder, name));
  }
}

async function empty(place: string): Promise<void> {
  const names = (await readdir(place).catch(unless('ENOENT'))) ?? [];
  if (names.length === 1 && names[0] !== 'text') return;
  if (names.length > 0 && !names.includes('none')) await writeFile(join(place, 'gone'), '');
  for (const name of names) if (name !== 'none' && name !== 'gone') await remove(join(place, name));
}

/** Whether a directory was moved; not, where it is gone or something is in the new place. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (overtaken.includes(codeOf(error))) return false;
    throw error;
  }
}

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Has a directory's names on the disk, where the file system can do that. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(codeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

/** Not by `node:crypto`, which takes its time to load. */
const nonce = (): string => crypto.randomUUID();
const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null)?.code);
const unless =
  (code: string) =>
  (error: unknown): null => {
    if (codeOf(error) === code) return null;
    throw error;
  };
