/** Where some of the texts end in a line. */
interface Found {
  end: number;
  /** How many characters they have, the longest first. */
  lengths: Iterable<number>;
}

/**
 * Looks for thousands of texts at once, in a time that does not depend on how many, how long or how alike they are: the
 * automaton of Aho and Corasick.
 */
export function createMatcher(texts: Iterable<string>): (line: string) => Generator<Found> {
  const all = [...new Set(texts)];
  const size = all.reduce((sum, { length }) => sum + length, 1);
  /** The characters that occur in them have small numbers, which make small keys. */
  const numbers = new Map<string, number>();
  for (const text of all)
    for (let at = 0; at < text.length; at += 1)
      if (!numbers.has(text.charAt(at))) numbers.set(text.charAt(at), numbers.size);
  const numberAt = (text: string, at: number): number | undefined => numbers.get(text.charAt(at));
  const keyOf = (node: number, character: number): number => node * numbers.size + character;
  /** The next node, by node and character. */
  const next = new Map<number, number>();
  const depth = new Int32Array(size);
  /** Where to go on when the next character does not fit: the longest beginning that the node ends with. */
  const otherwise = new Int32Array(size);
  /** The node of the longest text that the node ends with; 0 where it ends with none. */
  const ending = new Int32Array(size);
  let nodes = 1;

  const step = (from: number, character: number): number => {
    for (let node = from; ; node = otherwise[node] as number) {
      const found = next.get(keyOf(node, character));
      if (found !== undefined || node === 0) return found ?? 0;
    }
  };

  // All texts grow by one character at a time: what a node falls back to has fewer, and so is there before it.
  let growing = all.map((text) => ({ text, node: 0 }));
  for (let at = 0; growing.length > 0; at += 1) {
    growing = growing.filter(({ text }) => text.length > at);
    for (const one of growing) {
      const character = numberAt(one.text, at) ?? 0;
      const key = keyOf(one.node, character);
      let child = next.get(key);
      if (child === undefined) {
        child = nodes++;
        depth[child] = at + 1;
        if (one.node !== 0) otherwise[child] = step(otherwise[one.node] as number, character);
        next.set(key, child);
      }
      one.node = child;
      if (one.text.length === at + 1) ending[child] = child;
    }
    for (const { node } of growing) ending[node] ||= ending[otherwise[node] as number] as number;
  }

  function* lengthsAt(longest: number): Generator<number> {
    for (let node = longest; node !== 0; node = ending[otherwise[node] as number] as number)
      yield depth[node] as number;
  }

  return function* (line) {
    let node = 0;
    for (let at = 0; at < line.length; at += 1) {
      const character = numberAt(line, at);
      node = character === undefined ? 0 : step(node, character);
      const longest = ending[node] as number;
      if (longest !== 0) yield { end: at + 1, lengths: lengthsAt(longest) };
    }
  };
}
