import { spawn } from 'node:child_process';
import { names } from '../names.ts';

/** How a command ended. */
export interface Ended {
  /** The first 64 KiB of its standard output, where it was not shown. */
  output: string;
  /** Half a sentence, behind the command: `ended with exit code 3`; null for exit code 0. */
  trouble: string | null;
}

/** After it was told to end. */
const grace = 5_000;
const mostOutput = 64 * 1024;

/**
 * Runs a command, a list of arguments and never a shell string, and waits until it has ended. Never rejects.
 * One that is shown has a minute, and may ask; of any other the output is kept, for 10 s.
 * It gets a process group of its own, so that what it has started ends with it; but where it is shown on a terminal it
 * stays in ours, as it may have to ask for a password.
 */
export async function runToEnd(
  [program = '', ...args]: readonly string[],
  { show = false, signal }: { show?: boolean; signal?: AbortSignal } = {},
): Promise<Ended> {
  const deadline = show ? 60_000 : 10_000;
  const isGroup = !(show && process.stdin.isTTY);
  const { token, feed } = names();
  const child = spawn(program, args, {
    detached: isGroup,
    // A program that is only asked something needs no logins; whoever has named the command behind `--` may mean it to.
    env: show ? process.env : { ...process.env, [token]: undefined, [feed]: undefined },
    stdio: show ? 'inherit' : ['ignore', 'pipe', 'ignore'],
  });
  const timers: NodeJS.Timeout[] = [];
  let output = '';
  let reason: string | null = null;

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
    timers.push(setTimeout(kill, grace, 'SIGKILL'));
  };
  const stop = () => end('was stopped');
  timers.push(setTimeout(end, deadline, `had not ended after ${deadline / 1000} s`));
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < mostOutput) output += text;
  });

  const trouble = await new Promise<string | null>((resolve) => {
    child.once('error', ({ message }) => resolve(`cannot be started (${message})`));
    child.once('exit', (code, by) => {
      const ended = code === 0 ? null : by ? `was ended by ${by}` : `ended with exit code ${code}`;
      child.once('close', () => resolve(ended));
      // A process that it leaves behind may hold the pipe for ever.
      timers.push(setTimeout(resolve, 500, ended));
    });
  });
  for (const timer of timers) clearTimeout(timer);
  signal?.removeEventListener('abort', stop);
  // What it has left in its group would hold the pipe open.
  if (reason !== null) kill('SIGKILL');
  child.stdout?.destroy();
  return { output, trouble: reason ?? trouble };
}
