import type { Readable } from 'node:stream';
import type { OptionTable } from '../../core/command-line/option-row.ts';
import type { Trust } from '../../provenance/trust.ts';

/** A positional argument. */
interface Argument {
  /** Name of the argument in capitals: `CHANNEL`. */
  name: string;
  /** Allowed values; missing if any value is allowed. */
  choices?: readonly string[];
  isOptional?: true;
}

/** A command of the client. In its texts, `{product}` is replaced with the name of the product. */
export interface ClientCommand {
  /** Name of the command, as typed after `svc`: `instance status`. */
  name: string;
  /** Summary of the command: one sentence in the imperative, without a period. */
  summary: string;
  /** Arguments and options for the help; missing if they can be generated from `arguments` and `options`. */
  usage?: string;
  /** Options with their help: a phrase in the imperative, without a period. Only one option may be a list. */
  options: OptionTable;
  arguments?: readonly Argument[];
  examples: readonly (readonly [line: string, does: string])[];
  /**
   * Runs the command and resolves with the exit code.
   * @throws UsageError for invalid arguments, Failure for an expected failure with a message
   */
  run(context: CommandContext): Promise<number>;
}

/** The parsed arguments of a command. */
export interface CommandArguments {
  /** Values by option name without dashes. The value of a switch is `true`. */
  options: Record<string, string | true>;
  /** Values of the option that is a list. */
  list: readonly string[];
  words: readonly string[];
}

export interface OutputStream {
  write(text: string): unknown;
}

/** The environment of a command: arguments, streams, terminal and signals. */
export interface CommandContext {
  args: CommandArguments;
  env: NodeJS.ProcessEnv;
  stdout: OutputStream;
  stderr: OutputStream;
  stdin: Readable;
  /** Whether the output is a terminal with colors and cursor movement; false with `NO_COLOR` or `TERM=dumb`. */
  isTerminal: boolean;
  /** Whether the user can be prompted, because stdin and stderr are terminals. */
  canAsk: boolean;
  /** Returns the current width of the terminal. */
  columns(): number;
  /** Returns the current height of the terminal. */
  rows(): number;
  /** Signal that is aborted by Ctrl-C, SIGTERM or a closed terminal. The command then exits with `interruptedExitCode`. */
  signal: AbortSignal;
  /** Version of this client, such as `v1.0.0`. */
  version: string;
  /** Publishers whose releases are accepted; null if this client was built without trusted publishers. */
  trust: Trust | null;
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
}

/**
 * Exit code of an interrupted command. If a signal caused the interruption, the process exits with the code of the
 * signal.
 */
export const interruptedExitCode = 130;

/** An error for invalid arguments, printed with a reference to the help. The exit code is 2. */
export class CommandUsageError extends Error {
  override readonly name = 'UsageError';
}

/** An error that ends a command with a message and an exit code. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  /** Problem document, for the output with `--json`; null if there is none. */
  readonly problem: object | null;

  constructor(exitCode: number, message: string, problem: object | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.problem = problem;
  }
}
