import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

const isRecording = process.env.SVC_RECORD === '1';

/**
 * Recorded results of compose for one table, by row and question. The quick tests use the recording;
 * `scripts/campaign slow` runs compose again, and fails if a result differs.
 */
export class Recording<Answer> {
  readonly #table: string;
  readonly #file: URL;
  readonly #rows: Record<string, Record<string, Answer>>;

  constructor(table: string) {
    this.#table = table;
    this.#file = new URL(`${table}.json`, import.meta.url);
    this.#rows = isRecording ? {} : JSON.parse(readFileSync(this.#file, 'utf8'));
  }

  /** The recorded result. */
  answer(row: string, question: string): Answer {
    const answer = this.#rows[row]?.[question];
    if (answer === undefined) throw new Error(`compose was not asked this for "${row}": ${this.#again}`);
    return answer;
  }

  /** Compares a result with the recording, or records it. */
  hold(row: string, question: string, answer: Answer): void {
    if (isRecording) this.#rows[row] = { ...this.#rows[row], [question]: answer };
    else expect(answer, `compose answers otherwise: ${this.#again}`).toEqual(this.answer(row, question));
  }

  /** Writes the file if recording; call it after the last question of the table. */
  write(): void {
    if (!isRecording) return;
    const lines = Object.keys(this.#rows)
      .sort()
      .map((row) => `${JSON.stringify(row)}:${JSON.stringify(this.#rows[row], sorted)}`);
    const visible = lines.map((line) =>
      line.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    );
    writeFileSync(this.#file, `{\n${visible.join(',\n')}\n}\n`);
  }

  get #again(): string {
    return `record again with SVC_RECORD=1 scripts/campaign slow ${this.#table}, and read the difference`;
  }
}

/** Sorts keys, because questions run concurrently and finish in any order. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
