import { appendFileSync, existsSync, lstatSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import pino from 'pino';
import { chownLikeParentDirectory } from '../../../core/files/file-system.ts';
import type { LogLevel, Phase, ProgressEvent } from '../../../core/progress/event.ts';
import { formatEventLine } from '../../../core/progress/log-line.ts';
import { escapeUnprintable, mapJsonStrings } from '../../../core/text/plain-text.ts';
import { Mask, type MaskRules } from './mask.ts';

export type LogFields = Readonly<Record<string, unknown>>;
type Sink = (event: ProgressEvent, fields: LogFields) => void;

/** Writes one event per line. All output is masked. */
export class Log {
  #phase: Phase = 'inspect';
  readonly #mask = new Mask();
  readonly #sinks: Sink[];
  /**
   * All lines since the start, because a copy of the log that begins during the run must also contain the earlier
   * lines.
   */
  readonly #lines: string[] = [];

  #lastAt = performance.now();
  /** Message of the last logged error; null if there is none. */
  lastError: string | null = null;

  constructor(sink: Sink) {
    this.#sinks = [sink, (event) => this.#lines.push(formatEventLine(event))];
  }

  /**
   * The source is called before the next line is printed. Its secrets are masked in that line and in all later ones;
   * rules that are added later do not replace them.
   */
  addMaskRules(source: () => MaskRules): void {
    this.#mask.add(source);
  }

  /** Sets the phase printed with the following lines. No code depends on the phase. */
  enterPhase(phase: Phase): void {
    this.#phase = phase;
  }

  info(message: string, fields: LogFields = {}): void {
    this.#emit('info', message, fields);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#emit('warn', message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#emit('error', message, fields);
  }

  progress(percent: number, message: string, fields: LogFields = {}): void {
    this.#emit('info', message, fields, percent);
  }

  /** Milliseconds since the last line was logged. */
  quietMs(): number {
    return performance.now() - this.#lastAt;
  }

  maskText(text: string): string {
    return this.#mask.apply(text);
  }

  /**
   * Copies the log, from its first line, to a file that outlives the container. With `add`, appends to the file,
   * because a resumed run continues the log of the previous one.
   */
  copyTo(path: string, { add = false }: { add?: boolean } = {}): void {
    let works = true;
    // The copy is optional: if the disk is full, the run continues, and the container's own log has all lines.
    const keep = (write: () => void) => {
      try {
        if (works) write();
      } catch (error) {
        works = false;
        this.warn(`the log can no longer be copied to ${path}: ${(error as Error).message}`);
      }
    };
    const whole = (flag: 'w' | 'a') => {
      // The old copy is unlinked and not overwritten, because a backup may contain a hard link to it. Only a regular
      // file is unlinked.
      if (flag === 'w' && lstatSync(path, { throwIfNoEntry: false })?.isFile()) unlinkSync(path);
      writeFileSync(path, this.#lines.map((line) => `${line}\n`).join(''), { mode: 0o600, flag });
      chownLikeParentDirectory(path).catch(() => {});
    };
    keep(() => whole(add ? 'a' : 'w'));
    this.#sinks.push((event) =>
      keep(() => {
        if (existsSync(path)) appendFileSync(path, `${formatEventLine(event)}\n`);
        // If the copy was removed, writes the whole log again once the directory exists.
        else if (existsSync(dirname(path))) whole('w');
      }),
    );
  }

  #emit(level: LogLevel, message: string, fields: LogFields, percent?: number): void {
    this.#lastAt = performance.now();
    const time = new Date().toISOString();
    const mask = (text: string) => this.maskText(text);
    const shown = mapJsonStrings(fields, mask);
    for (const line of mask(message).split(/\r?\n/)) {
      const event: ProgressEvent = {
        time,
        level,
        phase: this.#phase,
        ...(percent === undefined ? {} : { percent }),
        message: line,
      };
      if (level === 'error') this.lastError = line;
      for (const sink of this.#sinks) sink(event, shown);
    }
  }
}

/**
 * Writes to standard output (fd 1) or standard error (fd 2). Writes are synchronous, so no line is lost if the process
 * is killed.
 */
export function createOutputSink(format: LogFormat, fd = 1): Sink {
  const destination = pino.destination({ fd, sync: true });
  if (format === 'line') return (event) => destination.write(`${formatEventLine(event)}\n`);
  let time = '';
  // Pino does not escape most characters that a terminal interprets. They are escaped here, for example as `\u009b`,
  // which a JSON parser decodes to the original character.
  const write = (line: string) => destination.write(`${escapeUnprintable(line.trimEnd())}\n`);
  const logger = pino({ base: null, timestamp: () => `,"time":"${time}"` }, { write });
  return (event, fields) => {
    time = event.time;
    const { level, phase, percent, message } = event;
    logger[level]({ ...fields, phase, ...(percent === undefined ? {} : { percent }) }, message);
  };
}

export type LogFormat = 'line' | 'json';
