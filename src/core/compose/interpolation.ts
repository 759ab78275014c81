import { UpdateError } from '../errors/update-error.ts';
import type { CharacterOrigin, OriginKind, SourceMappedText } from './source-map.ts';

/** Returns the value and the origin of each character; null if the variable is not set. */
export type ComposeVariableLookup = (name: string) => SourceMappedText | null;

interface Interpolation extends SourceMappedText {
  /** Unset variables. Each was replaced with an empty string. */
  unset: string[];
}

// Compose matches names case-insensitively. In Unicode, the long s (`ſ`) then equals `s`, and the Kelvin sign equals
// `k`.
const name = /[_a-zA-Z\u017f\u212a][_a-zA-Z0-9\u017f\u212a]*/y;
const operator = /:?[-+?]/y;
const deepest = 100;
// Maximum length of a resolved text. Without it, variables that each contain the previous variable twice would exhaust
// the memory.
const longest = 100_000;

/**
 * Resolves `$$` and variable references, including nested ones, as compose does (compose-go, template.go): `$V ${V}
 * ${V-d} ${V:-d} ${V?e} ${V:?e} ${V+a} ${V:+a}`. Keeps any other `$`.
 * @param where - text with which error messages begin
 * @param mayQuote - whether error messages may quote the template
 * @throws UpdateError compose-invalid for a bad substitution or a required variable without a value
 */
export function interpolate(
  template: SourceMappedText,
  lookup: ComposeVariableLookup,
  where: string,
  mayQuote = true,
): Interpolation {
  const source = template.text;
  const text: string[] = [];
  const origins: CharacterOrigin[] = [];
  const unset: string[] = [];

  expand(0, source.length, null, 0);
  return { text: text.join(''), origins, unset };

  function expand(start: number, end: number, mark: OriginKind | null, depth: number): void {
    if (depth > deepest) throw invalid(`variables are nested more than ${deepest} levels deep`);
    let i = start;
    while (i < end) {
      const found = substitutionAt(source, i, end);
      if (found) {
        substitute(found, end, mark, depth);
        i = found.end;
      } else if (isEscape(source, i, end)) {
        put('$', { ...originOf(i), length: originOf(i).length + originOf(i + 1).length }, mark);
        i += 2;
      } else {
        put(source.charAt(i), originOf(i), mark);
        i += 1;
      }
    }
  }

  function substitute(found: Substitution, end: number, mark: OriginKind | null, depth: number): void {
    const { name: variable, sign, rest, close } = found;
    if (!found.isValid) {
      const last = closingBrace(source, found.start + 1, end);
      const shown = source.slice(found.start, last < 0 ? end : last + 1);
      const quoted = shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
      throw invalid(`${mayQuote ? quoted : 'the text after a $'} is not a valid substitution`);
    }
    const value = lookup(variable);
    const has = isGiven(found, value?.text);
    const isTaken = sign.endsWith('-') ? !has : sign.endsWith('+') && has;
    // An unused default is not evaluated, as in compose 5.0.2 and later. Older versions reject a file with an invalid
    // default.
    if (isTaken) expand(rest, close, sign.endsWith('-') ? { via: 'default', variable } : mark, depth + 1);
    if (sign.endsWith('?') && !has) {
      const reason = mayQuote ? source.slice(rest, close) : '';
      throw invalid(`${variable} is required but not set${reason ? `: ${reason}` : ''}`);
    }
    if (!isTaken && !sign.endsWith('+')) putValue(variable, value);
  }

  function putValue(variable: string, value: SourceMappedText | null): void {
    if (!value) {
      unset.push(variable);
      return;
    }
    if (origins.length + value.text.length > longest)
      throw invalid(`the text with ${variable} is longer than ${longest} characters`);
    text.push(value.text);
    for (const origin of value.origins) origins.push(origin);
  }

  function put(char: string, origin: CharacterOrigin, mark: OriginKind | null): void {
    text.push(char);
    origins.push(mark ? { ...origin, ...mark } : origin);
  }

  function originOf(i: number): CharacterOrigin {
    const origin = template.origins[i];
    if (!origin) throw new RangeError(`no character ${i} in a text of ${source.length}`);
    return origin;
  }

  function invalid(message: string): UpdateError {
    return new UpdateError('compose-invalid', `${where}: ${message}`);
  }
}

