import { UpdateError } from '../progress/update-error.ts';
import type { Mark, Origin, TracedText } from './traced.ts';

/** The value of a variable and where it comes from; null if it is not set. */
export type Lookup = (name: string) => TracedText | null;

interface Interpolation extends TracedText {
  /** Unset variables, which are empty. */
  unset: string[];
}

// Compose ignores case the way Unicode does, so the long s and the Kelvin sign are letters too.
const name = /[_a-zA-Z\u017f\u212a][_a-zA-Z0-9\u017f\u212a]*/y;
const operator = /:?[-+?]/y;
const deepest = 100;
// The limit stops variables that each hold the one before twice: their values would fill any memory.
const longest = 100_000;

/**
 * Resolves `$V ${V} ${V-d} ${V:-d} ${V?e} ${V:?e} ${V+a} ${V:+a}`, nested, and `$$` as compose does (compose-go,
 * template.go): a `$` before anything else stays. `where` begins the sentence of an error, which quotes the template
 * unless it must not.
 * @throws UpdateError compose-invalid for a bad substitution or a required variable without a value
 */
export function interpolate(
  template: TracedText,
  lookup: Lookup,
  where: string,
  mayQuote = true,
): Interpolation {
  const source = template.text;
  const text: string[] = [];
  const origins: Origin[] = [];
  const unset: string[] = [];

  expand(0, source.length, null, 0);
  return { text: text.join(''), origins, unset };

  function expand(start: number, end: number, mark: Mark | null, depth: number): void {
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

  function substitute(found: Substitution, end: number, mark: Mark | null, depth: number): void {
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
    // A default that is not taken is not looked at, as in compose 5.0.2 and later; an older one may reject the file.
    if (isTaken) expand(rest, close, sign.endsWith('-') ? { via: 'default', variable } : mark, depth + 1);
    if (sign.endsWith('?') && !has) {
      const reason = mayQuote ? source.slice(rest, close) : '';
      throw invalid(`${variable} is required but not set${reason ? `: ${reason}` : ''}`);
    }
    if (!isTaken && !sign.endsWith('+')) putValue(variable, value);
  }

  function putValue(variable: string, value: TracedText | null): void {
    if (!value) {
      unset.push(variable);
      return;
    }
    if (origins.length + value.text.length > longest)
      throw invalid(`the text with ${variable} is longer than ${longest} characters`);
    text.push(value.text);
    for (const origin of value.origins) origins.push(origin);
  }

  function put(char: string, origin: Origin, mark: Mark | null): void {
    text.push(char);
    origins.push(mark ? { ...origin, ...mark } : origin);
  }

  function originOf(i: number): Origin {
    const origin = template.origins[i];
    if (!origin) throw new RangeError(`no character ${i} in a text of ${source.length}`);
    return origin;
  }

  function invalid(message: string): UpdateError {
    return new UpdateError('compose-invalid', `${where}: ${message}`);
  }
}

/** A variable as a text refers to it: `$V`, `${V}`, `${V:-rest}`. */
interface Substitution {
  name: string;
  /** `-`, `:-`, `?`, `:?`, `+`, `:+`; empty for the value alone. */
  sign: string;
  /** Offsets of the `$`, of what stands behind the sign, of the closing brace, and behind the whole. */
  start: number;
  rest: number;
  close: number;
  end: number;
  /** False for what compose rejects: `${V!}` ends behind the name, and `${V:-` with its line. */
  isValid: boolean;
}

const isEscape = (source: string, at: number, end: number): boolean =>
  source[at] === '$' && source[at + 1] === '$' && at + 1 < end;

/** What begins at this offset; null where no variable does. */
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

/** Whether a variable of this value has one for its sign: with a colon, an empty one is none. */
const isGiven = ({ sign }: Substitution, value: string | null | undefined): boolean =>
  typeof value === 'string' && (sign.length < 2 || value !== '');

function matchAt(form: RegExp, source: string, at: number, end: number): string {
  form.lastIndex = at;
  return form.exec(source)?.[0].slice(0, end - at) ?? '';
}

/** As compose looks for it: not past a line end; with a brace too many, the last of the line has to do. */
function closingBrace(source: string, open: number, end: number): number {
  let depth = 0;
  let last = -1;
  let isSkipped = false;
  for (let i = open; i < end && source[i] !== '\n'; i += 1) {
    const char = source[i];
    if (char === '}') last = i;
    // Compose does not count the character behind an opening brace.
    if (isSkipped) isSkipped = false;
    else if (char === '{') {
      depth += 1;
      isSkipped = true;
    } else if (char === '}') {
      depth -= 1;
      if (depth === 0) return i;
    }
  }
  return last;
}

/**
 * Variables without which a text is rejected, `${V:?}`, and that have no value, also in defaults that are not taken. Goes on
 * behind what compose rejects.
 */
export function requiredIn(text: string, setTo: (name: string) => string | null): string[] {
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
