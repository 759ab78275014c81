import type { News } from '../../wire/reader-follow.ts';
import type { Output } from '../command.ts';
import { jsonLine } from '../shown.ts';
import type { Printer } from './printer.ts';
import { notesAt, type View } from './view.ts';

/** For programs: each event of svc's as one line, `{ "event": "run" | "line", "data": … }`; sentences go elsewhere. */
export class JsonEvents implements Printer {
  readonly #out: Output;
  readonly #sentences: Output;
  #told = '';

  constructor(out: Output, sentences: Output) {
    this.#out = out;
    this.#sentences = sentences;
  }

  begin(): void {}

  show(view: View, now: number): void {
    const notes = view.refused === null ? '' : notesAt(view, now).join('\n');
    const kind = notes.replace(/\d+/g, '');
    if (kind !== this.#told && notes !== '') this.#sentences.write(`${notes}\n`);
    this.#told = kind;
  }

  news(news: News): void {
    if (news.kind === 'run') this.#out.write(jsonLine({ event: 'run', data: news.run }));
    if (news.kind === 'line') this.#out.write(jsonLine({ event: 'line', data: news.line }));
  }

  end(): void {}
}
