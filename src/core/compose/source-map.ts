/** Position in a file from which one character of a resolved text comes. */
export interface CharacterOrigin {
  /** Path of the file. */
  source: string;
  /**
   * Offset in the text of the file. The offset is negative if the file does not contain the character itself, but an
   * escape.
   */
  offset: number;
  /** Number of characters in the file: 1, or 2 for an escape such as `$$`. */
  length: number;
  /** Source of the character: literal text, a variable's default or a variable's value. */
  via: 'text' | 'default' | 'variable';
  variable?: string | undefined;
}

/** A text with the origin of each character (UTF-16 unit). */
export interface SourceMappedText {
  text: string;
  origins: readonly CharacterOrigin[];
}

/** Range of adjacent characters that come from the same source. */
export interface SourceSegment extends Omit<CharacterOrigin, 'offset' | 'length'> {
  text: string;
  /** Offsets in the file; negative if the text cannot be changed in place. */
  start: number;
  end: number;
}

export type OriginKind = Pick<CharacterOrigin, 'via' | 'variable'>;

/** @param offset - position of the first character in the file; negative if no file contains the text */
export function createSourceMappedText(
  text: string,
  source: string,
  offset: number,
  mark: OriginKind,
): SourceMappedText {
  return {
    text,
    origins: Array.from({ length: text.length }, (_, i) => ({
      source,
      offset: offset < 0 ? offset : offset + i,
      length: 1,
      ...mark,
    })),
  };
}

/** Splits the range [start, end) wherever the source of the characters changes. */
export function splitIntoSourceSegments(
  { text, origins }: SourceMappedText,
  start: number,
  end: number,
): SourceSegment[] {
  const found: SourceSegment[] = [];
  for (let i = start; i < end; i += 1) {
    const origin = origins[i];
    if (!origin) throw new RangeError(`no character ${i} in a text of ${text.length}`);
    const { source, offset, length, via, variable } = origin;
    const last = found.at(-1);
    if (
      last?.source === source &&
      last.via === via &&
      last.variable === variable &&
      (offset < 0 ? last.start < 0 : last.end === offset)
    ) {
      last.text += text.charAt(i);
      if (offset >= 0) last.end += length;
    } else {
      const end = offset < 0 ? offset : offset + length;
      found.push({ source, via, variable, text: text.charAt(i), start: offset, end });
    }
  }
  return found;
}
