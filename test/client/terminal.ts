import { spawn } from 'node:child_process';
import xterm from '@xterm/headless';
import { shellWord } from '../../src/progress/advice.ts';
import { clientCommand, environment } from './rig.ts';

/** What somebody sees who types a command of the client in a terminal. */
export interface Session {
  /** Every screen that there was, without empty lines at its end. */
  screens: string[];
  /** All that has scrolled by, and the last screen. */
  all: string;
  exitCode: number;
  /** As it was written, with its escape codes. */
  raw: string;
}

export interface Sitting {
  columns: number;
  env?: Record<string, string>;
  /** In place of the client made from the sources. */
  command?: readonly string[];
  /** Called with each screen. */
  onScreen?: (screen: string) => unknown;
  /** What is typed once a screen is such, one after the other. */
  answers?: readonly (readonly [when: RegExp, keys: string])[];
}

/** Runs the client in a pseudo-terminal, which a terminal emulator reads. */
export async function sit(
  url: string,
  words: string,
  { columns, env = {}, command = clientCommand, onScreen, answers = [] }: Sitting,
): Promise<Session> {
  const rows = 24;
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true });
  const typed = [...command, ...words.split(' ')].map(shellWord).join(' ');
  const child = spawn('script', ['-qefc', `stty cols ${columns} rows ${rows}; exec ${typed}`, '/dev/null'], {
    env: environment(url, { TERM: 'xterm-256color', SHELL: '/bin/sh', ...env }),
  });
  const screens: string[] = [];
  const waiting = [...answers];
  let raw = '';
  let reading = Promise.resolve();
  child.stdout.on('data', (piece: Buffer) => {
    raw += piece.toString();
    reading = reading.then(async () => {
      await new Promise<void>((resolve) => terminal.write(piece, resolve));
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

/** A line that the terminal has broken is one line, as it is for whoever copies it. */
function screenOf({ buffer: { active } }: InstanceType<typeof xterm.Terminal>, from: number): string {
  let text = '';
  for (let at = from; at < active.length; at++) {
    const line = active.getLine(at);
    const goesOn = active.getLine(at + 1)?.isWrapped === true;
    text += (line?.translateToString(!goesOn) ?? '') + (goesOn ? '' : '\n');
  }
  return text.trimEnd();
}
