// What a line says to who decodes it. Nothing is decoded for good: each place of the line keeps the character that begins
// there and the place behind it, so that what is found stands in the line itself, and from whichever place one begins.

/** A line as it stands, or as it reads once the escapes of one kind are decoded, or those within them. */
export interface Decoding {
  /** For each place of the line, the character (code point) that begins there. */
  chars: Int32Array;
  /** For each place, the one behind that character. */
  ends: Int32Array;
}

interface Escape {
  mark: string;
  form: RegExp;
  read: (match: RegExpExecArray) => number;
}

/** Three are JSON in JSON in a URL. In a long line, where that takes its time, escapes within escapes are not decoded. */
const depthOf = (line: string): number => (line.length > 0x10000 ? 1 : 3);
/** Of the longest escape, as \U0001f600. */
const longest = 10;
/** Marks what is one byte of UTF-8, or a character of an older code. */
const byte = 0x200000;
const asByte = (code: number): number => (code < 0x80 ? code : byte | (code & 0xff));

const controls: Record<string, string> = {
  ...{ a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
};
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const escapes: readonly Escape[] = [
  {
    // JSON, YAML, a shell's %q, $'' and double quotes, and the languages that have it from C.
    mark: '\\',
    form: /^\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{2})|([0-7]{1,3})|(.))/su,
    read: ([, braced, short, long, hex, octal, other = '']) => {
      const code = braced ?? short ?? long;
      if (code !== undefined) return Number.parseInt(code, 16);
      if (hex !== undefined) return asByte(Number.parseInt(hex, 16));
      if (octal !== undefined) return asByte(Number.parseInt(octal, 8));
      return (controls[other] ?? other).codePointAt(0) ?? 0;
    },
  },
  {
    mark: '%',
    form: /^%([0-9a-f]{2})/i,
    read: ([, hex = '']) => asByte(Number.parseInt(hex, 16)),
  },
  {
    mark: '&',
    form: /^&(?:#([0-9]{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/i,
    read: ([, decimal, hex, name = '']) => {
      if (decimal !== undefined) return Number.parseInt(decimal, 10);
      if (hex !== undefined) return Number.parseInt(hex, 16);
      return entities[name.toLowerCase()]?.codePointAt(0) ?? 0;
    },
  },
  // Single quotes of a shell, of Python's shlex, of YAML and SQL.
  { mark: "'", form: /^'(?:\\''|"'"'|')/, read: ([quote = '']) => quote.charCodeAt(0) },
  // Compose doubles what begins a variable.
  { mark: '$', form: /^\$\$/, read: ([dollar = '']) => dollar.charCodeAt(0) },
];

/** The line as it is, and all that its escapes may stand for, those of each kind by themselves and one within another. */
export function* decodingsOf(line: string): Generator<Decoding> {
  const plain: Decoding = { chars: new Int32Array(line.length), ends: new Int32Array(line.length) };
  for (let at = 0; at < line.length; at += 1) {
    const char = line.codePointAt(at) ?? 0;
    plain.chars[at] = char;
    plain.ends[at] = at + (char > 0xffff ? 2 : 1);
  }
  yield plain;
  yield* decodingsWithin(plain, null, depthOf(line));
}

/** @param outer the kind of escape that this decoding has decoded, and the decoding before it */
function* decodingsWithin(
  decoding: Decoding,
  outer: { kind: number; decoding: Decoding } | null,
  depth: number,
): Generator<Decoding> {
  if (depth === 0) return;
  for (const [kind, form] of escapes.entries()) {
    const inner = decoded(decoding, form, kind === outer?.kind ? outer.decoding : null);
    if (inner === null) continue;
    yield inner;
    yield* decodingsWithin(inner, { kind, decoding }, depth - 1);
  }
}

/** Decodes the escapes of a kind; null where there are none, or only such as the decoding `before` had as well. */
function decoded(decoding: Decoding, { mark, form, read }: Escape, before: Decoding | null): Decoding | null {
  const { chars, ends } = decoding;
  const markCode = mark.charCodeAt(0);
  let result: Decoding | null = null;
  let isNew = before === null;
  for (let at = chars.indexOf(markCode); at >= 0; at = chars.indexOf(markCode, at + 1)) {
    const piece = ahead(decoding, at);
    const match = form.exec(piece.text);
    if (!match) continue;
    result ??= { chars: chars.slice(), ends: ends.slice() };
    const end = piece.ends[match[0].length - 1] ?? at;
    result.chars[at] = read(match);
    result.ends[at] = end;
    for (let on = at; !isNew && on < end; on = ends[on] ?? end) isNew = before?.ends[on] !== ends[on];
  }
  if (result === null || !isNew) return null;
  joinHalves(result);
  return result;
}

/** The text from a place on as it is read, as far as an escape goes, and the end of each of its UTF-16 units. */
function ahead({ chars, ends }: Decoding, from: number): { text: string; ends: number[] } {
  let text = '';
  const endOf: number[] = [];
  for (let at = from; at < chars.length && text.length < longest; at = ends[at] ?? chars.length) {
    const char = chars[at] ?? 0;
    text += char > 0x10ffff ? '\ufffd' : String.fromCodePoint(char);
    while (endOf.length < text.length) endOf.push(ends[at] ?? chars.length);
  }
  return { text, ends: endOf };
}

/** Bytes that are UTF-8 together, and two halves of a pair, are one character; any other byte is that of Latin-1. */
function joinHalves({ chars, ends }: Decoding): void {
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? 0;
    const isHigh = first >= 0xd800 && first < 0xdc00;
    if (first < byte && !isHigh) continue;
    const count = isHigh ? 1 : first >= (byte | 0xf0) ? 3 : first >= (byte | 0xe0) ? 2 : 1;
    let char = isHigh ? first : first & (0x3f >> count);
    let end = ends[at] ?? chars.length;
    let found = 0;
    for (; found < count && end < chars.length; found += 1) {
      const next = chars[end] ?? 0;
      if (isHigh ? next < 0xdc00 || next > 0xdfff : next < (byte | 0x80) || next > (byte | 0xbf)) break;
      char = isHigh ? 0x10000 + ((first - 0xd800) << 10) + (next - 0xdc00) : (char << 6) | (next & 0x3f);
      end = ends[end] ?? chars.length;
    }
    const isWhole = found === count && (isHigh || first >= (byte | 0xc2));
    chars[at] = isWhole ? char : first & ~byte;
    if (isWhole) ends[at] = end;
  }
}
