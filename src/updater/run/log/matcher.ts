// Finds texts in a line, in every encoding that a program may print (docs/contract.md 6.6).

/** A line decoded with one encoding. An escape may begin at any position, even within another escape. */
interface DecodedLine {
  length: number;
  /** Returns several characters if an escape at the position encodes several. */
  charactersAt(position: number): string;
  /** Position after the character or escape that begins at `position`. */
  after(position: number): number;
}

/** A position at which texts begin, with the lengths of these texts in characters, the longest first. */
interface Match {
  start: number;
  lengths: Iterable<number>;
}

export type TextMatcher = (reading: DecodedLine) => Match[];

/**
 * Creates an Aho-Corasick automaton, because one regular expression for thousands of texts would be slow and large.
 * Lines are read from their end, because several escapes may end at a position, but only one can begin there.
 */
export function createTextMatcher(texts: Iterable<string>): TextMatcher {
  const all = [...new Set(texts)];
  const size = all.reduce((sum, { length }) => sum + length, 1);
  /** Next node, keyed by node and character code. */
  const next = new Map<number, number>();
  const depth = new Int32Array(size);
  /**
   * For each node, the node to try if the next character does not match. That node stands for the longest ending of the
   * characters read with which a text begins.
   */
  const otherwise = new Int32Array(size);
  /** For each node, the node of the longest text that its characters begin with; 0 if there is no such text. */
  const outcome = new Int32Array(size);
  let nodes = 1;

  const keyOf = (node: number, text: string, at: number): number => node * 65_536 + text.charCodeAt(at);
  const step = (from: number, text: string, at: number): number => {
    for (let node = from; ; node = otherwise[node] as number) {
      const found = next.get(keyOf(node, text, at));
      if (found !== undefined || node === 0) return found ?? 0;
    }
  };

  // All texts are added together, one character at a time: the fallback of a node has fewer characters and must exist
  // first.
  let growing = all.map((text) => ({ text, node: 0 }));
  for (let length = 1; growing.length > 0; length += 1) {
    growing = growing.filter(({ text }) => text.length >= length);
    for (const one of growing) {
      const at = one.text.length - length;
      const key = keyOf(one.node, one.text, at);
      const child = next.get(key) ?? nodes++;
      if (depth[child] === 0 && one.node !== 0)
        otherwise[child] = step(otherwise[one.node] as number, one.text, at);
      depth[child] = length;
      next.set(key, child);
      one.node = child;
      if (at === 0) outcome[child] = child;
    }
    for (const { node } of growing) outcome[node] ||= outcome[otherwise[node] as number] as number;
  }

  function* lengthsOf(longest: number): Generator<number> {
    for (let node = longest; node !== 0; node = outcome[otherwise[node] as number] as number)
      yield depth[node] as number;
  }

  return ({ length, charactersAt, after }) => {
    const matches: Match[] = [];
    const reached = new Int32Array(length + 1);
    for (let start = length - 1; start >= 0; start -= 1) {
      const characters = charactersAt(start);
      let node = reached[after(start)] as number;
      for (let last = characters.length - 1; last >= 0; last -= 1) node = step(node, characters, last);
      reached[start] = node;
      const longest = outcome[node] as number;
      if (longest !== 0) matches.push({ start, lengths: { [Symbol.iterator]: () => lengthsOf(longest) } });
    }
    return matches;
  };
}

const { raw } = String;

/**
 * Builds a pattern for the escaped UTF-8 bytes of one character.
 * @param first - patterns for the first byte of characters with one, two, three and four bytes
 */
const buildUtf8Pattern = (first: readonly string[], more: string): string =>
  first.map((form, count) => `${form}(?:${more}){${count}}`).join('|');
const octal = buildUtf8Pattern(
  [raw`\\[01][0-7]{2}`, raw`\\3[0-3][0-7]`, raw`\\3[45][0-7]`, raw`\\36[0-7]`],
  raw`\\2[0-7]{2}`,
);
const percent = buildUtf8Pattern(
  [raw`%[0-7][\da-f]`, raw`%[cd][\da-f]`, raw`%e[\da-f]`, '%f[0-7]'],
  raw`%[89ab][\da-f]`,
);

const fromBytes = (code: string, prefix: string, radix: number): string => {
  const bytes = code.split(prefix).slice(1);
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, radix))).toString();
};
const fromPercent = (code: string): string => (code === '+' ? ' ' : fromBytes(code, '%', 16));
const fromBackslash = (code: string): string => {
  if (/\d/.test(code.charAt(1))) return fromBytes(code, '\\', 8);
  return /[a-z]/.test(code.charAt(1)) ? JSON.parse(`"${code}"`) : code.slice(1);
};

/** Encodings, each with a pattern that finds an escape at any position. */
const encodings: readonly [pattern: RegExp, decode: (code: string) => string][] = [
  // Backslash escapes, in JSON, double quotes and `$'…'`. An escape means the same in each of them.
  [new RegExp(raw`(?=(\\u[\da-fA-F]{4}|${octal}|\\[bfnrt]|\\[^A-Za-z0-9]))`, 'g'), fromBackslash],
  // Escapes in URLs; in HTML forms, a plus sign also stands for a space.
  [new RegExp(`(?=(${percent}))`, 'gi'), fromPercent],
  [new RegExp(raw`(?=(\+|${percent}))`, 'gi'), fromPercent],
  // A single quote within single quotes in a shell.
  [/(?=('(?:\\'|"'")'))/g, () => "'"],
  // Compose doubles each dollar sign.
  [/(?=(\$\$))/g, () => '$'],
];

/** Returns the line itself, and the line decoded with each encoding found in the line. */
export function decodeLine(line: string): DecodedLine[] {
  const found = encodings.map(([pattern, decode]) =>
    [...line.matchAll(pattern)].map(
      ({ index, 1: code = '' }) => [index, { characters: decode(code), end: index + code.length }] as const,
    ),
  );
  return [[], ...found.filter(({ length }) => length > 0)].map((list) => {
    const escapes = new Map(list);
    return {
      length: line.length,
      charactersAt: (position) => escapes.get(position)?.characters ?? line.charAt(position),
      after: (position) => escapes.get(position)?.end ?? position + 1,
    };
  });
}

/** Position after the given number of characters from `start`. The search stops when it has passed `limit`. */
export function findMatchEndPosition(
  reading: DecodedLine,
  start: number,
  characters: number,
  limit: number,
): number {
  let end = start;
  for (let left = characters; left > 0 && end <= limit; end = reading.after(end))
    left -= reading.charactersAt(end).length;
  return end;
}

/** Minimum number of base64 characters to search for. Shorter texts occur by chance. */
const shortestBase64 = 6;

/** Returns the base64 forms of a value, at the start of a text and inside one. */
export function encodeBase64Forms(value: string): string[] {
  const whole = Buffer.from(value).toString('base64').replace(/=+$/, '');
  // The forms at each of the three byte alignments. Characters that depend on neighboring bytes are left out.
  const inside = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [whole, ...inside]
    .filter((text) => text.length >= shortestBase64)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}
