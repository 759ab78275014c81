// Finds texts in a line, in every way in which a program may print them (docs/contract.md 6.6).

/** A line in one encoding. An escape may begin at any position, also within another escape. */
interface Reading {
  length: number;
  /** The characters at a position, several if the escape there stands for several. */
  charactersAt(position: number): string;
  /** The position after these characters. */
  after(position: number): number;
}

/** A position at which some of the texts begin, with their lengths in characters, the longest first. */
interface Match {
  start: number;
  lengths: Iterable<number>;
}

export type Matcher = (reading: Reading) => Match[];

/**
 * Looks for thousands of texts at once, in a time that does not depend on how many, how long or how alike they are: the
 * automaton of Aho and Corasick. A regular expression of all texts takes a second for a long line, and cannot have a text of 32,768
 * characters. The automaton reads from the end of a line: each position has one next character, also within escapes, but several
 * previous ones.
 */
export function createMatcher(texts: Iterable<string>): Matcher {
  const all = [...new Set(texts)];
  const size = all.reduce((sum, { length }) => sum + length, 1);
  /** The next node, by node and character code. */
  const next = new Map<number, number>();
  const depth = new Int32Array(size);
  /** Where to continue if the next character does not fit: the longest end of a text that the node begins with. */
  const otherwise = new Int32Array(size);
  /** The node of the longest text that the node begins with; 0 if there is none. */
  const ending = new Int32Array(size);
  let nodes = 1;

  const keyOf = (node: number, text: string, at: number): number => node * 65_536 + text.charCodeAt(at);
  const step = (from: number, text: string, at: number): number => {
    for (let node = from; ; node = otherwise[node] as number) {
      const found = next.get(keyOf(node, text, at));
      if (found !== undefined || node === 0) return found ?? 0;
    }
  };

  // All texts grow by one character at a time, because a node falls back to a node with fewer characters.
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
      if (at === 0) ending[child] = child;
    }
    for (const { node } of growing) ending[node] ||= ending[otherwise[node] as number] as number;
  }

  function* lengthsOf(longest: number): Generator<number> {
    for (let node = longest; node !== 0; node = ending[otherwise[node] as number] as number)
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
      const longest = ending[node] as number;
      if (longest !== 0) matches.push({ start, lengths: { [Symbol.iterator]: () => lengthsOf(longest) } });
    }
    return matches;
  };
}

const { raw } = String;

/** The bytes of one character in UTF-8. @param first forms of the first of one, two, three and four bytes */
const inUtf8 = (first: readonly string[], more: string): string =>
  first.map((form, count) => `${form}(?:${more}){${count}}`).join('|');
const octal = inUtf8(
  [raw`\\[01][0-7]{2}`, raw`\\3[0-3][0-7]`, raw`\\3[45][0-7]`, raw`\\36[0-7]`],
  raw`\\2[0-7]{2}`,
);
const percent = inUtf8(
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

/** The pattern finds an escape at each position. */
const encodings: readonly [pattern: RegExp, decode: (code: string) => string][] = [
  // JSON, and a shell's double quotes, `$'…'` and backslashes. Programs differ in what they escape, never in its meaning.
  [new RegExp(raw`(?=(\\u[\da-fA-F]{4}|${octal}|\\[bfnrt]|\\[^A-Za-z0-9]))`, 'g'), fromBackslash],
  // URLs, and forms, which write a space as a plus sign.
  [new RegExp(`(?=(${percent}))`, 'gi'), fromPercent],
  [new RegExp(raw`(?=(\+|${percent}))`, 'gi'), fromPercent],
  // A shell's single quotes.
  [/(?=('(?:\\'|"'")'))/g, () => "'"],
  // Compose.
  [/(?=(\$\$))/g, () => '$'],
];

/** The line as it is, and in each encoding that has an escape in it. */
export function readingsOf(line: string): Reading[] {
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

/** The end of characters that begin at a position. Stops behind `limit`. */
export function endOf(reading: Reading, start: number, characters: number, limit: number): number {
  let end = start;
  for (let left = characters; left > 0 && end <= limit; end = reading.after(end))
    left -= reading.charactersAt(end).length;
  return end;
}

/** Fewer characters of base64 are found in too many texts. */
const shortestBase64 = 6;

/** Base64 of the value at each of the three offsets inside longer text, without characters that neighbouring bytes change. */
export function base64Forms(value: string): string[] {
  const whole = Buffer.from(value).toString('base64').replace(/=+$/, '');
  const inside = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [whole, ...inside]
    .filter((text) => text.length >= shortestBase64)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}
