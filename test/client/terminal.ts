import { spawn } from 'node:child_process';
import xterm from '@xterm/headless';
import { quoteForShell } from '../../src/core/errors/advice.ts';
import { clientCommand, environment } from './rig.ts';

/** The output of a command on a terminal. */
export interface Session {
  /** All screens, without empty lines at the end. */
  screens: string[];
  /** The scrollback and the last screen. */
  all: string;
  exitCode: number;
  /** The raw output, with escape codes. */
  raw: string;
}

export interface Sitting {
  columns: number;
  env?: Record<string, string>;
  /** Replaces the bundled client. */
  command?: readonly string[];
  /** Called with each screen. */
  onScreen?: (screen: string) => unknown;
  /** Keys to type once a screen matches, in this order. */
  answers?: readonly (readonly [when: RegExp, keys: string])[];
}

/** Runs the client in a pseudo-terminal with a terminal emulator. */
export async function sit(
  url: string,
  words: string,
  { columns, env = {}, command = clientCommand, onScreen, answers = [] }: Sitting,
): Promise<Session> {
  const rows = 24;
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true });
  const typed = [...command, ...words.split(' ')].map(quoteForShell).join(' ');
  const child = spawn('script', ['-qefc', `stty cols ${columns} rows ${rows}; exec ${typed}`, '/dev/null'], {
    env: environment(url, { TERM: 'xterm-256color', SHELL: '/bin/sh', ...env }),
  });
  const screens: string[] = [];
  const waiting = [...answers];
  let raw = '';
  let reading = Promise.resolve();
  child.stdout.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
    reading = reading.then(async () => {
      await new Promise<void>((resolve) => terminal.write(chunk, resolve));
      const screen = screenOf(terminal, terminal.buffer.active.baseY);
      if (screens.at(-1) === screen) return;
      screens.push(screen);
      onScreen?.(screen);
      const [when, keys] = waiting[0] ?? [];
      if (!when?.test(screen)) return;
      waiting.shift();
      child.stdin.write(keys ?? '');
    });
  });
  const exitCode = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  await reading;
  return { screens, all: screenOf(terminal, 0), exitCode, raw };
}

/** The text of the screen. Wrapped lines are joined, as a terminal does for copying. */
function screenOf({ buffer: { active } }: InstanceType<typeof xterm.Terminal>, from: number): string {
  let text = '';
  for (let at = from; at < active.length; at++) {
    const line = active.getLine(at);
    const isContinued = active.getLine(at + 1)?.isWrapped === true;
    text += (line?.translateToString(!isContinued) ?? '') + (isContinued ? '' : '\n');
  }
  return text.trimEnd();
}
