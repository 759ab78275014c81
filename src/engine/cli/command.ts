import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { lineSplitter } from '../http/lines.ts';

export interface CommandResult {
  /** Null if the command was killed by a signal or could not be started. */
  exitCode: number | null;
  stdout: string;
  /** Its last lines. */
  stderr: string;
  /** The deadline ended it. */
  timedOut: boolean;
  /** The abort signal ended it. */
  aborted: boolean;
}

export interface CommandOptions {
  /** The whole environment of the command; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Infinity for none. */
  deadlineMs: number;
  signal?: AbortSignal | undefined;
  cwd?: string | undefined;
  onStderrLine?: ((line: string) => void) | undefined;
  /** What it reads; closed where there is none. */
  input?: Readable | undefined;
  /** Where its standard output goes, as it comes, instead of into the result. */
  output?: Writable | undefined;
}

/** Between a polite SIGTERM and SIGKILL. */
const graceMs = 5_000;
/** The last lines of standard error are kept, each with at most this many characters. */
const tailLines = 200;
const longestLine = 16 * 1024;
/** Bytes of a standard output. A longer one ends the command: half of a model is none. */
const longestOutput = 64 * 1024 ** 2;
/** Of Node: a longer one goes off at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Runs a command to its end: no shell, stdin closed but for `input`, own process group. The group matters twice: Ctrl-C on the
 * updater's terminal must not reach a compose call that has to finish, and a deadline must reach the plugin behind
 * `docker compose` as well.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const child = execa(file, [...args], {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: options.env,
    extendEnv: false,
    stdin: options.input === undefined ? 'ignore' : 'pipe',
    detached: true,
    cleanup: false,
    reject: false,
    stripFinalNewline: false,
    buffer: false,
  });
  // A pull reports every block it fetches, and a command in a container prints what it likes.
  const tail: string[] = [];
  const errors = lineSplitter((line) => {
    options.onStderrLine?.(line);
    tail.push(line);
    if (tail.length > tailLines) tail.shift();
  }, longestLine);
  child.stderr?.on('data', (chunk: Buffer) => errors.write(chunk));
  const ended = { timedOut: false, aborted: false };
  let escalation: NodeJS.Timeout | undefined;
  const killGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The process group has ended by itself.
    }
  };
  const stop = (why: keyof typeof ended) => {
    ended[why] = true;
    killGroup('SIGTERM');
    escalation ??= setTimeout(() => killGroup('SIGKILL'), graceMs);
  };
  const printed: Buffer[] = [];
  let size = 0;
  if (options.output === undefined)
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= longestOutput) printed.push(chunk);
      else killGroup('SIGKILL');
    });
  const onAbort = () => stop('aborted');
  const { deadlineMs } = options;
  const deadline = deadlineMs <= longestTimerMs ? setTimeout(stop, deadlineMs, 'timedOut') : undefined;
  if (options.signal?.aborted) onAbort();
  options.signal?.addEventListener('abort', onAbort, { once: true });

  // A command that ends early, or a full disk, ends the other side too; the exit code and the stream's error tell why.
  const { input, output } = options;
  const fed = input && child.stdin && pipeline(input, child.stdin).catch(() => {});
  const drained =
    output &&
    child.stdout &&
    pipeline(child.stdout, output).catch((error: unknown) => {
      killGroup('SIGTERM');
      throw error;
    });
  const [result] = await Promise.all([child, fed, drained]);
  errors.end();
  clearTimeout(deadline);
  clearTimeout(escalation);
  options.signal?.removeEventListener('abort', onAbort);
  const isWhole = size <= longestOutput;
  const exitCode = isWhole ? (result.exitCode ?? null) : null;
  const stdout = isWhole ? Buffer.concat(printed).toString() : '';
  const why = isWhole ? result.originalMessage : `${file} printed more than ${longestOutput} bytes`;
  const stderr = tail.join('\n') || (exitCode === null ? (why ?? '') : '');
  return { exitCode, stdout, stderr, ...ended };
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? '';
