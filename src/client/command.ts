import type { Readable } from 'node:stream';
import type { OptionTable } from '../core/progress/option-row.ts';
import type { Trust } from '../provenance/trust.ts';

/** A positional argument. */
interface Argument {
  /** Name in capitals: `CHANNEL`. */
  name: string;
  /** Allowed values; missing if any value is allowed. */
  choices?: readonly string[];
  isOptional?: true;
}

/** A command of the client. In its texts, `{product}` is replaced with the name of the product. */
export interface ClientCommand {
  /** Words after `svc`: `instance status`. */
  name: string;
  /** Summary of the command: one sentence in the imperative, without a full stop. */
  summary: string;
  /** Arguments and options for the help, if they cannot be generated from `arguments` and `options`. */
  usage?: string;
  /** Options with their help: a phrase in the imperative, without a full stop. Only one option can be a list. */
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
  /** Values by option name without dashes; an option without a value is `true`. */
  options: Record<string, string | true>;
  /** Values of the list option. */
  list: readonly string[];
  words: readonly string[];
}

export interface Output {
  write(text: string): unknown;
}

/** Environment of a command: arguments, streams, terminal and signals. */
export interface CommandContext {
  args: CommandArguments;
  env: NodeJS.ProcessEnv;
  stdout: Output;
  stderr: Output;
  stdin: Readable;
  /** Whether the output is a terminal with colours and cursor movement. False with `NO_COLOR` or `TERM=dumb`. */
  isTerminal: boolean;
  /** Whether the user can be prompted on a terminal. */
  canAsk: boolean;
  /** Returns the current width of the terminal. */
  columns(): number;
  /** Returns the current height of the terminal. */
  rows(): number;
  /** Signal that is aborted by Ctrl-C, SIGTERM or a closed terminal. The command then exits with `interruptedExitCode`. */
  signal: AbortSignal;
  /** Version of this client: `v1.0.0` */
  version: string;
  /** Publishers whose releases are accepted; null if the client was built without trusted publishers. */
  trust: Trust | null;
  /** Returns the milliseconds of a monotonic clock. */
  now(): number;
}

/** Exit code of an interrupted command. The process replaces it with the code of the signal. */
export const interruptedExitCode = 130;

/** An error for invalid arguments: exit code 2, with a reference to the help. */
export class CommandUsageError extends Error {
  override readonly name = 'UsageError';
}

/** An error that exits a command with a message and an exit code. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  /** Problem document for the output of `--json`. */
  readonly problem: object | null;

  constructor(exitCode: number, message: string, problem: object | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.problem = problem;
  }
}
