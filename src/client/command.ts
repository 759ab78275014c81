import type { Readable } from 'node:stream';
import type { OptionTable } from '../core/progress/option-row.ts';
import type { Trust } from '../provenance/trust.ts';

/** A positional argument. */
interface Argument {
  /** In capitals: `CHANNEL`. */
  name: string;
  /** The allowed values, if they are fixed. */
  choices?: readonly string[];
  isOptional?: true;
}

/** One command. In its texts, `{product}` is the name of the product. */
export interface ClientCommand {
  /** The words after `svc`: `instance status`. */
  name: string;
  /** One sentence in the imperative, without a full stop. */
  summary: string;
  /** The arguments and options, if they do not follow from the two lists. */
  usage?: string;
  /** The help of each is a phrase in the imperative, without a full stop. Only one option can be a list. */
  options: OptionTable;
  arguments?: readonly Argument[];
  examples: readonly (readonly [line: string, does: string])[];
  /**
   * Resolves with the exit code.
   * @throws UsageError for invalid arguments, Failure for an expected failure with a message
   */
  run(context: Context): Promise<number>;
}

/** The parsed arguments of a command. */
export interface Args {
  /** By name without dashes; an option without a value is `true`. */
  options: Record<string, string | true>;
  /** The values of the option that is a list. */
  list: readonly string[];
  words: readonly string[];
}

export interface Output {
  write(text: string): unknown;
}

/** The environment of a command. */
export interface Context {
  args: Args;
  env: NodeJS.ProcessEnv;
  stdout: Output;
  stderr: Output;
  stdin: Readable;
  /** The output is a terminal with colours and cursor movement. False with `NO_COLOR` or `TERM=dumb`. */
  isTerminal: boolean;
  /** Questions can be asked and answered on a terminal. */
  canAsk: boolean;
  /** The current width of the terminal. */
  columns(): number;
  /** The current height of the terminal. */
  rows(): number;
  /** Aborted by Ctrl-C, SIGTERM, or a closed terminal. The command then exits with `stoppedCode`. */
  signal: AbortSignal;
  /** The client's own version, `v1.0.0`. */
  version: string;
  /** The publishers whose releases are accepted; null if the client was built without. */
  trust: Trust | null;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** The exit code of a command that was interrupted. The process replaces it with the code of the signal. */
export const stoppedCode = 130;

/** Invalid arguments: exit code 2, with a pointer to the help. */
export class CommandUsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ends a command with a message and an exit code. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  /** Printed by `--json`. */
  readonly problem: object | null;

  constructor(exitCode: number, message: string, problem: object | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.problem = problem;
  }
}
