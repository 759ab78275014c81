import { followRun } from '../../wire/api-client/run-follow-events.ts';
import type { UpdateApiClient } from '../../wire/api-client/update-api-client.ts';
import { formatLogLine, maxReportedLogLines } from '../model/run-report.ts';

/** Timeout in ms for requesting log lines. It is short, because a user who pressed a button may be waiting. */
const requestTimeoutMs = 3_000;

/**
 * Last log lines of a run. Until the event stream has provided `maxReportedLogLines` lines, `fetchLines` requests all
 * lines from the server.
 */
export class RunLogLines {
  readonly #reader: UpdateApiClient;
  #run = '';
  #lines: readonly string[] = [];

  constructor(reader: UpdateApiClient) {
    this.#reader = reader;
  }

  add(run: string, line: unknown): void {
    const text = formatLogLine(line);
    if (text === null) return;
    this.#lines = [...(this.#run === run ? this.#lines : []), text].slice(-maxReportedLogLines);
    this.#run = run;
  }

  async fetchLines(run: string): Promise<readonly string[]> {
    if (this.#run !== run || this.#lines.length < maxReportedLogLines) {
      let lines: string[] = [];
      // Request all events after event 0, so that the server sends every line that it still has.
      const following = { runId: run, after: `${run}:0`, signal: AbortSignal.timeout(requestTimeoutMs) };
      for await (const news of followRun(this.#reader, following)) {
        if (news.kind === 'line') lines = lines.concat(formatLogLine(news.line) ?? []);
        if (news.kind === 'unheard') break;
      }
      if (lines.length > 0) [this.#run, this.#lines] = [run, lines.slice(-maxReportedLogLines)];
    }
    return this.#run === run ? this.#lines : [];
  }
}
