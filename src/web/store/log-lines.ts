import type { Reader } from '../../wire/reader.ts';
import { readEvents } from '../../wire/reader-events.ts';
import { lineText, reportedLines } from '../model/report.ts';

/** Milliseconds. Short, because a user may be waiting after pressing a button. */
const deadline = 3_000;

/** The last log lines of a run: from the stream, otherwise from svc. */
export class LogLines {
  readonly #reader: Reader;
  #run = '';
  #lines: readonly string[] = [];

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  add(run: string, line: unknown): void {
    const text = lineText(line);
    if (text === null) return;
    this.#lines = [...(this.#run === run ? this.#lines : []), text].slice(-reportedLines);
    this.#run = run;
  }

  async of(run: string): Promise<readonly string[]> {
    if (this.#run !== run || this.#lines.length < reportedLines) {
      const lines = await readLines(this.#reader, run);
      if (lines.length > 0) [this.#run, this.#lines] = [run, lines];
    }
    return this.#run === run ? this.#lines : [];
  }
}

/** Reads the stream of a run from its first line, as far as svc still has the lines. */
async function readLines(reader: Reader, run: string): Promise<string[]> {
  const late = AbortSignal.timeout(deadline);
  const opened = await reader.events(`${run}:0`, late);
  if (opened.kind !== 'ok' || opened.value === null) return [];
  let lines: string[] = [];
  try {
    for await (const event of readEvents(opened.value.body)) {
      if (event?.event === 'run' && (JSON.parse(event.data) as { id?: unknown }).id !== run) return [];
      if (event?.event !== 'line') continue;
      const text = lineText(JSON.parse(event.data));
      if (text !== null) lines = [...lines, text].slice(-reportedLines);
    }
  } catch {
    // Keep the lines received before the stream broke.
  }
  return lines;
}
