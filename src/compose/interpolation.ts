import { UpdateError } from '../progress/update-error.ts';
import type { Mark, Origin, TracedText } from './traced.ts';

/** The value of a variable and where it comes from; null where nothing sets it. */
export type Lookup = (name: string) => TracedText | null;

export interface Interpolation extends TracedText {
  /** Variables without a value that stand for nothing. */
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
    if (depth > deepest) throw invalid(`variables are nested more than ${deepest} deep`);
    let i = start;
    while (i < end) {
      const char = source.charAt(i);
      const next = i + 1 < end ? source.charAt(i + 1) : '';
      const plain = char === '$' && match(name, i + 1, end);
      if (char === '$' && next === '$') {
        put('$', { ...originOf(i), length: originOf(i).length + originOf(i + 1).length }, mark);
        i += 2;
      } else if (plain) {
        putValue(plain, lookup(plain));
        i += 1 + plain.length;
      } else if (char === '$' && next === '{') {
        i = braced(i, end, mark, depth);
      } else {
        put(char, originOf(i), mark);
        i += 1;
      }
    }
  }

  /** Resolves the `${…}` at `start`; gives the offset behind it. */
  function braced(start: number, end: number, mark: Mark | null, depth: number): number {
    const close = closingBrace(start + 1, end);
    const variable = match(name, start + 2, end);
    const afterName = start + 2 + variable.length;
    const sign = match(operator, afterName, end);
    if (close < 0 || variable === '' || (sign === '' && afterName !== close)) {
      const shown = source.slice(start, close < 0 ? end : close + 1);
      const quoted = shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
      throw invalid(`${mayQuote ? quoted : 'what stands behind a $'} is no valid substitution`);
    }
    const value = lookup(variable);
    const rest = afterName + sign.length;
    const has = value !== null && (sign.length < 2 || value.text !== '');
    const isTaken = sign.endsWith('-') ? !has : sign.endsWith('+') && has;
    // A default that is not taken is not looked at, as in compose 5.0.2 and later; an older one may reject the file.
    if (isTaken) expand(rest, close, sign.endsWith('-') ? { via: 'default', variable } : mark, depth + 1);
    if (sign.endsWith('?') && !has) {
      const reason = mayQuote ? source.slice(rest, close) : '';
      throw invalid(`${variable} is required and not set${reason ? `: ${reason}` : ''}`);
    }
    if (!isTaken && !sign.endsWith('+')) putValue(variable, value);
    return close + 1;
  }

  function putValue(variable: string, value: TracedText | null): void {
    if (!value) {
      unset.push(variable);
      return;
    }
    if (origins.length + value.text.length > longest)
      throw invalid(`longer than ${longest} characters with ${variable}`);
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

  function match(form: RegExp, at: number, end: number): string {
    form.lastIndex = at;
    return form.exec(source)?.[0].slice(0, end - at) ?? '';
  }

  /** As compose looks for it: not past a line end; with a brace too many, the last of the line has to do. */
  function closingBrace(open: number, end: number): number {
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

  function invalid(message: string): UpdateError {
    return new UpdateError('compose-invalid', `${where}: ${message}`);
  }
}
