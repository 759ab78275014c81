import { writtenOut } from '../../progress/plain-text.ts';

/**
 * What a server says, with every character written out that would hide or turn around what stands beside it. Lines and
 * tabs stay: notes are made of them.
 */
export function clean<T>(value: T): T {
  if (typeof value === 'string')
    return value
      .split(/(\r\n|[\n\t])/)
      .map(cleanPiece)
      .join('') as T;
  if (Array.isArray(value)) return value.map(clean) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, piece]) => [key, clean(piece)])) as T;
}

// Every second piece is a separator.
const cleanPiece = (piece: string, index: number): string => (index % 2 === 0 ? writtenOut(piece) : piece);
