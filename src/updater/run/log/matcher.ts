import type { Escapes } from './encodings.ts';

/** Where some of the texts begin in a line. */
interface Found {
  start: number;
  /** Where they end, the longest first. */
  ends: Iterable<number>;
}

type Positions = [left: Int32Array, behind: Int32Array, far: Int32Array];
const at = (numbers: Int32Array, index: number): number => numbers[index] as number;

export type Matcher = (line: string, escapes: Escapes) => Generator<Found>;

/**
 * Looks for thousands of texts at once, in a time that does not depend on how many, how long or how alike they are: the
 * automaton of Aho and Corasick. It reads from the end of a line: there is one next character for each position, also
 * within escapes, but several previous ones.
 */
export function createMatcher(texts: Iterable<string>): Matcher {
  const all = [...new Set(texts)];
  const size = all.reduce((sum, { length }) => sum + length, 1);
  /** The characters that occur in them have small numbers, which make small keys. */
  const numbers = new Map<string, number>();
  for (const text of all)
    for (let at = 0; at < text.length; at += 1)
      if (!numbers.has(text.charAt(at))) numbers.set(text.charAt(at), numbers.size);
  const keyOf = (node: number, character: number): number => node * numbers.size + character;
  /** The next node, by node and character. */
  const next = new Map<number, number>();
  const depth = new Int32Array(size);
  /** Where to go on when the next character does not fit: the longest end of a text that the node begins with. */
  const otherwise = new Int32Array(size);
  /** The node of the longest text that the node begins with; 0 if there is none. */
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
      const character = numbers.get(one.text.charAt(one.text.length - 1 - at)) ?? 0;
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

  return function* (line, escapes) {
    const after = (index: number): number => escapes.get(index)?.end ?? index + 1;
    const charactersAt = (index: number): string => escapes.get(index)?.characters ?? line.charAt(index);
    /** Of each position: the number of characters and of positions behind it, and a position far behind it. */
    const [left, behind, far] = [0, 1, 2].map(() => new Int32Array(line.length + 1)) as Positions;
    far[line.length] = line.length;
    function endOf(start: number, length: number): number {
      const rest = at(left, start) - length;
      let end = start;
      while (at(left, end) > rest) end = at(left, at(far, end)) > rest ? at(far, end) : after(end);
      return end;
    }
    function* endsFrom(start: number, longest: number): Generator<number> {
      for (let node = longest; node !== 0; node = ending[otherwise[node] as number] as number)
        yield endOf(start, depth[node] as number);
    }

    const reached = new Int32Array(line.length + 1);
    for (let start = line.length - 1; start >= 0; start -= 1) {
      const characters = charactersAt(start);
      let node = reached[after(start)] as number;
      for (let last = characters.length - 1; last >= 0; last -= 1) {
        const character = numbers.get(characters.charAt(last));
        node = character === undefined ? 0 : step(node, character);
      }
      reached[start] = node;
      const following = after(start);
      const farther = at(far, following);
      left[start] = at(left, following) + characters.length;
      behind[start] = at(behind, following) + 1;
      // As in a skip list: two jumps of equal length become one.
      const isEven =
        at(behind, following) - at(behind, farther) === at(behind, farther) - at(behind, at(far, farther));
      far[start] = isEven ? at(far, farther) : following;
      const longest = ending[node] as number;
      if (longest !== 0) yield { start, ends: endsFrom(start, longest) };
    }
  };
}
