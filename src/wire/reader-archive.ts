import type { Reader, Waiting } from './reader.ts';
import type { Answer } from './reader-answer.ts';
import { readArchive } from './reader-shapes.ts';
import type { Archive } from './status.ts';

/** Milliseconds. The last piece is answered once the server has read the whole archive. */
const deadline = 120_000;

/** What is here of an archive, whose next piece begins at `received`. May be asked again and again. */
export const beginArchive = (
  reader: Reader,
  body: { size: number; sha256: string },
  { signal }: Waiting = {},
): Promise<Answer<Archive>> =>
  reader.ask(readArchive, { method: 'POST', path: '/archive', body, deadline, signal });

/** What is here then. At another offset than what was here nothing is taken. */
export const sendPiece = (
  reader: Reader,
  { sha256, offset, bytes }: { sha256: string; offset: number; bytes: Uint8Array<ArrayBuffer> },
  { signal }: Waiting = {},
): Promise<Answer<Archive>> =>
  reader.ask(readArchive, {
    method: 'PUT',
    path: `/archive?sha256=${sha256}&offset=${offset}`,
    body: bytes,
    deadline,
    signal,
  });
