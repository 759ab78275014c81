import type { Readable } from 'node:stream';
import type { OptionTable } from '../../core/command-line/option-row.ts';
import type { Trust } from '../../provenance/trust.ts';

/** A positional argument. */
interface Argument {
  /** Name in capitals, such as `CHANNEL`. */
  name: string;
  /** Allowed values; missing if any value is allowed. */
  choices?: readonly string[];
  isOptional?: true;
}

/** A command of the client. In its texts, `{product}` is replaced with the product's name. */
export interface ClientCommand {
  /** Name of the command, as typed after `svc`: `instance status`. */
  name: string;
  /** One sentence in the imperative, without a period. */
  summary: string;
  /** Arguments and options as the help shows them. If missing, generated from `arguments` and `options`. */
  usage?: string;
  /** Each help text is a phrase in the imperative, without a period. At most one option may be a list. */
  options: OptionTable;
  arguments?: readonly Argument[];
  examples: readonly (readonly [line: string, does: string])[];
  /**
   * Runs the command and resolves with the exit code.
   * @throws CommandUsageError for invalid arguments, CommandFailedError for any other expected error
   */
  run(context: CommandContext): Promise<number>;
}

export interface CommandArguments {
  /** Values, keyed by option name without dashes. A switch has the value `true`. */
  options: Record<string, string | true>;
  /** Values of the list option, if the command has one. */
  list: readonly string[];
  words: readonly string[];
}

export interface OutputStream {
  write(text: string): unknown;
}

/** Arguments, streams, terminal and signal of a command. */
export interface CommandContext {
  args: CommandArguments;
  env: NodeJS.ProcessEnv;
  stdout: OutputStream;
  stderr: OutputStream;
  stdin: Readable;
  /** Whether stdout is a terminal with colors and cursor movement. False with `NO_COLOR` or `TERM=dumb`. */
  isTerminal: boolean;
  /** Whether stdin and stderr are terminals, so that the user can be prompted. */
  canPrompt: boolean;
  columns(): number;
  rows(): number;
  /** Aborted by Ctrl-C, SIGTERM, a closed terminal or a closed pipe. The command then returns `interruptedExitCode`. */
  signal: AbortSignal;
  /** Version of this client, such as `v1.0.0`. */
  version: string;
  /** Publishers whose client releases may be installed; null if this client was built without trusted publishers. */
  trust: Trust | null;
  /** Time of a monotonic clock in milliseconds. */
  now(): number;
}

/** Exit code of an interrupted command. After a signal, the process exits with 128 plus the signal number instead. */
export const interruptedExitCode = 130;

/** Error about invalid arguments. The message is printed with a reference to the help, and the exit code is 2. */
export class CommandUsageError extends Error {
  override readonly name = 'CommandUsageError';
}

/** Expected error of a command. Only its message is printed, without a stack trace. */
export class CommandFailedError extends Error {
  override readonly name = 'CommandFailedError';
  readonly exitCode: number;
  /** Problem document that `--json` prints; null if the error has no problem document. */
  readonly problem: object | null;

  constructor(exitCode: number, message: string, problem: object | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.problem = problem;
  }
}
