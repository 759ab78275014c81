import { spawn } from 'node:child_process';
import { names } from '../names.ts';

/** How a command is run. */
export interface RunOptions {
  /** Milliseconds, then it is told to end. */
  deadline: number;
  /** Shows what it prints, and lets it ask; else its output is kept. */
  show?: boolean;
  signal?: AbortSignal;
}

/** How it ended. */
export interface Ended {
  /** Null where it was ended by a signal or has not started. */
  exitCode: number | null;
  /** The first 64 KiB of its standard output, where it was not shown. */
  output: string;
  /** Half a sentence, behind the command: `ended with exit code 3`; null for exit code 0. */
  trouble: string | null;
}

/** A program that is only asked something needs none; whoever has named the command behind `--` may mean it to have them. */
function withoutLogins(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { token, feed } = names();
  return { ...env, [token]: undefined, [feed]: undefined };
}

/** After it was told to end. */
const grace = 5_000;
const mostOutput = 64 * 1024;

/**
 * Runs a command, a list of arguments and never a shell string, and waits until it has ended. Never rejects.
 * Where nobody sits at a terminal it gets a process group of its own, so that what it has started ends with it; at a
 * terminal it stays in ours: it may have to ask for a password.
 */
export function runToEnd(
  [program = '', ...args]: readonly string[],
  { deadline, show = false, signal }: RunOptions,
): Promise<Ended> {
  const isGroup = !(show && process.stdin.isTTY);
  const child = spawn(program, args, {
    detached: isGroup,
    env: show ? process.env : withoutLogins(process.env),
    stdio: show ? 'inherit' : ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  let reason: string | null = null;
  let last: NodeJS.Timeout | undefined;

  const kill = (how: NodeJS.Signals) => {
    try {
      if (isGroup && child.pid !== undefined) process.kill(-child.pid, how);
      else child.kill(how);
    } catch {
      // It has ended meanwhile.
    }
  };
  const end = (why: string) => {
    reason ??= why;
    kill('SIGTERM');
    last ??= setTimeout(() => kill('SIGKILL'), grace);
  };
  const stop = () => end('was stopped');
  const timer = setTimeout(() => end(`had not ended after ${deadline / 1000} s`), deadline);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();

  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < mostOutput) output += text;
  });

  return new Promise<Ended>((resolve) => {
    const done = (exitCode: number | null, trouble: string | null) => {
      clearTimeout(timer);
      clearTimeout(last);
      signal?.removeEventListener('abort', stop);
      // What it has left in its group would hold the pipe open.
      if (reason !== null) kill('SIGKILL');
      child.stdout?.destroy();
      resolve({ exitCode, output, trouble: reason ?? trouble });
    };
    child.once('error', (error) => done(null, `cannot be started (${error.message})`));
    // A process that it leaves behind may hold the pipe for ever: `close` is waited for no longer than this.
    child.once('exit', (code, by) => {
      const trouble = code === 0 ? null : by ? `was ended by ${by}` : `ended with exit code ${code}`;
      if (!child.stdout) return done(code, trouble);
      const late = setTimeout(() => done(code, trouble), 500);
      child.once('close', () => {
        clearTimeout(late);
        done(code, trouble);
      });
    });
  });
}
