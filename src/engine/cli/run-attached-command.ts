import { Writable } from 'node:stream';
import { createLineSplitter } from '../http/lines.ts';
import type { Engine } from './engine.ts';

export interface AttachedCommandResult {
  /** Null if the command did not finish before the deadline. */
  exitCode: number | null;
  /** Lines of standard output, followed by those of standard error. */
  lines: readonly string[];
}

const maxOutput = 1024 ** 2;

/**
 * Runs a `docker` command that prints the output of a command in a container, such as `docker exec`. Ignores output
 * after the first 1 MiB.
 */
export async function runAttachedCommand(
  engine: Engine,
  requested: readonly string[],
  deadlineMs: number,
): Promise<AttachedCommandResult> {
  const output: string[] = [];
  const errors: string[] = [];
  let left = maxOutput;
  const noteIn = (lines: string[]) => (line: string) => {
    if (left > 0) lines.push(line.slice(0, left));
    left -= line.length + 1;
  };
  const read = { output: createLineStream(noteIn(output)), onStderrLine: noteIn(errors) };
  const { exitCode, timedOut } = await engine.call(requested, { deadlineMs, repeatable: false, ...read });
  return { exitCode: timedOut ? null : exitCode, lines: [...output, ...errors] };
}

/** Creates a stream that calls `onLine` for each line, including a last line without a line break. */
export function createLineStream(onLine: (line: string) => void, longestLine?: number): Writable {
  const splitter = createLineSplitter(onLine, longestLine);
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
