import type { PhasePresentation } from '../../presentation/presentation-parts.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { canProductBeUnavailable } from '../../wire/derived/phase-rows.ts';
import type { OutputStream } from '../command-line/client-command.ts';
import { formatJsonLine } from '../output/text.ts';
import {
  type FollowedRunState,
  formatNotesBelowPhases,
  formatRunTitle,
  type ProgressPrinter,
  presentFollowedRunPhases,
} from './followed-run-state.ts';

/**
 * Prints each event as one JSON line for programs: `{ "event": "run" | "line", "data": … }`. Sentences for people go to
 * stderr.
 */
export class JsonEventPrinter implements ProgressPrinter {
  readonly #out: OutputStream;
  readonly #sentences: OutputStream;
  #told = '';

  constructor(out: OutputStream, sentences: OutputStream) {
    this.#out = out;
    this.#sentences = sentences;
  }

  show(view: FollowedRunState, now: number): void {
    const notes = view.refused === null ? '' : formatNotesBelowPhases(view, now).join('\n');
    const timeless = notes === '' ? '' : formatNotesBelowPhases(view, now, withoutTime).join('\n');
    if (timeless !== this.#told && notes !== '') this.#sentences.write(`${notes}\n`);
    this.#told = timeless;
  }

  news(news: RunFollowEvent): void {
    if (news.kind === 'run') this.#out.write(formatJsonLine({ event: 'run', data: news.run }));
    if (news.kind === 'line') this.#out.write(formatJsonLine({ event: 'line', data: news.line }));
  }
}

const withoutTime = () => '';

/** Time in ms between two lines about the same phase. */
const heartbeat = 10_000;

/** Prints plain lines to pipes and logs: one for each completed phase, and one every 10 s during a phase. */
export class PlainLinePrinter implements ProgressPrinter {
  readonly #out: OutputStream;
  readonly #told = new Set<string>();
  #lastAt = 0;
  #hasWaited = false;
  /** Last note without its durations. A note is not repeated if only a duration has changed. */
  #note = '';

  constructor(out: OutputStream) {
    this.#out = out;
  }

  begin(view: FollowedRunState, now: number): void {
    this.#write(formatRunTitle(view.run), now);
    this.show(view, now);
  }

  show(view: FollowedRunState, now: number): void {
    const { state, until, outcome } = view.run;
    if (view.pendingStep) this.#tellNote(view, now);
    for (const row of presentFollowedRunPhases(view, now)) {
      if (row.mark === 'done') this.#tellOnce(row, now);
      if (row.mark === 'failed') {
        const ended = outcome === 'cancelled' ? 'cancelled' : 'failed';
        this.#tellOnce({ ...row, text: `${row.text} ${ended}` }, now);
      }
      // Print the jobs and the deadline as soon as they are known, because the update may wait for an hour.
      const isNews = state === 'waiting' && until !== null && !this.#hasWaited;
      if (row.mark === 'now' && (isNews || now - this.#lastAt >= heartbeat)) this.#tellNow(row, view, now);
      this.#hasWaited ||= isNews;
    }
  }

  end(view: FollowedRunState, now: number): void {
    this.show(view, now);
  }

  #tellOnce(row: PhasePresentation, now: number): void {
    if (this.#told.has(row.text)) return;
    this.#told.add(row.text);
    this.#write(lineOf(row), now);
  }

  #tellNow(row: PhasePresentation, view: FollowedRunState, now: number): void {
    const { state, jobs } = view.run;
    const titles = state === 'waiting' ? jobs.map(({ kind, title }) => `${kind} ${title ?? ''}`.trim()) : [];
    // If the server does not respond although the run has not stopped it, the progress is unknown. So print only a
    // note.
    const isUnheard = view.refused !== null && !canProductBeUnavailable(view.run);
    if (!isUnheard) this.#write(lineOf({ ...row, message: [row.message, ...titles].join(', ') }), now);
    if (isUnheard) this.#note = '';
    this.#tellNote(view, now);
  }

  #tellNote(view: FollowedRunState, now: number): void {
    const note = formatNotesBelowPhases(view, now).at(-1) ?? '';
    const timeless = formatNotesBelowPhases(view, now, withoutTime).at(-1) ?? '';
    if (note !== '' && timeless !== this.#note) this.#write(note, now);
    this.#note = timeless;
  }

  #write(line: string, now: number): void {
    this.#lastAt = now;
    this.#out.write(`${line}\n`);
  }
}

/** Formats a phase: `Downloaded, 8 s: 120 MB` */
const lineOf = ({ text, message, time }: PhasePresentation): string =>
  `${text}${time === '' ? '' : `, ${time}`}${message === '' ? '' : `: ${message}`}`;
