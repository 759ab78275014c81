import type { Context } from '../command.ts';
import { megabytes } from './download.ts';

const pause = { terminal: 100, elsewhere: 10_000 };

/** Tells how far a download is: in one line that is written anew on a terminal, else in a line every ten seconds. */
export class TransferLine {
  readonly #context: Pick<Context, 'stdout' | 'isTerminal' | 'now'>;
  readonly #name: string;
  readonly #began: number;
  #said: number;
  #isOpen = false;

  constructor(context: Pick<Context, 'stdout' | 'isTerminal' | 'now'>, name: string) {
    this.#context = context;
    this.#name = name;
    this.#began = context.now();
    this.#said = this.#began;
  }

  progress(bytes: number, total: number | null): void {
    const { isTerminal, now } = this.#context;
    const time = now();
    if (time - this.#said < (isTerminal ? pause.terminal : pause.elsewhere)) return;
    this.#said = time;
    const of = total === null ? '' : ` of ${megabytes(total)}`;
    this.#write(`${this.#name}  ${megabytes(bytes)}${of} MB  ${this.#seconds()} s`);
  }

  /** It has come, whole. */
  done(bytes: number): void {
    this.#write(`${this.#name}  ${megabytes(bytes)} MB, checked  ${this.#seconds()} s`);
    this.end();
  }

  /** What comes next has a line of its own. */
  end(): void {
    if (this.#isOpen) this.#context.stdout.write('\n');
    this.#isOpen = false;
  }

  #write(line: string): void {
    const { stdout, isTerminal } = this.#context;
    this.#isOpen = isTerminal;
    stdout.write(isTerminal ? `\r${line}\u001b[K` : `${line}\n`);
  }

  #seconds(): number {
    return Math.round((this.#context.now() - this.#began) / 1000);
  }
}
