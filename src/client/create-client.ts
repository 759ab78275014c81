import { constants } from 'node:os';
import { type ProductOptions, productOf } from '../progress/product.ts';
import { readTrust, type Trust } from '../provenance/trust.ts';
import { type Context, Failure, stoppedCode, UsageError } from './command.ts';
import { askForOffers, offersAfter } from './commands/completion.ts';
import { allCommands } from './commands.ts';
import { helpOf, helpOfAll } from './help.ts';
import { names, setProduct } from './names.ts';
import { findCommand, parseTyped } from './parse.ts';
import { cleanText, jsonLine } from './text.ts';

export type { Product, ProductOptions } from '../progress/product.ts';
export type { Trust } from '../provenance/trust.ts';

/** What a client is built with. */
export interface ClientOptions {
  /** Of this build, as its release is called: `v1.4.2`. `update` goes by it. Default `dev`. */
  version?: string;
  /**
   * Who may sign the releases that `update` takes: as an object, or as text that has public keys in PEM, or such an object in JSON.
   * Default: nobody is asked for, and `SHA256SUMS` is all that is checked.
   */
  trust?: Trust | string;
}

/** The command-line client of a product: one program, which does one command and ends. */
export interface Client {
  /**
   * Does what is typed (default: what this process was started with) and ends the process with the command's exit code.
   */
  run(words?: readonly string[]): Promise<void>;
}

/**
 * The client of a product, under its name: `larder instance update`, `LARDER_URL`, `~/.config/larder/config.json`. It is
 * to be bundled into one file, `larder.mjs`, which `larder update` replaces by that of a newer release.
 * @throws TypeError that names every mistake in the product at once, or the one in the trust
 */
export function createClient(
  product: ProductOptions,
  { version = 'dev', trust }: ClientOptions = {},
): Client {
  const known = productOf(product);
  const believed = trust === undefined ? null : trustOf(trust);
  return {
    run: (words = process.argv.slice(2)) => {
      setProduct(known);
      return new Process(version, believed).run(words);
    },
  };
}

function trustOf(given: Trust | string): Trust {
  try {
    return readTrust(given);
  } catch (cause) {
    throw new TypeError(`wrong trust: ${(cause as Error).message}`, { cause });
  }
}

/** The client's process: its signals, its output, its exit code. */
class Process {
  readonly #version: string;
  readonly #trust: Trust | null;
  readonly #stopped = new AbortController();
  #stoppedBy: number = constants.signals.SIGINT;
  #unwritable: string | null = null;

  constructor(version: string, trust: Trust | null) {
    this.#version = version;
    this.#trust = trust;
  }

  async run(words: readonly string[]): Promise<void> {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(name, (_: NodeJS.Signals, number: number) => this.#stop(name, number));
    process.stdout.on('error', (error) => this.#cannotWrite(error));
    process.stderr.on('error', () => {});
    const ended = await this.#command(words);
    const { aborted } = this.#stopped.signal;
    // A command that was stopped does not know by what.
    this.#exit(ended === stoppedCode && aborted ? 128 + this.#stoppedBy : ended);
  }

  #stop(name: NodeJS.Signals, number: number): void {
    const { aborted } = this.#stopped.signal;
    // Who types Ctrl-C twice does not want to wait for anything. The others are often sent twice by themselves.
    if (aborted && name === 'SIGINT') process.exit(128 + number);
    if (!aborted) this.#stoppedBy = number;
    this.#stopped.abort();
  }

  /**
   * Whoever reads the output may have seen enough of it: `svc instance history | head -1`. What is followed is let go as
   * with Ctrl-C, as nobody learns how it ends. A terminal that is gone (EIO) has sent its signal, too, or will.
   */
  #cannotWrite({ code = 'unknown' }: NodeJS.ErrnoException): void {
    if (code === 'EIO') return;
    this.#unwritable ??= code;
    this.#stopped.abort();
  }

  /** Connections that are kept for the next request would keep the process. */
  #exit(exitCode: number): void {
    process.stdout.write('', (error) => {
      if (error) this.#cannotWrite(error);
      const isLost = this.#unwritable !== null && this.#unwritable !== 'EPIPE';
      const lost = isLost ? `${names().name}: what it says cannot be written (${this.#unwritable})\n` : '';
      process.stderr.write(lost, () => process.exit(isLost ? exitCode || 1 : exitCode));
    });
  }

  /** Resolves with the exit code; what went wrong has been said. */
  async #command(words: readonly string[]): Promise<number> {
    const { stdout, stderr } = process;
    const { name: program } = names();
    const commands = allCommands();
    const say = (text: string) => void (text !== '' && stderr.write(`${text}\n`));
    const [first, ...rest] = words;
    if (first === askForOffers) {
      stdout.write(`${offersAfter(rest, commands)}\n`);
      return 0;
    }
    try {
      const typed = parseTyped(words, commands);
      if (typed.kind === 'run') return await typed.command.run(this.#context(typed.args));
      if (typed.kind === 'version') stdout.write(`${program} ${this.#version}\n`);
      else stdout.write(typed.command === null ? helpOfAll(commands, typed.group) : helpOf(typed.command));
      return 0;
    } catch (error) {
      if (error instanceof UsageError) {
        const name = findCommand(words, commands)?.name ?? (words[0] === 'instance' ? words[0] : '');
        // What was typed stands in it, and may be anything.
        const mistakes = error.message.split('\n').map(cleanText).join('\n');
        say(`${program}: ${mistakes}\nMore: ${[program, name, '--help'].filter(Boolean).join(' ')}`);
        return 2;
      }
      if (error instanceof Failure) {
        if (error.problem !== null && words.includes('--json')) stdout.write(jsonLine(error.problem));
        say(error.message);
        return error.exitCode;
      }
      say(`${program}: this is a bug: ${error instanceof Error ? error.stack : String(error)}`);
      return 1;
    }
  }

  #context(args: Context['args']): Context {
    const { stdout, stderr, stdin, env } = process;
    return {
      args,
      env,
      stdout,
      stderr,
      stdin,
      // What is set and not empty switches colours off, whatever it says: https://no-color.org
      isTerminal: stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb',
      canAsk: stdin.isTTY === true && stderr.isTTY === true,
      columns: () => stdout.columns || 80,
      rows: () => stdout.rows || 24,
      signal: this.#stopped.signal,
      version: this.#version,
      trust: this.#trust,
      now: () => performance.now(),
    };
  }
}
