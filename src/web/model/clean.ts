import { mapTexts, writtenOut } from '../../progress/plain-text.ts';

/**
 * What a server says, with every character written out that would hide or turn around what stands beside it. Lines and
 * tabs stay: notes are made of them.
 */
export const clean = <T>(value: T): T => mapTexts(value, cleanText);

const cleanText = (text: string): string =>
  text
    .split(/(\r\n|[\n\t])/)
    .map(cleanPiece)
    .join('');

// Every second piece is a separator.
const cleanPiece = (piece: string, index: number): string => (index % 2 === 0 ? writtenOut(piece) : piece);
