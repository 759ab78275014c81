import { interpolate, type Lookup, requiredIn } from './interpolation.ts';
import { type Layer, placeOf } from './layers.ts';
import { trace } from './traced.ts';
import { scalarsOf } from './yaml-document.ts';

/** Variables of one file that nothing sets. */
export interface UnsetVariables {
  /** Compose rejects the file without them: `${V:?}`. */
  required: string[];
  /** They stand for nothing: `${V}` without a default. */
  empty: string[];
}

/** What a file's values need and nothing sets, each once, in the order of the file. Comments and keys do not count. */
export function unsetVariables(layer: Layer): UnsetVariables {
  const missing = new Set<string>();
  const empty = new Set<string>();
  const setTo = (name: string) => layer.variables(name)?.text ?? null;
  for (const text of scalarsOf(layer.file.file)) {
    for (const name of requiredIn(text, setTo)) missing.add(name);
    const known: Lookup = (name) =>
      layer.variables(name) ?? (missing.has(name) ? trace('1', '', -1, { via: 'variable' }) : null);
    for (const name of emptyIn(text, known, placeOf(layer, 1))) empty.add(name);
  }
  return { required: [...missing], empty: [...empty] };
}

/** A text that compose rejects for another reason needs nothing that anybody could set. */
function emptyIn(text: string, lookup: Lookup, where: string): string[] {
  try {
    return interpolate(trace(text, '', -1, { via: 'text' }), lookup, where).unset;
  } catch {
    return [];
  }
}
