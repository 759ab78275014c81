import fc from 'fast-check';

/** A position in any text or value. */
const at = fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 9, arbitrary: fc.nat(0xffff) });
const within = (place: number, size: number): number => (size === 0 ? 0 : place % size);

/**
 * A valid text with a few changes: it is cut; pieces are removed, copied or repeated; characters or words of the
 * format are inserted.
 */
export function mutatedText(samples: fc.Arbitrary<string>, words: readonly string[]): fc.Arbitrary<string> {
  const odd = [...'\0\n\r\t "\'\\$\ufeff\ud800\u2028é😀9-'];
  const put = fc.oneof(
    fc.constantFrom(...words),
    fc.constantFrom(...odd),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  const change = fc.record({
    kind: fc.constantFrom(
      ...['put', 'put', 'put', 'put', 'leave', 'leave', 'over', 'over', 'copy', 'cut', 'repeat'],
    ),
    ...{ from: at, size: fc.nat(40), to: at, put },
  });
  return fc.tuple(samples, fc.array(change, { maxLength: 4 })).map(([sample, changes]) =>
    changes.reduce((text, { kind, from, size, to, put: word }) => {
      const start = within(from, text.length + 1);
      const piece = text.slice(start, start + size);
      const [head, tail] = [text.slice(0, start), text.slice(start + size)];
      if (kind === 'put') return head + word + text.slice(start);
      if (kind === 'leave') return head + tail;
      if (kind === 'over') return head + word + tail;
      if (kind === 'cut') return head;
      if (kind === 'repeat') return head + piece.repeat(2 ** within(to, 11)) + tail;
      const place = within(to, text.length + 1);
      return text.slice(0, place) + piece + text.slice(place);
    }, sample),
  );
}

/** Words inserted into JSON texts. */
export const jsonWords = [
  ...['"__proto__":{"x":1},', '"files":{},', ...'{}[],:"', '\\u0000', '../', '-', 'null', '1e999'],
  ...['\xff', '\xef\xbb\xbf', '['.repeat(20_000), '{"a":'.repeat(5_000)],
];

/** Like `mutatedText`, for bytes. */
export const mutatedBytes = (samples: fc.Arbitrary<Buffer>, words: readonly string[]): fc.Arbitrary<Buffer> =>
  mutatedText(
    samples.map((bytes) => bytes.toString('latin1')),
    words,
  ).map((text) => Buffer.from(text, 'latin1'));

const values = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 2 ** 53, '', '..', '/', '../../etc', '-x', [], {}, '\0'),
  fc.constantFrom('a'.repeat(300), 'a'.repeat(70_000), '2026-13-01', '__proto__', 'constructor'),
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ maxDepth: 2 }),
);
const keys = fc.constantFrom('__proto__', 'constructor', 'toString', '', '../x', '/x', '-x', '.x');
const arounds = fc.constantFrom<((text: string) => string)[]>(
  ...['-', '../', ' '].map((before) => (text: string) => before + text),
  ...['/..', '/../x', '\n', '\0', '*'].map((after) => (text: string) => text + after),
  (text) => text.slice(0, 10),
);

/** A valid JSON value with a few changes: other values, and added or removed keys and entries. */
export function mutatedJson(samples: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.record({
    kind: fc.constantFrom(...['set', 'set', 'leave', 'add', 'copy', 'rename', 'around', 'around', 'around']),
    ...{ place: at, other: at, value: values, key: keys, around: arounds },
  });
  return fc.tuple(samples, fc.array(change, { maxLength: 3 })).map(([sample, changes]) => {
    const root: Tree = { whole: structuredClone(sample) };
    for (const { kind, place, other, value, key, around } of changes) {
      const places = placesIn(root);
      const [holder, name] = places[within(place, places.length)] ?? [root, 'whole'];
      const [from, copied] = places[within(other, places.length)] ?? [root, 'whole'];
      const inside = holder[name];
      if (kind === 'set') put(holder, name, structuredClone(value));
      else if (kind === 'copy') put(holder, name, structuredClone(from[copied]));
      else if (kind === 'add' && Array.isArray(inside)) inside.push(structuredClone(value));
      else if (kind === 'add' && isTree(inside)) put(inside, key, structuredClone(value));
      else if (kind === 'around') put(holder, name, typeof inside === 'string' ? around(inside) : inside);
      else if (kind === 'rename' && !Array.isArray(holder)) put(holder, key, inside);
      else if (Array.isArray(holder)) holder.splice(Number(name), 1);
      else if (holder !== root) delete holder[name];
    }
    return root.whole;
  });
}

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;

/** Sets a key like a JSON parser: `__proto__` is an ordinary key. */
const put = (holder: Tree, key: string, value: unknown): void =>
  void Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });

function placesIn(tree: Tree): [holder: Tree, key: string][] {
  return Object.keys(tree).flatMap((key) => {
    const inside = Object.getOwnPropertyDescriptor(tree, key)?.value;
    return [[tree, key] as [Tree, string], ...(isTree(inside) ? placesIn(inside) : [])];
  });
}

/** The bytes in chunks as sent by a server, cut at any position. */
export const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set([0, ...cuts.map((cut) => within(cut, bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
};
export const cuts = fc.array(at, { maxLength: 5 });
