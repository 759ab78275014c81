import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createLineSplitter } from '../http/lines.ts';

export interface CommandResult {
  /** Null if the command was killed by a signal or could not be started. */
  exitCode: number | null;
  stdout: string;
  /** Last lines of standard error. */
  stderr: string;
  timedOut: boolean;
  aborted: boolean;
}

export interface CommandOptions {
  /** Complete environment: no variables are inherited. */
  env: Readonly<Record<string, string>>;
  /** Infinity for no deadline. */
  deadlineMs: number;
  signal?: AbortSignal | undefined;
  cwd?: string | undefined;
  onStderrLine?: ((line: string) => void) | undefined;
  /** Standard input; closed by default. */
  input?: Readable | undefined;
  /** Receives standard output; the result's `stdout` is then empty. */
  output?: Writable | undefined;
}

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 5_000;
/** Number of lines retained from the end of standard error. Each line is truncated to `longestLine` characters. */
const tailLines = 200;
const longestLine = 16 * 1024;
/**
 * Maximum size of standard output in bytes. A command that prints more is killed, because half a compose model is
 * useless.
 */
const longestOutput = 64 * 1024 ** 2;
/** Longest delay of Node's timers. A timer with a longer delay fires immediately. */
const longestTimerMs = 2 ** 31 - 1;

/** Runs a command to completion, without a shell. */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  let child: ChildProcess;
  try {
    child = spawn(file, args, {
      cwd: options.cwd,
      env: options.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      // Because of its own process group, a compose command is not stopped by Ctrl-C in the updater's terminal. A
      // deadline stops the whole group, including the plugin that `docker compose` starts.
      detached: true,
    });
  } catch (error) {
    // For example, the arguments are too long. Node.js reports other errors, such as a missing program, by an event.
    options.input?.destroy();
    options.output?.end();
    return {
      exitCode: null,
      stdout: '',
      stderr: String(Object(error).message),
      timedOut: false,
      aborted: false,
    };
  }
  const closed = awaitClose(child);
  // Retain only the last lines, because a pull or a command in a container may print any amount of text.
  const tail: string[] = [];
  const errors = createLineSplitter((line) => {
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
      // The process group has already exited.
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

  // Ignore errors of `input`: if a command exits early, its exit code gives the cause.
  const { input, output } = options;
  const fed = input && child.stdin && pipeline(input, child.stdin).catch(() => {});
  // Errors of `output`, such as a full disk, are thrown.
  const drained =
    output &&
    child.stdout &&
    pipeline(child.stdout, output).catch((error: unknown) => {
      killGroup('SIGTERM');
      throw error;
    });
  const [result] = await Promise.all([closed, fed, drained]);
  errors.end();
  clearTimeout(deadline);
  clearTimeout(escalation);
  options.signal?.removeEventListener('abort', onAbort);
  const isWhole = size <= longestOutput;
  const exitCode = isWhole ? result.exitCode : null;
  const stdout = isWhole ? Buffer.concat(printed).toString() : '';
  const why = isWhole
    ? describeStartError(result.error, options.cwd)
    : `${file} printed more than ${longestOutput} bytes`;
  const stderr = tail.join('\n') || (exitCode === null ? (why ?? '') : '');
  return { exitCode, stdout, stderr, ...ended };
}

/** Node.js also reports a missing working directory as a missing program. */
function describeStartError(error: Error | undefined, cwd: string | undefined): string | undefined {
  const isMissing = cwd !== undefined && Object(error).code === 'ENOENT' && !existsSync(cwd);
  return isMissing ? `the directory ${cwd} does not exist` : error?.message;
}

/** Resolves when the process has exited and its output has been read, or when it could not be started. */
function awaitClose(child: ChildProcess): Promise<{ exitCode: number | null; error?: Error }> {
  const { promise, resolve } = Promise.withResolvers<{ exitCode: number | null; error?: Error }>();
  child.once('error', (error) => resolve({ exitCode: null, error }));
  child.once('close', (exitCode) => resolve({ exitCode }));
  return promise;
}

export const lastLineOf = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? '';
