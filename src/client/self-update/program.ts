import { access, constants, open, stat } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { isSea } from 'node:sea';
import { parseTag } from '../../release/tag.ts';
import { UsageError } from '../command.ts';
import { names } from '../names.ts';
import { refused } from './failure.ts';
import { runToEnd } from './run-to-end.ts';

/** A program of one file that is to be updated. */
export interface Program {
  /** As people call it: `svc`, `svc-worker`. */
  name: string;
  /** Where it is, as it was named. */
  file: string;
  /** What it is published as. */
  asset: string;
  /** What runs its file where that is none of the system's own: a script of Node. */
  runtime: string | null;
  /** Tells whether it does its work; null where nothing has to be run. */
  command: readonly string[] | null;
}

/** The client itself: one file, which this process runs, or which it is. */
export function ownProgram(): Program {
  const [runtime, file] = process.argv;
  const { name, asset } = names();
  if (isSea())
    return { name, file: process.execPath, asset: programAsset(name), runtime: null, command: null };
  if (runtime === undefined || file === undefined)
    throw refused(
      `Nobody can tell which file this ${name} is.`,
      `download ${asset} of the newest release by hand.`,
    );
  return { name, file, asset, runtime, command: null };
}

/** What Node calls a processor, its name in releases, and its number in a program of Linux (ELF, e_machine). */
const machines = [
  { arch: 'x64', name: 'amd64', number: 62 },
  { arch: 'arm64', name: 'arm64', number: 183 },
];
const own = machines.find(({ arch }) => arch === process.arch);
const programAsset = (name: string): string => `${name}-${process.platform}-${own?.name ?? process.arch}`;

/**
 * Another program.
 * @throws UsageError where the command could never be run; Failure, refused
 */
export async function programAt(
  file: string,
  command: readonly string[],
  { PATH = '' }: NodeJS.ProcessEnv,
): Promise<Program> {
  if (!(await canRun(command[0] ?? '', PATH)))
    throw new UsageError(`the command after -- cannot be run: there is no program ${command[0]}`);
  if (process.platform !== 'linux' || own === undefined)
    throw refused(
      `Programs are published for Linux on amd64 and arm64; this is ${process.platform} on ${process.arch}.`,
      'build it from source.',
    );
  // Somebody may have left it the name that it was downloaded by.
  const name = basename(file).replace(/-linux-(?:amd64|arm64)$/, '');
  return { name, file, asset: programAsset(name), runtime: null, command };
}

/** Whether there is such a program: before anything is replaced, as its failure would be taken for that of the new file. */
async function canRun(program: string, path: string): Promise<boolean> {
  if (program === '') return false;
  const folders = program.includes('/') ? [''] : path.split(delimiter).map((folder) => folder || '.');
  for (const place of folders.map((folder) => join(folder, program))) {
    const found = await access(place, constants.X_OK)
      .then(() => stat(place))
      .catch(() => null);
    if (found?.isFile()) return true;
  }
  return false;
}

/**
 * The version that a program's file says with `--version`, `v1.5.0`, or why it says none, as half a sentence.
 * @throws the reason of the signal
 */
export async function versionOf(
  { runtime }: Program,
  file: string,
  signal: AbortSignal,
): Promise<{ version: string } | { trouble: string }> {
  const command = [...(runtime === null ? [] : [runtime]), file, '--version'];
  const { output, trouble } = await runToEnd(command, { signal });
  signal.throwIfAborted();
  if (trouble !== null) return { trouble: `with --version it ${trouble}` };
  const version = versionIn(output);
  return version === null ? { trouble: 'its --version prints no version' } : { version };
}

/** `svc-worker v1.5.0 (2026-11-20)` says `v1.5.0`; null where no version is in it. */
export function versionIn(output: string): string | null {
  for (const word of output.split(/[\s(),;:/"]+/)) {
    const tag = parseTag(word);
    if (tag.kind === 'release' && tag.suffix === '') return `v${tag.version}`;
  }
  return null;
}

/**
 * Why a file cannot be a program of this machine, as half a sentence; null where it may be one. Looked at before it is run: the
 * system would have a shell read what it does not know.
 */
export async function machineMismatch(path: string): Promise<string | null> {
  const file = await open(path, 'r');
  const head = Buffer.alloc(20);
  await file.read(head, 0, head.length, 0).finally(() => file.close());
  const begin = head.toString('latin1');
  if (begin.startsWith('#!')) return null;
  if (!begin.startsWith('\x7fELF')) return 'it is neither a program of Linux nor a script';
  // The fifth byte but one says which end of a number comes first.
  const number = head[5] === 2 ? head.readUInt16BE(18) : head.readUInt16LE(18);
  if (number === own?.number) return null;
  const made = machines.find((machine) => machine.number === number);
  return `it is made for ${made?.name ?? 'another kind of processor'}`;
}
