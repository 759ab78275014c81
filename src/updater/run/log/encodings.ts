// Ways in which a program may print a value (docs/contract.md 6.6).

/** The escapes of one encoding in a text, by position: the characters that an escape stands for, and where it ends. */
export type Escapes = ReadonlyMap<number, { characters: string; end: number }>;

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

/** The pattern finds an escape at each position, also within another escape: a value may begin there. */
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

/** The text as it is, and as each encoding reads it that has an escape in it. */
export function readingsOf(text: string): Escapes[] {
  const readings = encodings.map(([pattern, decode]) => {
    const escapes = new Map<number, { characters: string; end: number }>();
    for (const { index, 1: code = '' } of text.matchAll(pattern))
      escapes.set(index, { characters: decode(code), end: index + code.length });
    return escapes;
  });
  return [new Map(), ...readings.filter(({ size }) => size > 0)];
}

/** Fewer characters of base64 are found in too many texts. */
const shortestBase64 = 6;

/** Base64 of the value at each of the three offsets inside longer text, without characters that neighbouring bytes change. */
export function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const whole = bytes.toString('base64').replace(/=+$/, '');
  const inside = [0, 1, 2].map((before) => {
    const bits = (before + bytes.length) * 8;
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
  });
  return [whole, ...inside]
    .filter((text) => text.length >= shortestBase64)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}
