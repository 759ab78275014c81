import { constants } from 'node:os';
import { fillFields } from '../core/errors/advice.ts';
import { createProduct, type ProductOptions } from '../core/names/product.ts';
import { parseTrust, type Trust } from '../provenance/trust.ts';
import { clientCommands } from './client-commands.ts';
import {
  type CommandContext,
  CommandFailedError,
  CommandUsageError,
  interruptedExitCode,
} from './command-line/client-command.ts';
import { hiddenCompletionCommandName, listCompletions } from './command-line/completion.ts';
import { findCommand, parseClientCommand } from './command-line/parse-client-command.ts';
import { getProductNames, setProductNames } from './command-line/product-names.ts';
import { formatCommandHelp, formatGeneralHelp } from './output/help.ts';
import { escapeControlCharacters, formatJsonLine } from './output/text.ts';

export type { Product, ProductOptions } from '../core/names/product.ts';
export type { Trust } from '../provenance/trust.ts';

export interface ClientOptions {
  /** Version of this build, such as `v1.4.2`; `dev` by default. */
  version?: string;
  /**
   * Publishers whose releases `update` may install: a trust object, its JSON, or public keys in PEM. Without
   * publishers, `update` requires no signature and checks only the checksum in `SHA256SUMS`.
   */
  trust?: Trust | string;
}

/** The command-line client of a product. It runs one command and exits. */
export interface Client {
  /** Runs a command, by default with the arguments of this process. Then exits with the exit code of the command. */
  run(words?: readonly string[]): Promise<void>;
}

/**
 * Creates the client of a product. Its command, variables and files are named after the product: `larder instance
 * update`, `LARDER_URL`, `~/.config/larder/config.json`. Bundle the client into one file, `larder.mjs`, which `larder
 * update` replaces with the file of a newer release.
 * @throws TypeError that lists all mistakes in `product`, or the mistake in `trust`
 */
export function createClient(
  product: ProductOptions,
  { version = 'dev', trust }: ClientOptions = {},
): Client {
  const known = createProduct(product);
  const trusted = trust === undefined ? null : parseTrustOption(trust);
  return {
    run: (words = process.argv.slice(2)) => {
      setProductNames(known);
      return new Process(version, trusted).run(words);
    },
  };
}

function parseTrustOption(given: Trust | string): Trust {
  try {
    return parseTrust(given);
  } catch (cause) {
    throw new TypeError(`invalid trust: ${(cause as Error).message}`, { cause });
  }
}

/** Handles the signals, output and exit code of the client's process. */
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
    // After a signal, the process exits with 128 plus the signal's number instead of the command's
    // `interruptedExitCode`.
    this.#exit(ended === interruptedExitCode && aborted ? 128 + this.#stoppedBy : ended);
  }

  #stop(name: NodeJS.Signals, number: number): void {
    const { aborted } = this.#stopped.signal;
    // A second Ctrl-C exits immediately. Other signals are ignored the second time, because the system often sends them
    // twice.
    if (aborted && name === 'SIGINT') process.exit(128 + number);
    if (!aborted) this.#stoppedBy = number;
    this.#stopped.abort();
  }

  /** Stops the command if stdout cannot be written, for example because `head -1` has closed the pipe. */
  #cannotWrite({ code = 'unknown' }: NodeJS.ErrnoException): void {
    // EIO means that the terminal was closed. In this case, SIGHUP stops the command.
    if (code === 'EIO') return;
    this.#unwritable ??= code;
    this.#stopped.abort();
  }

  /** Exits the process explicitly, because open connections would otherwise keep it alive. */
  #exit(exitCode: number): void {
    process.stdout.write('', (error) => {
      if (error) this.#cannotWrite(error);
      const isLost = this.#unwritable !== null && this.#unwritable !== 'EPIPE';
      const lost = isLost ? `${getProductNames().name}: cannot write the output (${this.#unwritable})\n` : '';
      process.stderr.write(lost, () => process.exit(isLost ? exitCode || 1 : exitCode));
    });
  }

  /** Runs a command and prints its errors. Resolves with the exit code. */
  async #command(words: readonly string[]): Promise<number> {
    const { stdout, stderr } = process;
    const { name: program } = getProductNames();
    const say = (text: string) => void (text !== '' && stderr.write(`${text}\n`));
    const [first, ...rest] = words;
    if (first === hiddenCompletionCommandName) {
      stdout.write(`${fillFields(listCompletions(rest, clientCommands), { product: program })}\n`);
      return 0;
    }
    try {
      const typed = parseClientCommand(words, clientCommands);
      if (typed.kind === 'run') return await typed.command.run(this.#context(typed.args));
      if (typed.kind === 'version') stdout.write(`${program} ${this.#version}\n`);
      else
        stdout.write(
          typed.command === null
            ? formatGeneralHelp(clientCommands, typed.group)
            : formatCommandHelp(typed.command),
        );
      return 0;
    } catch (error) {
      if (error instanceof CommandUsageError) {
        const name = findCommand(words, clientCommands)?.name ?? (words[0] === 'instance' ? words[0] : '');
        // The message quotes arguments, which may contain control characters.
        const mistakes = error.message.split('\n').map(escapeControlCharacters).join('\n');
        say(`${program}: ${mistakes}\nHelp: ${[program, name, '--help'].filter(Boolean).join(' ')}`);
        return 2;
      }
      if (error instanceof CommandFailedError) {
        if (error.problem !== null && words.includes('--json')) stdout.write(formatJsonLine(error.problem));
        say(error.message);
        return error.exitCode;
      }
      say(
        `${program}: internal error, please report it: ${error instanceof Error ? error.stack : String(error)}`,
      );
      return 1;
    }
  }

  #context(args: CommandContext['args']): CommandContext {
    const { stdout, stderr, stdin, env } = process;
    return {
      args,
      env,
      stdout,
      stderr,
      stdin,
      // NO_COLOR disables colors unless it is empty: https://no-color.org
      isTerminal: stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb',
      canPrompt: stdin.isTTY === true && stderr.isTTY === true,
      columns: () => stdout.columns || 80,
      rows: () => stdout.rows || 24,
      signal: this.#stopped.signal,
      version: this.#version,
      trust: this.#trust,
      now: () => performance.now(),
    };
  }
}
