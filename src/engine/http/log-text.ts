import { EngineFault } from './fault.ts';

const headSize = 8;

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
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (isFramed === null) {
      if (rest.length < headSize && couldBeHead(rest)) continue;
      isFramed = couldBeHead(rest);
    }
    while (rest.length > 0) {
      if (isFramed && left === 0) {
        if (rest.length < headSize) break;
        if (!couldBeHead(rest)) throw new EngineFault('away', 'the log has a frame that is none');
        left = rest.readUInt32BE(4);
        rest = rest.subarray(headSize);
        continue;
      }
      const size = isFramed ? Math.min(left, rest.length) : rest.length;
      if (size > 0) yield rest.subarray(0, size);
      if (isFramed) left -= size;
      rest = rest.subarray(size);
    }
  }
  // A terminal may have said less than a head has.
  if (isFramed === null && rest.length > 0) yield rest;
  else if (left > 0 || rest.length > 0) throw new EngineFault('away', 'the log breaks off within a frame');
}

const couldBeHead = (bytes: Buffer): boolean =>
  (bytes[0] ?? 0) <= 2 && [1, 2, 3].every((at) => (bytes[at] ?? 0) === 0);
