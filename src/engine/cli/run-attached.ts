import { Writable } from 'node:stream';
import { lineSplitter } from '../http/lines.ts';
import type { Engine } from './engine.ts';

/** How a command in a container ended. */
export interface CommandEnd {
  /** Null if it did not end in time. */
  exitCode: number | null;
  /** Its standard output, then its standard error. */
  lines: readonly string[];
}

const maxOutput = 1024 ** 2;

/** Runs a `docker` command that prints what a command in a container prints; after 1 MB, nothing more is read of it. */
export async function runAttached(
  engine: Engine,
  asked: readonly string[],
  deadlineMs: number,
): Promise<CommandEnd> {
  const output: string[] = [];
  const errors: string[] = [];
  let left = maxOutput;
  const noteIn = (lines: string[]) => (line: string) => {
    if (left > 0) lines.push(line.slice(0, left));
    left -= line.length + 1;
  };
  const read = { output: byLine(noteIn(output)), onStderrLine: noteIn(errors) };
  const { exitCode, timedOut } = await engine.call(asked, { deadlineMs, repeatable: false, ...read });
  return { exitCode: timedOut ? null : exitCode, lines: [...output, ...errors] };
}

/** A stream that gives the lines of the text written to it, also a last one without its end. */
export function byLine(onLine: (line: string) => void, longestLine?: number): Writable {
  const splitter = lineSplitter(onLine, longestLine);
  return new Writable({
    write(chunk: Buffer, _, done) {
      splitter.write(chunk);
      done();
    },
    final(done) {
      splitter.end();
      done();
    },
  });
}
