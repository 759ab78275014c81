import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Store } from '../contract/instance-options.ts';

/** Store that keeps its data in a directory. */
export interface FileStore extends Store {
  /** Absolute path of the directory, which must be on a mount of the server's container. */
  readonly directory: string;
  get(key: string): Promise<string | null>;
  set(key: string, text: string | null, condition: { was: string | null }): Promise<boolean>;
}

/** Codes of errors that occur if another server changes the same directories at the same time. */
const raceErrorCodes = ['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'];
/** Maximum attempts per call. An attempt fails if another server writes first or removes the directory. */
const maxFileAttempts = 1_000;

/** A text is deleted once its number is this far below the current number. The number's directory remains. */
const retainedTexts = 8;
/**
 * A number's directory is removed once the number is this far below the current number. Other servers never write so
 * many numbers during a single system call of this server.
 */
const retainedDirectories = 256;

/**
 * Creates a store for all servers that share the directory. A missing directory is created. The store needs neither a
 * lock nor a clock. A key's last texts are in `<directory>/<key>/<number>/text`; the text with the highest number is
 * current.
 */
export function fileStore(directory: string): FileStore {
  const deployment = resolve(directory);
  const folderOf = (key: string) => join(deployment, fileName(key));
  return {
    directory: deployment,
    get: async (key) => (await readCurrent(folderOf(key))).text,
    async set(key, text, { was }) {
      const folder = folderOf(key);
      for (let left = maxFileAttempts; left > 0; left--) {
        const now = await readCurrent(folder);
        if (now.text !== was) return false;
        if (text === was) return true;
        if (now.number === null) await createKeyFolder(folder);
        else if (await isReplaced(folder, now.number, text)) return true;
      }
      throw new Error(`could not write to ${folder} after ${maxFileAttempts} attempts`);
    },
  };
}

/**
 * Escapes all characters except lowercase letters, digits, `-` and `_`. File systems may ignore case or reject other
 * characters.
 */
function fileName(key: string): string {
  const escaped = key.replace(/[^a-z0-9_-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return escaped === '' ? '%' : escaped;
}

/** Reads the current text and its number. The number is null if the key was never set. */
async function readCurrent(folder: string): Promise<{ number: number | null; text: string | null }> {
  for (let left = maxFileAttempts; left > 0; left--) {
    const numbers = await numbersIn(folder);
    if (numbers === null) return { number: null, text: null };
    const number = numbers.at(-1);
    if (number === undefined) continue;
    const location = join(folder, String(number));
    const text = await readFile(join(location, 'text'), 'utf8').catch(unless('ENOENT'));
    if (text !== null) return { number, text };
    // The file `none` means that the key has no text. If both `text` and `none` are missing, higher numbers exist, so
    // read again.
    if (await stat(join(location, 'none')).catch(unless('ENOENT'))) return { number, text: null };
  }
  throw new Error(`could not read ${folder} in ${maxFileAttempts} attempts`);
}

/** Returns the numbers in a folder in ascending order; null if the folder does not exist. */
async function numbersIn(folder: string): Promise<number[] | null> {
  const names = await readdir(folder).catch(unless('ENOENT'));
  if (names === null) return null;
  const numbers = names.filter((name) => /^\d+$/.test(name)).map(Number);
  return numbers.toSorted((a, b) => a - b);
}

/**
 * Creates a key's folder with number 0 and no text. Completes the folder under a temporary name before renaming it, so
 * that no number is ever used twice.
 */
async function createKeyFolder(folder: string): Promise<void> {
  const unfinished = `${folder}.${nonce()}`;
  try {
    await mkdir(join(unfinished, '0'), { recursive: true });
    await writeFile(join(unfinished, '0/none'), '', { flush: true });
    await tryRename(unfinished, folder);
  } catch (error) {
    // Another server may have created the key's folder, and then removed this unfinished folder, as this function does
    // below.
    const isThere = await stat(folder).catch(unless('ENOENT'));
    if (isThere === null || !raceErrorCodes.includes(codeOf(error))) throw error;
  }
  const deployment = dirname(folder);
  await sync(deployment);
  // The key's folder exists now, so other servers' unfinished folders are useless.
  for (const name of await readdir(deployment)) {
    if (name.startsWith(`${basename(folder)}.`)) await remove(join(deployment, name));
  }
}

/**
 * Replaces the current text. Returns false if another server was faster. If a server is killed, either the old or the
 * new text is current.
 */
async function isReplaced(folder: string, number: number, text: string | null): Promise<boolean> {
  // The draft is in the current number's directory. A rename turns the draft into the next number.
  const draft = join(folder, String(number), nonce());
  try {
    await mkdir(draft);
    // If there is no text, write the file `none`. Otherwise, the directory would be empty, and a rename could replace
    // it.
    await writeFile(join(draft, text === null ? 'none' : 'text'), text ?? '', { flush: true });
    await sync(draft);
    // Only one server succeeds, because the next number must not exist. A slow server cannot recreate a removed number,
    // because its draft was in the directory of the previous number, which was removed first.
    if (!(await tryRename(draft, join(folder, String(number + 1))))) return false;
  } catch (error) {
    // Remove the draft to free its disk space. Another server may already have removed the draft.
    await remove(draft).catch(() => {});
    if (raceErrorCodes.includes(codeOf(error))) return false;
    throw error;
  }
  await sync(folder);
  // If the cleanup fails, the next write repeats it.
  await removeOldNumbers(folder, number).catch(() => {});
  return true;
}

/** Removes the directories of numbers far below `last`, lowest first. */
async function removeOldNumbers(folder: string, last: number): Promise<void> {
  for (const number of (await numbersIn(folder)) ?? []) {
    // Rename each directory before its contents are removed: a draft could replace an empty directory that still has
    // its number.
    if (number <= last - retainedDirectories)
      await tryRename(join(folder, String(number)), join(folder, `old-${nonce()}`));
  }
  // Includes some lower numbers, because a server may have been killed before it deleted their texts.
  for (let number = last - retainedTexts; number > last - retainedTexts - 4; number--)
    await emptyNumber(join(folder, String(number)));
  for (const name of await readdir(folder)) {
    if (name.startsWith('old-')) await remove(join(folder, name));
  }
}

async function emptyNumber(location: string): Promise<void> {
  const names = (await readdir(location).catch(unless('ENOENT'))) ?? [];
  if (names.length === 1 && names[0] !== 'text') return;
  if (names.length > 0 && !names.includes('none')) await writeFile(join(location, 'gone'), '');
  for (const name of names) if (name !== 'none' && name !== 'gone') await remove(join(location, name));
}

/** Renames a directory. Returns false if the directory no longer exists, or the new path exists and is not empty. */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (raceErrorCodes.includes(codeOf(error))) return false;
    throw error;
  }
}

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Flushes a directory's entries to disk, if the file system supports it. */
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

/** Uses the global `crypto`, because `node:crypto` loads slowly. */
const nonce = (): string => crypto.randomUUID();
const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null)?.code);
const unless =
  (code: string) =>
  (error: unknown): null => {
    if (codeOf(error) === code) return null;
    throw error;
  };
