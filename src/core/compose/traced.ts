/** The position of one character of a resolved text in a file. */
export interface Origin {
  /** The path of the file. */
  source: string;
  /** Offset in the file's text; negative if the character is not in the file as such, for example after an escape in YAML. */
  offset: number;
  /** How much of the file's text the character takes up: 1, or 2 for an escape such as `$$`. */
  length: number;
  /** Written in the image itself, as the default of a variable, or as the value of a variable. */
  via: 'text' | 'default' | 'variable';
  variable?: string | undefined;
}

/** A text with the origin of each character (UTF-16 unit). */
export interface TracedText {
  text: string;
  origins: readonly Origin[];
}

/** A run of adjacent characters with the same origin. */
export interface Segment extends Omit<Origin, 'offset' | 'length'> {
  text: string;
  /** Offsets in the file; negative where the text cannot be changed in place. */
  start: number;
  end: number;
}

export type Mark = Pick<Origin, 'via' | 'variable'>;

/** A text that is in a file unchanged, or (at a negative offset) in no file. */
export function trace(text: string, source: string, offset: number, mark: Mark): TracedText {
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

/** The range [start, end) of a resolved text as the runs it is made of. */
export function segments({ text, origins }: TracedText, start: number, end: number): Segment[] {
  const found: Segment[] = [];
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
