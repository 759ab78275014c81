import { isDeepStrictEqual } from 'node:util';
import type { PhasePresentation } from '../../presentation/presentation-parts.ts';
import type { CommandContext } from '../command-line/client-command.ts';
import { formatJobLines } from '../output/status-lines.ts';
import { fitTextToColumns, measureTextWidth, truncateText, wrapText } from '../output/text.ts';
import {
  type FollowedRunState,
  formatNotesBelowPhases,
  formatRunTitle,
  type ProgressPrinter,
  presentFollowedRunPhases,
} from './followed-run-state.ts';

const marks = { done: '✓', now: '●', failed: '✗', ahead: ' ' } as const;
const colours = { done: 32, now: 36, failed: 31, ahead: 2 } as const;
const wordColumns = 13;
const timeColumns = 8;
const leastText = 20;

/** The text contains no escape codes, so that its width can be measured. */
interface Line {
  text: string;
  /** Color of the first `length` characters. */
  colour?: { code: number; length: number };
}

/** Prints the list of phases on a terminal, and redraws it in place after each change. */
export class LivePhasePrinter implements ProgressPrinter {
  readonly #context: Pick<CommandContext, 'stdout' | 'isTerminal' | 'columns' | 'rows'>;
  #drawn: readonly Line[] = [];
  /** Width of the texts in columns. It never shrinks, so that the durations stay in the same column. */
  #textColumns = leastText;

  constructor(context: Pick<CommandContext, 'stdout' | 'isTerminal' | 'columns' | 'rows'>) {
    this.#context = context;
  }

  begin(view: FollowedRunState, now: number): void {
    const title = wrapText(formatRunTitle(view.run), this.#width);
    this.#context.stdout.write(`${title.join('\n')}\n`);
    this.show(view, now);
  }

  show(view: FollowedRunState, now: number): void {
    const width = this.#width;
    const { run } = view;
    const notes = formatNotesBelowPhases(view, now).flatMap((note) => wrapText(note, width));
    const jobs =
      run.state === 'waiting'
        ? formatJobLines(run.jobs, run.now, width).map((line) => truncateText(line, width))
        : [];
    const lines = [
      ...this.#rowLines(presentFollowedRunPhases(view, now), width),
      ...[...jobs, ...notes].map((text) => ({ text })),
    ];
    this.#draw(run.outcome === null ? this.#fitting(lines) : lines);
  }

  /**
   * Selects the lines that fit on the terminal, because lines that have scrolled off cannot be redrawn. The current
   * phase and later phases take precedence.
   */
  #fitting(lines: readonly Line[]): readonly Line[] {
    const room = Math.max(1, this.#context.rows() - 1);
    if (lines.length <= room) return lines;
    const now = lines.findIndex(({ colour }) => colour?.code === colours.now);
    const from = Math.max(0, Math.min(now, lines.length - room));
    return lines.slice(from, from + room);
  }

  end(view: FollowedRunState, now: number): void {
    this.show(view, now);
    this.#drawn = [];
    // Overwrite the `^C` that the terminal prints for Ctrl-C.
    this.#context.stdout.write('\r\x1b[J');
  }

  /** Usable width, without the last column: terminals differ in when they wrap a full line. */
  get #width(): number {
    return Math.max(1, this.#context.columns() - 1);
  }

  /**
   * Formats rows such as `✓ Downloaded   120 MB                   8 s`. Each row is as wide as the widest row so far,
   * but no wider than the terminal.
   */
  #rowLines(rows: readonly PhasePresentation[], width: number): Line[] {
    this.#textColumns = Math.max(this.#textColumns, ...rows.map(({ message }) => measureTextWidth(message)));
    const room = Math.max(0, width - 2 - wordColumns);
    // On a narrow terminal, the duration takes precedence over the text.
    const timeWidth = Math.min(room, Math.max(timeColumns, ...rows.map(({ time }) => time.length + 1)));
    const columns = Math.min(this.#textColumns, room - timeWidth);
    return rows.map(({ mark, text, message, time }) => {
      const cells = [
        fitTextToColumns(text, wordColumns),
        fitTextToColumns(message, columns),
        time.padStart(timeWidth),
      ];
      const line = truncateText(`${marks[mark]} ${cells.join('')}`.trimEnd(), width);
      return { text: line, colour: { code: colours[mark], length: mark === 'ahead' ? line.length : 1 } };
    });
  }

  #draw(lines: readonly Line[]): void {
    if (isDeepStrictEqual(lines, this.#drawn)) return;
    // A terminal that has become narrower has wrapped the drawn lines, so the cursor must move up more rows.
    const columns = this.#context.columns();
    const heights = this.#drawn.map(({ text }) => Math.max(1, Math.ceil(measureTextWidth(text) / columns)));
    const up = heights.length === 0 ? '' : `\x1b[${heights.reduce((sum, height) => sum + height)}A`;
    // Clear each line separately. If the screen were cleared from the top, tmux would add the cleared lines to its
    // scrollback.
    const text = lines.map((line) => `${this.#paint(line)}\x1b[K\n`).join('');
    this.#context.stdout.write(`${up}\r${text}\x1b[J`);
    this.#drawn = lines;
  }

  #paint({ text, colour }: Line): string {
    if (!this.#context.isTerminal || colour === undefined) return text;
    return `\x1b[${colour.code}m${text.slice(0, colour.length)}\x1b[0m${text.slice(colour.length)}`;
  }
}
