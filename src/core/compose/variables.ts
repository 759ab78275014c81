import { UpdateError } from '../errors/update-error.ts';
import type { TextFile } from '../files/text-file.ts';
import { type EnvAssignment, parseEnvAssignments } from './env-file.ts';
import { type ComposeVariableLookup, findUnsetRequiredVariables, interpolate } from './interpolation.ts';
import { formatOffsetLocation } from './project-files.ts';
import { type CharacterOrigin, createSourceMappedText, type SourceMappedText } from './source-map.ts';
import { parseYamlStringValues } from './yaml-document.ts';

// Limits the nesting of variables, because each level uses stack space. No real file reaches the limit.
const deepest = 200;

interface EnvFile {
  file: TextFile;
  assignments: EnvAssignment[];
  /** Ascending positions in `assignments`, keyed by variable name. */
  byKey: Map<string, number[]>;
}

/**
 * Creates a function that resolves variables as compose does: the last assignment in the last env file takes
 * precedence.
 * @param outer - variables that take precedence over all env files
 */
export function createVariableLookup(
  envFiles: readonly TextFile[],
  outer: ComposeVariableLookup = () => null,
): ComposeVariableLookup {
  const { before } = assignmentsOf(envFiles, outer);
  return (name) => before(name, envFiles.length, 0);
}

/**
 * Returns each value as written, with escapes decoded and, if possible, with variables resolved. Values that a later
 * assignment overrides are included.
 * @throws UpdateError compose-invalid
 */
export function listEnvFileValues(envFiles: readonly TextFile[]): { key: string; value: string }[] {
  const { files, before } = assignmentsOf(envFiles, () => null);
  return files.flatMap(({ file, assignments }, index) =>
    assignments.flatMap((assignment, at) => {
      const { key, start, end } = assignment;
      const values = [file.text.slice(start, end), templateOf(file, assignment).text];
      try {
        values.push(resolve(file, assignment, (name) => before(name, index, at)).text);
      } catch (error) {
        if (!(error instanceof UpdateError)) throw error;
      }
      return [...new Set(values)].map((value) => ({ key, value }));
    }),
  );
}

function assignmentsOf(envFiles: readonly TextFile[], outer: ComposeVariableLookup) {
  const files = envFiles.map(getParsedEnvFile);
  const known = new Map<EnvAssignment, SourceMappedText>();
  let depth = 0;
  return { files, before };

  /** Returns the value that a variable has before assignment number `position` of env file number `index`. */
  function before(name: string, index: number, position: number): SourceMappedText | null {
    const fixed = outer(name);
    if (fixed) return fixed;
    for (let i = index; i >= 0; i -= 1) {
      const found = lastIn(i, name, i === index ? position : Number.POSITIVE_INFINITY);
      if (found) return found;
    }
    return null;
  }

  function lastIn(index: number, name: string, position: number): SourceMappedText | null {
    const env = files[index];
    const at = env?.byKey.get(name)?.findLast((number) => number < position);
    const assignment = at === undefined ? undefined : env?.assignments[at];
    if (!env || at === undefined || !assignment) return null;
    const previous = known.get(assignment);
    if (previous) return previous;
    if (depth === deepest) {
      const where = formatOffsetLocation(env.file, assignment.start);
      const message = `${where}: variables refer to one another more than ${deepest} levels deep`;
      throw new UpdateError('compose-invalid', message, {
        advice: `At this line, set ${name} to a value without variables.`,
      });
    }
    depth += 1;
    try {
      // `$V` refers to the previous assignment of V, as in compose 2.40.3. Compose 2.26.1 prefers an assignment in a
      // preceding file.
      const value = resolve(env.file, assignment, (other) => before(other, index, at));
      known.set(assignment, value);
      return value;
    } finally {
      depth -= 1;
    }
  }
}

const read = new WeakMap<TextFile, EnvFile>();

/** Caches the result, because several services of a project may use the same file. */
export function getParsedEnvFile(file: TextFile): EnvFile {
  const known = read.get(file);
  if (known) return known;
  const assignments = parseEnvAssignments(file);
  const byKey = Map.groupBy(assignments.keys(), (index) => assignments[index]?.key ?? '');
  const env = { file, assignments, byKey };
  read.set(file, env);
  return env;
}

function resolve(file: TextFile, assignment: EnvAssignment, lookup: ComposeVariableLookup): SourceMappedText {
  const template = templateOf(file, assignment);
  if (assignment.quote === "'") return template;
  // The value may be a password, so an error message must not quote any part of it.
  return interpolate(
    template,
    lookup,
    `${assignment.key} in ${formatOffsetLocation(file, assignment.start)}`,
    false,
  );
}

// Escapes in double quotes. `\$` becomes `$$`, which interpolation replaces with a literal dollar sign.
const escapes: Record<string, string> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '"': '"',
  '\\': '\\',
  $: '$$',
};

/** Decodes the escapes of a value, but does not resolve its variables. */
function templateOf(file: TextFile, { key, start, end, quote }: EnvAssignment): SourceMappedText {
  const mark = { via: 'variable', variable: key } as const;
  const raw = file.text.slice(start, end);
  if (quote === '' || !raw.includes('\\')) return createSourceMappedText(raw, file.path, start, mark);
  const text: string[] = [];
  const origins: CharacterOrigin[] = [];
  const pieces = quote === '"' ? /\\0(\d{0,3})|\\([abfnrtv"\\$])|./gs : /\\(')|./gs;
  for (const match of raw.matchAll(pieces)) {
    const [whole, first, second] = match;
    const value = quote === '"' ? unescaped(whole, first, second) : (first ?? whole);
    for (let i = 0; i < value.length; i += 1) {
      text.push(value.charAt(i));
      const length = i === 0 ? whole.length : 0;
      origins.push({
        source: file.path,
        offset: start + match.index + (i === 0 ? 0 : whole.length),
        length,
        ...mark,
      });
    }
  }
  return { text: text.join(''), origins };
}

function unescaped(whole: string, octal: string | undefined, letter: string | undefined): string {
  if (octal !== undefined) {
    const code = /^[0-7]{3}$/.test(octal) ? Number.parseInt(octal, 8) : Number.NaN;
    // Compose removes the first 0 of an escape even if no octal number follows.
    return code <= 0xff ? String.fromCharCode(code) : `\\${octal}`;
  }
  return letter === undefined ? whole : (escapes[letter] ?? whole);
}

/** Returns each unset variable once, in the order of the file. Comments and keys are ignored. */
export function findUnsetVariables(file: TextFile, variables: ComposeVariableLookup) {
  /** Required variables: `${V:?}`. */
  const required = new Set<string>();
  /** Unset variables for which compose uses an empty string: `${V}` without a default. */
  const empty = new Set<string>();
  const standIn = createSourceMappedText('1', '', -1, { via: 'variable' });
  for (const text of parseYamlStringValues(file)) {
    for (const name of findUnsetRequiredVariables(text, (each) => variables(each)?.text ?? null))
      required.add(name);
    const known: ComposeVariableLookup = (name) => variables(name) ?? (required.has(name) ? standIn : null);
    try {
      const { unset } = interpolate(createSourceMappedText(text, '', -1, { via: 'text' }), known, '');
      for (const name of unset) empty.add(name);
    } catch {
      // Compose rejects this text for a reason other than an unset variable.
    }
  }
  return { required: [...required], empty: [...empty] };
}
