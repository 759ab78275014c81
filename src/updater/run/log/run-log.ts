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
  /** All lines so far. A copy of the log may begin during the run, and must also contain the earlier lines. */
  readonly #lines: string[] = [];

  #lastAt = performance.now();
  /** Message of the last logged error; null if there is none. */
  lastError: string | null = null;

  constructor(sink: Sink) {
    this.#sinks = [sink, (event) => this.#lines.push(formatEventLine(event))];
  }

  /** The source is called before the next line is printed. Later rules do not replace earlier ones. */
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
   * Copies the log, from its first line, to a file that outlives the container. With `add`, a resumed run appends to
   * the file.
   */
  copyTo(path: string, { add = false }: { add?: boolean } = {}): void {
    let works = true;
    // The copy is optional. If the disk is full, the container's own log still has all lines.
    const keep = (write: () => void) => {
      try {
        if (works) write();
      } catch (error) {
        works = false;
        this.warn(`the log can no longer be copied to ${path}: ${(error as Error).message}`);
      }
    };
    const whole = (flag: 'w' | 'a') => {
      // The old copy is unlinked and not overwritten, because a backup may contain a hard link to it.
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
 * Writes to standard output (fd 1) or error (fd 2). Writes are synchronous, so no line is lost if the process is
 * killed.
 */
export function createOutputSink(format: LogFormat, fd = 1): Sink {
  const destination = pino.destination({ fd, sync: true });
  if (format === 'line') return (event) => destination.write(`${formatEventLine(event)}\n`);
  let time = '';
  // Pino does not escape most control characters of a terminal. They are escaped here, such as `\u009b`, and JSON
  // parsers decode them.
  const write = (line: string) => destination.write(`${escapeUnprintable(line.trimEnd())}\n`);
  const logger = pino({ base: null, timestamp: () => `,"time":"${time}"` }, { write });
  return (event, fields) => {
    time = event.time;
    const { level, phase, percent, message } = event;
    logger[level]({ ...fields, phase, ...(percent === undefined ? {} : { percent }) }, message);
  };
}

export type LogFormat = 'line' | 'json';
