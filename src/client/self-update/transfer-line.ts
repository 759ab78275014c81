import type { Context } from '../command.ts';
import { megabytes } from './download.ts';

/** How far a download or what is sent is: one line that is written anew on a terminal, else a line every ten seconds. */
export class TransferLine {
  readonly #context: Pick<Context, 'stdout' | 'isTerminal' | 'now'>;
  readonly #name: string;
  readonly #began: number;
  #saidAt: number;
  #isOpen = false;

  constructor(context: Pick<Context, 'stdout' | 'isTerminal' | 'now'>, name: string) {
    this.#context = context;
    this.#name = name;
    this.#began = context.now();
    this.#saidAt = this.#began;
  }

  progress(bytes: number, total: number | null): void {
    this.say(`${megabytes(bytes)}${total === null ? '' : ` of ${megabytes(total)}`} MB`);
  }

  /** Not more often than somebody can read it, unless it is the last word. */
  say(text: string, isLast = false): void {
    const now = this.#context.now();
    if (!isLast && now - this.#saidAt < (this.#context.isTerminal ? 100 : 10_000)) return;
    this.#saidAt = now;
    this.#write(text);
  }

  /** It has come, whole. */
  done(bytes: number): void {
    this.#write(`${megabytes(bytes)} MB, checked`);
    this.end();
  }

  /** What comes next has a line of its own. */
  end(): void {
    if (this.#isOpen) this.#context.stdout.write('\n');
    this.#isOpen = false;
  }

  #write(text: string): void {
    const { stdout, isTerminal, now } = this.#context;
    const line = `${this.#name}  ${text}  ${Math.round((now() - this.#began) / 1000)} s`;
    this.#isOpen = isTerminal;
    stdout.write(isTerminal ? `\r${line}\u001b[K` : `${line}\n`);
  }
}
