import { StringDecoder } from 'node:string_decoder';
import { EngineError } from './engine-error.ts';

/** UTF-16 code units; more than a line of any log or stream of the engine has. */
const longestLine = 1024 * 1024;

/**
 * Splits bytes into lines. A line that is too long is cut, so the memory is bounded whatever is written. `end` gives a last
 * line without its end.
 */
export function lineSplitter(onLine: (line: string) => void, longest = longestLine) {
  const decoder = new StringDecoder('utf8');
  let line = '';
  const endLine = () => {
    onLine(line.replace(/\r$/, ''));
    line = '';
  };
  const add = (text: string) => {
    for (const [at, part] of text.split('\n').entries()) {
      if (at > 0) endLine();
      line += part.slice(0, longest - line.length);
    }
  };
  return {
    write: (chunk: Buffer) => add(decoder.write(chunk)),
    end() {
      add(decoder.end());
      if (line !== '') endLine();
    },
  };
}

/** The lines of a text that comes in pieces; of a line that is too long the beginning. */
export async function* linesOfStream(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let lines: string[] = [];
  const splitter = lineSplitter((line) => lines.push(line));
  for await (const chunk of chunks) {
    splitter.write(chunk);
    yield* lines;
    lines = [];
  }
  splitter.end();
  yield* lines;
}

/** The objects of a stream that has one in each line, as pulls and events have. @throws EngineError for anything else */
export async function* objectsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>> {
  for await (const line of linesOfStream(chunks)) {
    if (line.trim() !== '') yield objectOf(line);
  }
}

/** @throws EngineError if the text is no JSON object */
export function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // What it is instead is said below.
  }
  const message = `this is not an answer of an engine: ${text.slice(0, 100).trim()}`;
  throw new EngineError('not-an-engine', message);
}

const headSize = 8;
/** The first byte of a frame in which the engine reports that it could not read the log. */
const errorFrame = 3;
const maxErrorBytes = 1_000;

/**
 * The text of a container's log, both outputs in the order that they came in. Without a terminal the engine sends it in
 * frames: a byte for the output, three zeros, the length of what follows. With one it sends the text alone; before API
 * 1.42 it says the same of both, but no terminal's text begins with such a head.
 */
export async function* logText(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFramed: boolean | null = null;
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes of the frame that are still to come. */
  let left = 0;
  let isError = false;
  let error: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (isFramed === null) {
      if (rest.length < headSize && couldBeHead(rest)) continue;
      isFramed = couldBeHead(rest);
    }
    while (rest.length > 0) {
      if (isFramed && left === 0) {
        if (rest.length < headSize) break;
        if (!couldBeHead(rest)) throw new EngineError('unreachable', 'the log contains an invalid frame');
        left = rest.readUInt32BE(4);
        isError = rest[0] === errorFrame;
        rest = rest.subarray(headSize);
        continue;
      }
      const size = isFramed ? Math.min(left, rest.length) : rest.length;
      if (isError) error = Buffer.concat([error, rest.subarray(0, size)]).subarray(0, maxErrorBytes);
      else if (size > 0) yield rest.subarray(0, size);
      if (isFramed) left -= size;
      rest = rest.subarray(size);
    }
  }
  // A terminal may have said less than a head has.
  if (isFramed === null && rest.length > 0) yield rest;
  else if (left > 0 || rest.length > 0)
    throw new EngineError('unreachable', 'the log ends in the middle of a frame');
  if (error.length > 0) throw new EngineError('refused', error.toString().trim());
}

const couldBeHead = (bytes: Buffer): boolean =>
  (bytes[0] ?? 0) <= errorFrame && [1, 2, 3].every((at) => (bytes[at] ?? 0) === 0);
