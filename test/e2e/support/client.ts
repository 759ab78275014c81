import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { inject } from 'vitest';
import { type Session, type Sitting, sit } from '../../client/terminal.ts';
import type { ServerInstance } from '../../rig/server/server-instance.ts';

/** The separate outputs and the exit code of a client command. */
export interface Said {
  out: string;
  err: string;
  exitCode: number | undefined;
}

/** A running client command whose output is piped. */
export interface Typed {
  done: Promise<Said>;
  /** Resolves once the output matches. */
  says(text: RegExp): Promise<void>;
  /** Sends SIGINT, like Ctrl-C. */
  interrupt(): void;
}

/** The client as shipped, used by a user with all rights. */
export class Client {
  readonly #file: string;
  readonly #instance: ServerInstance;

  constructor(file: string, instance: ServerInstance) {
    this.#file = file;
    this.#instance = instance;
  }

  /** Runs a command, such as `status --json`, until it exits. */
  run(words: string): Promise<Said> {
    return this.start(words).done;
  }

  start(words: string): Typed {
    const child = execa(this.#file, ['instance', ...words.split(' ')], {
      env: this.#environment,
      extendEnv: false,
      reject: false,
      stripFinalNewline: false,
      stdin: 'ignore',
      timeout: 240_000,
    });
    let said = '';
    child.stdout.on('data', (piece) => (said += piece));
    child.stderr.on('data', (piece) => (said += piece));
    const done = child.then(({ stdout, stderr, exitCode }) => ({ out: stdout, err: stderr, exitCode }));
    const says = (text: RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => text.test(said) && resolve();
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        void done.then(() => reject(new Error(`never said ${text}: ${said}`)));
        look();
      });
    return { done, says, interrupt: () => void child.kill('SIGINT') };
  }

  /** Runs a command in a terminal. */
  sit(words: string, sitting: Omit<Sitting, 'command' | 'env'>): Promise<Session> {
    const env = this.#environment;
    return sit('', `instance ${words}`, { ...sitting, command: [this.#file], env });
  }

  get #environment(): Record<string, string> {
    const { PATH = '' } = process.env;
    const url = `http://127.0.0.1:${this.#instance.port}`;
    return { PATH, HOME: this.#instance.directory, TZ: 'UTC', SVC_URL: url, SVC_TOKEN: 'anna-token' };
  }
}

/** Builds the shipped files and returns the path of the client. */
export async function buildClient(): Promise<string> {
  const { directory } = inject('host');
  const script = fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url));
  await execa(process.execPath, [script, join(directory, 'dist')]);
  return join(directory, 'dist', 'svc.mjs');
}
