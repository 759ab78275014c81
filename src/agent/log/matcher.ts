import type { Decoding } from './decode.ts';

/** Finds the texts that begin at each place of a decoding. */
export interface Matcher {
  /** For each place, what is found there, to be asked for with `lengthsAt`; 0 where nothing is. */
  search(decoding: Decoding): Int32Array;
  /** How many characters the texts found have, the longest first. */
  lengthsAt(found: number): number[];
}

/**
 * Looks for thousands of texts at once, in a time that does not depend on how many, how long or how alike they are: the
 * automaton of Aho and Corasick. It goes from the end to the start, over the texts turned around: there each place of a
 * decoding has one character behind it, while several may lead to it.
 */
export function createMatcher(texts: Iterable<string>): Matcher {
  const all = new Set(texts);
  let size = 1;
  for (const { length } of all) size += length;
  const numbers = () => new Int32Array(size);
  const [char, depth, child, sibling] = [numbers(), numbers(), numbers(), numbers()];
  /** Where to go on when no child fits: the longest beginning that the node ends with. */
  const otherwise = numbers();
  /** The node of the longest text that the node ends with; 0 where it ends with none. */
  const text = numbers();
  const first = new Map<number, number>();
  let nodes = 1;

  const childOf = (node: number, wanted: number): number => {
    if (node === 0) return first.get(wanted) ?? 0;
    let found = child[node] as number;
    while (found !== 0 && char[found] !== wanted) found = sibling[found] as number;
    return found;
  };
  const step = (from: number, wanted: number): number => {
    for (let node = from; ; node = otherwise[node] as number) {
      const next = childOf(node, wanted);
      if (next !== 0 || node === 0) return next;
    }
  };

  for (const one of all) {
    let node = 0;
    for (const letter of Array.from(one).reverse()) {
      const wanted = letter.codePointAt(0) ?? 0;
      let next = childOf(node, wanted);
      if (next === 0) {
        next = nodes++;
        char[next] = wanted;
        depth[next] = (depth[node] as number) + 1;
        sibling[next] = child[node] as number;
        child[node] = next;
        if (node === 0) first.set(wanted, next);
      }
      node = next;
    }
    text[node] = node;
  }
  const inOrder = numbers();
  let queued = 1;
  for (const node of inOrder.subarray(0, nodes)) {
    for (let next = child[node] as number; next !== 0; next = sibling[next] as number) {
      if (node !== 0) otherwise[next] = step(otherwise[node] as number, char[next] as number);
      text[next] ||= text[otherwise[next] as number] as number;
      inOrder[queued++] = next;
    }
  }

  return {
    search({ chars, ends }) {
      const states = new Int32Array(chars.length + 1);
      for (let at = chars.length - 1; at >= 0; at -= 1) {
        states[at] = step(states[ends[at] as number] as number, chars[at] as number);
      }
      return states.map((state) => text[state] as number);
    },
    lengthsAt(found) {
      const lengths: number[] = [];
      for (let node = found; node !== 0; node = text[otherwise[node] as number] as number) {
        lengths.push(depth[node] as number);
      }
      return lengths;
    },
  };
}
