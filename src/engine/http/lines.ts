import { StringDecoder } from 'node:string_decoder';
import { EngineError } from './engine-error.ts';

/** Maximum length of a line in UTF-16 code units. The engine's lines are shorter. */
const longestLine = 1024 * 1024;

/** Splits bytes into lines, and truncates long lines. `end` reports the last line if it has no line break. */
export function createLineSplitter(onLine: (line: string) => void, longest = longestLine) {
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

/** Decodes UTF-8 text and yields its lines. Truncates long lines. */
export async function* decodeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let lines: string[] = [];
  const splitter = createLineSplitter((line) => lines.push(line));
  for await (const chunk of chunks) {
    splitter.write(chunk);
    yield* lines;
    lines = [];
  }
  splitter.end();
  yield* lines;
}

/**
 * Parses a stream with one JSON object per line, such as pull progress or events.
 * @throws EngineError for other content
 */
export async function* parseObjectLines(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Record<string, unknown>> {
  for await (const line of decodeLines(chunks)) {
    if (line.trim() !== '') yield requireJsonObject(line);
  }
}

/** @throws EngineError if the text is not a JSON object */
export function requireJsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Invalid JSON is reported by the error below.
  }
  const message = `the response is not from a container engine: ${text.slice(0, 100).trim()}`;
  throw new EngineError('not-an-engine', message);
}

const headSize = 8;
/** First byte of a frame that contains an error message: the engine could not read the log. */
const errorFrame = 3;
const maxErrorBytes = 1_000;

/**
 * Decodes a container's log, in order of arrival. Without a terminal, the log consists of frames with a header: a byte
 * for the output, three zeros, and the content's length. A terminal's plain text never begins with such a header.
 */
export async function* decodeLog(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFramed: boolean | null = null;
  let rest: Buffer = Buffer.alloc(0);
  /** Unread bytes of the current frame. */
  let left = 0;
  let isError = false;
  let error: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (isFramed === null) {
      if (rest.length < headSize && couldBeHead(rest)) continue;
      // Before API 1.42, only the first bytes show whether the log has frames.
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
  // The output of a terminal may be shorter than the header of a frame.
  if (isFramed === null && rest.length > 0) yield rest;
  else if (left > 0 || rest.length > 0)
    throw new EngineError('unreachable', 'the log ends in the middle of a frame');
  if (error.length > 0) throw new EngineError('refused', error.toString().trim());
}

const couldBeHead = (bytes: Buffer): boolean =>
  (bytes[0] ?? 0) <= errorFrame && [1, 2, 3].every((at) => (bytes[at] ?? 0) === 0);
