import type { Readable } from 'node:stream';
import type { Trust } from '../provenance/trust.ts';

/** A word that stands by itself. */
export interface Argument {
  /** In capitals: `CHANNEL`. */
  name: string;
  /** All that it may be, where that is known. */
  choices?: readonly string[];
  isOptional?: true;
}

/** One word that begins with `--`; its name is without the dashes. */
export interface Option extends Argument {
  /** What follows it, in capitals: `SECONDS`. Left out: it is there or not. */
  value?: string;
  /** What it does: half a sentence, without a full stop. */
  help: string;
}

/** What `svc` can do. In its texts, `svc` stands for what the product is called. */
export interface Command {
  /** What is typed behind `svc`: `instance status`. */
  name: string;
  /** What it does: one sentence. */
  summary: string;
  /** What may follow the name: `[--json]`. */
  usage: string;
  options: readonly Option[];
  /** Words that have to follow the name. */
  arguments?: readonly Argument[];
  examples: readonly (readonly [line: string, does: string])[];
  /**
   * Resolves with the exit code.
   * @throws UsageError for words that do not go together, Failure for what ends it with a sentence
   */
  run(context: Context): Promise<number>;
}

/** What was typed behind the command's name, in the shape that the command says. */
export interface Args {
  /** By name without dashes; an option without a value is `true`. */
  options: Readonly<Record<string, string | true>>;
  words: readonly string[];
}

/** What a command writes to. */
export interface Output {
  write(text: string): unknown;
}

/** What a command has of the world. */
export interface Context {
  args: Args;
  env: NodeJS.ProcessEnv;
  stdout: Output;
  stderr: Output;
  stdin: Readable;
  /** `stdout` is a terminal with colours, whose lines can be written anew: never with `NO_COLOR` or `TERM=dumb`. */
  isTerminal: boolean;
  /** Somebody sits there who can answer. */
  canAsk: boolean;
  /** How wide the terminal is now. */
  columns(): number;
  /** How high it is now. */
  rows(): number;
  /** Given with Ctrl-C, SIGTERM, or a terminal that is gone; the command then ends with `stoppedCode`. */
  signal: AbortSignal;
  /** The client's own version, `v1.0.0`. */
  version: string;
  /** Whose releases it believes; null where it was built without. */
  trust: Trust | null;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** Of a command that was stopped, by whatever signal: the process ends with that signal's own code. */
export const stoppedCode = 130;

/** What was typed makes no sense: exit code 2, and where to read more. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ends a command with lines for people and an exit code. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  /** What `--json` prints of it. */
  readonly problem: object | null;

  constructor(exitCode: number, message: string, problem: object | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.problem = problem;
  }
}
