import type { RowOfRun } from '../../wire/phase-rows.ts';
import { mayBeAway } from '../../wire/phase-rows.ts';
import type { Output } from '../command.ts';
import { duration } from '../times.ts';
import type { Printer } from './printer.ts';
import { notesAt, rowsAt, titleOf, type View } from './view.ts';

/** Milliseconds after which something that lasts says so. */
const heartbeat = 10_000;

/** For pipes and logs: a line for each phase that is over, and one every 10 s while one lasts. */
export class PlainLines implements Printer {
  readonly #out: Output;
  readonly #told = new Set<string>();
  #lastAt = 0;
  #hasWaited = false;
  /** The notes that have been told, without their times. */
  #notes = '';

  constructor(out: Output) {
    this.#out = out;
  }

  begin(view: View, now: number): void {
    this.#out.write(`${titleOf(view.run)}\n`);
    this.#lastAt = now;
    this.show(view, now);
  }

  show(view: View, now: number): void {
    for (const row of rowsAt(view, now)) {
      if (row.mark === 'done') this.#tellOnce(row, now);
      if (row.mark === 'failed') {
        const ended = view.run.outcome === 'cancelled' ? 'was stopped' : 'did not succeed';
        this.#tellOnce({ ...row, word: `${row.word} ${ended}` }, now);
      }
      // What it waits for, and how long at most, is worth a line as soon as that is known: it may be an hour.
      const isNews = view.run.state === 'waiting' && view.run.until !== null && !this.#hasWaited;
      if (row.mark === 'now' && (isNews || now - this.#lastAt >= heartbeat)) this.#tellNow(row, view, now);
      this.#hasWaited ||= isNews;
    }
  }

  news(): void {}

  end(view: View, now: number): void {
    this.show(view, now);
  }

  #tellOnce(row: RowOfRun, now: number): void {
    if (this.#told.has(row.word)) return;
    this.#told.add(row.word);
    this.#write(lineOf(row), now);
  }

  #tellNow(row: RowOfRun, view: View, now: number): void {
    const jobs =
      view.run.state === 'waiting'
        ? view.run.jobs.map(({ kind, title }) => `${kind} ${title ?? ''}`.trim())
        : [];
    const [note] = notesAt(view, now).slice(-1);
    // Without an answer nobody knows how far it is.
    const isUnheard = view.refused !== null && !mayBeAway(view.run);
    if (!isUnheard) this.#write(lineOf({ ...row, message: [row.message, ...jobs].join(', ') }), now);
    if (note !== undefined && (isUnheard || withoutTimes(note) !== this.#notes)) this.#write(note, now);
    this.#notes = withoutTimes(note ?? '');
  }

  #write(line: string, now: number): void {
    this.#lastAt = now;
    this.#out.write(`${line}\n`);
  }
}

/** `pulled, 8 s: 120 MB` */
function lineOf({ word, message, percent, took }: RowOfRun): string {
  const text = [...(percent === null ? [] : [`${percent} %`]), message].join(' ').trim();
  return `${word}${took === null ? '' : `, ${duration(took)}`}${text === '' ? '' : `: ${text}`}`;
}

const withoutTimes = (note: string): string => note.replace(/(?<!\d)\d+ (?:s|min|h)\b/g, '');
