// Runs rsync and other programs that read and write files, each in its own process group.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createLineSplitter } from '../../../engine/http/lines.ts';
import type { RequestedMount } from './helper-request.ts';

const keptLines = 20;
const longestError = 1_000;
const [lineFeed, carriageReturn] = [10, 13];

/**
 * Options for exact copies. The doubled `-X` also copies attributes named `user.rsync.%…`, which backup servers set.
 * Without `--modify-window=-1`, rsync compares times only to the second.
 */
const exactly = ['-aHASXX', '--numeric-ids', '--modify-window=-1', '--one-file-system', '--delete'];

/**
 * Filters that neither copy nor remove attributes named `user.rsync.%…`. Without a filter, a single `-X` would remove
 * these attributes. The second filter is rsync's default, which other filters disable. ACLs are still copied, because
 * rsync does not treat them as attributes.
 */
const withoutRsyncAttributes = ['--filter=-x user.rsync.%*', '--filter=-x system.*'];

const withProgress = ['--no-human-readable', '--info=progress2'];
/** Exit codes of an rsync process whose partner process has failed. The partner's message may be lost. */
const broken: readonly (number | null)[] = [10, 12];

export type RsyncPaths = readonly [from: string, to: string];

/** Excluded files are neither copied nor removed. */
export async function runRsync(
  { isFile, excluded, hasRsyncAttributes = false }: RequestedMount,
  ends: RsyncPaths,
  args: readonly string[],
  { more, onLine, signal }: Omit<Listeners, 'onOutput'> & { more?: (bytes: number) => void },
): Promise<ProgramResult> {
  const excludes = excluded.map((path) => `--exclude=/${rsyncPatternOf(path)}`);
  const paths = ends.map((path) => (isFile ? path : `${path}/`));
  let told = 0;
  const onEach = (line: string) => {
    onLine?.(line);
    const bytes = Math.max(Number(/^\s*(\d+)\s/.exec(line)?.[1] ?? 0), told);
    more?.(bytes - told);
    told = bytes;
  };
  const filters = hasRsyncAttributes ? [] : withoutRsyncAttributes;
  const all = [...exactly, ...filters, ...(more ? withProgress : []), ...args, ...excludes, '--', ...paths];
  const start = () => runProgram('rsync', all, { onLine: onEach, ...(signal && { signal }) });
  const ended = await start();
  // If the error message may be lost, run rsync again: the second run prints the message.
  return broken.includes(ended.code) && !signal?.aborted ? start() : ended;
}

/**
 * Escapes the wildcards in a path. rsync treats a backslash as an escape character only in a pattern with a wildcard.
 */
const rsyncPatternOf = (path: string): string =>
  /[*?[]/.test(path) ? path.replaceAll(/[\\*?[]/g, String.raw`\$&`) : path;

/**
 * Whether a line ends with the error number 28 (full disk) or 122 (exceeded quota). No file name can be at the end of a
 * line.
 */
export const isDiskFull = ({ code, errors }: ProgramResult): boolean =>
  code !== 0 && errors.some((line) => /\((?:28|122)\)$/.test(line));

/**
 * Formats a failed program's error from the exit code, the most specific error and the last lines of standard error.
 * Returns null if the exit code is accepted.
 */
export function formatProgramError(
  program: string,
  { code, errors }: ProgramResult,
  accepted: readonly number[],
): string | null {
  if (code !== null && accepted.includes(code)) return null;
  const isSummary = (line: string) =>
    line.startsWith(`${program} error: `) || line.startsWith('IO error encountered');
  const last = errors.findLast((line) => !isSummary(line)) ?? 'killed';
  return [`${program} failed with exit code ${code}: ${last}`, ...errors].join('\n');
}

export interface ProgramResult {
  code: number | null;
  /** Last lines of standard error. */
  errors: string[];
}

const running = new Set<ChildProcess>();

interface Listeners {
  onOutput?: (chunk: Buffer) => void;
  /** Called for each line of standard output. */
  onLine?: (line: string) => void;
  signal?: AbortSignal;
}

/** Uses a separate process group, because rsync consists of three processes that must be killed together. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { onOutput = () => {}, onLine, signal }: Listeners = {},
): Promise<ProgramResult> {
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C' };
  const child = spawn(program, args, { detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const onAbort = () => kill(child);
  signal?.addEventListener('abort', onAbort);
  const errors: string[] = [];
  const stderr = createLineSplitter((line) => {
    errors.push(line);
    if (errors.length > keptLines) errors.shift();
  }, longestError);
  child.stderr.on('data', (chunk: Buffer) => stderr.write(chunk));
  child.stdout.on('data', onOutput);
  const stdout = onLine && createLineSplitter(onLine);
  child.stdout.on('data', (chunk: Buffer) => stdout?.write(replaceCarriageReturns(chunk)));
  const [code] = await once(child, 'close');
  stderr.end();
  stdout?.end();
  signal?.removeEventListener('abort', onAbort);
  running.delete(child);
  return { code, errors };
}

/** rsync ends progress lines with a carriage return instead of a line feed. */
const replaceCarriageReturns = (chunk: Buffer): Buffer =>
  chunk.map((byte) => (byte === carriageReturn ? lineFeed : byte)) as Buffer;

/** Syncs the file systems of these paths; if that fails, syncs all file systems. */
export async function syncFileSystems(paths: readonly string[]): Promise<void> {
  if ((await runProgram('sync', ['-f', ...paths])).code !== 0) await runProgram('sync', []);
}

/** Kills all running programs that `runProgram` has started. */
export function killChildProcesses(): void {
  for (const child of running) kill(child);
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}
