/** The ways in which a program may print a value (docs/contract.md 6.6): one of them at a time, not one within another. */
export const spellingsOf = (value: string): string[] => [...escapedForms(value), ...base64Forms(value)];

/** As it is, in a JSON string, URL-encoded, quoted for a shell, and with compose's `$$`. */
export function escapedForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const percent = encodeURIComponent(value.toWellFormed());
  // Go and Python encode these as well; a form has a plus for a space.
  const strict = percent.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  const urlForms = [percent, strict].flatMap((text) => [text, text.replaceAll('%20', '+')]);
  return [
    value,
    json,
    // Go, in which docker and compose are written.
    json.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
    ...urlForms.flatMap((text) => [inHex(text, 'toUpperCase'), inHex(text, 'toLowerCase')]),
    // Single quotes, double quotes, and none.
    value.replaceAll("'", "'\\''"),
    value.replace(/["\\$`]/g, '\\$&'),
    value.replace(/[^\w./\u0080-\uffff-]/g, '\\$&'),
    // As compose writes it.
    value.replaceAll('$', '$$$$'),
  ];
}

const inHex = (text: string, toCase: 'toUpperCase' | 'toLowerCase'): string =>
  text.replace(/%../g, (code) => code[toCase]());

/** Fewer characters of base64 are found in too many texts. */
const shortestBase64 = 6;

/** The value by itself, and, as in `Basic <user:password>`, behind and in front of others: what its own bits decide. */
function base64Forms(value: string): string[] {
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