/** Reference to a variable in a text: `$V`, `${V}`, `${V:-rest}`. */
interface Substitution {
  name: string;
  /** Operator: `-`, `:-`, `?`, `:?`, `+` or `:+`; empty for `$V` and `${V}`. */
  sign: string;
  /** Offsets of the `$`, of the text after the operator, of the closing brace, and of the end of the reference. */
  start: number;
  rest: number;
  close: number;
  end: number;
  /**
   * Whether compose accepts the reference. If not, `end` is after the name in `${V!}`, and at the end of the line for
   * an unclosed `${V:-`.
   */
  isValid: boolean;
}

const isEscape = (source: string, at: number, end: number): boolean =>
  source[at] === '$' && source[at + 1] === '$' && at + 1 < end;

/** Returns null if no variable reference starts at the offset. */
function substitutionAt(source: string, start: number, end: number): Substitution | null {
  if (source[start] !== '$') return null;
  const plain = matchAt(name, source, start + 1, end);
  if (plain !== '') {
    const behind = start + 1 + plain.length;
    return { name: plain, sign: '', start, rest: behind, close: behind, end: behind, isValid: true };
  }
  if (source[start + 1] !== '{' || start + 1 >= end) return null;
  const variable = matchAt(name, source, start + 2, end);
  const afterName = start + 2 + variable.length;
  const sign = matchAt(operator, source, afterName, end);
  const rest = afterName + sign.length;
  const found = { name: variable, sign, start, rest };
  if (variable === '' || (sign === '' && source[rest] !== '}'))
    return { ...found, close: rest, end: rest, isValid: false };
  const close = closingBrace(source, start + 1, end);
  if (close >= 0) return { ...found, close, end: close + 1, isValid: true };
  const line = source.slice(rest, end).search(/\n|$/);
  return { ...found, close: rest, end: rest + line, isValid: false };
}

/** An operator with a colon treats an empty value as unset. */
const isGiven = ({ sign }: Substitution, value: string | null | undefined): boolean =>
  typeof value === 'string' && (sign.length < 2 || value !== '');

function matchAt(form: RegExp, source: string, at: number, end: number): string {
  form.lastIndex = at;
  return form.exec(source)?.[0].slice(0, end - at) ?? '';
}

/**
 * Returns the offset of the brace that closes a reference, or -1 if there is none. Like compose, searches only to the
 * end of the line.
 */
function closingBrace(source: string, open: number, end: number): number {
  let depth = 0;
  let last = -1;
  let isSkipped = false;
  for (let i = open; i < end && source[i] !== '\n'; i += 1) {
    const char = source[i];
    if (char === '}') last = i;
    // Like compose, ignore the character that follows an opening brace.
    if (isSkipped) isSkipped = false;
    else if (char === '{') {
      depth += 1;
      isSkipped = true;
    } else if (char === '}') {
      depth -= 1;
      if (depth === 0) return i;
    }
  }
  // If some braces are not closed, return the last closing brace on the line.
  return last;
}

/**
 * Returns required variables (`${V:?}`) that are not set, even those in unused defaults and after an invalid reference.
 */
export function findUnsetRequiredVariables(text: string, setTo: (name: string) => string | null): string[] {
  const missing: string[] = [];
  within(0, text.length, 0);
  return missing;

  function within(start: number, end: number, depth: number): void {
    let i = start;
    while (i < end && depth <= deepest) {
      const found = substitutionAt(text, i, end);
      if (found?.name) {
        if (found.sign.endsWith('?') && !isGiven(found, setTo(found.name))) missing.push(found.name);
        within(found.rest, found.close, depth + 1);
      }
      i = found?.end ?? i + (isEscape(text, i, end) ? 2 : 1);
    }
  }
}
