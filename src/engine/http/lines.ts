import { StringDecoder } from 'node:string_decoder';
import { EngineFault } from './fault.ts';

/** UTF-16 code units; more than a line of any log or stream of the engine has. */
const longestLine = 1024 * 1024;

/** The lines of a text that comes in pieces; of a line that is too long the beginning. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of chunks) {
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = (parts.pop() ?? '').slice(0, longestLine);
    for (const line of parts) yield cut(line);
  }
  rest += decoder.end();
  if (rest !== '') yield cut(rest);
}

const cut = (line: string): string => line.slice(0, longestLine).replace(/\r$/, '');

/** The objects of a stream that has one in each line, as pulls and events have. @throws EngineFault for anything else */
export async function* objectsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>> {
  for await (const line of linesOf(chunks)) {
    if (line.trim() !== '') yield objectOf(line);
  }
}

/** @throws EngineFault where the text is no JSON object */
export function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // What it is instead is said below.
  }
  const message = `this is no answer of an engine: ${text.slice(0, 100).trim()}`;
  throw new EngineFault('away', message, { isForeign: true });
}
