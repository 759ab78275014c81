import { readdirSync } from 'node:fs';
import { type EngineCallName, engineCalls } from '../../src/engine/engine-calls.ts';
import { codeOf, read, root, tablesOf } from './documents.ts';

/** Calls of the updater according to SECURITY.md, according to the source, and in the trace of a run. */

/** `docker compose pull`, or `GET /containers/{id}/json`. */
export type Call = string;

export interface Row {
  call: Call;
  /** Whether the traces of ordinary runs do not contain the call. */
  isRare: boolean;
}

const tables = tablesOf(read('SECURITY.md')).filter(({ head }) => head[0] === 'call');

/** The updater's calls. */
export const agentRows: readonly Row[] = (tables[0]?.rows ?? []).flatMap(([cell = '', , madeBy = '']) =>
  codeOf(cell).map((call) => ({ call, isRare: madeBy.startsWith('rarely') })),
);

/** The calls of the server library. */
export const libraryRows: readonly Row[] = (tables[1]?.rows ?? []).flatMap(([cell = '']) =>
  codeOf(cell).map((call) => ({ call, isRare: false })),
);

/** All calls in the trace of a run. @throws if a line of the trace has an unknown form */
export function callsOfTrace(log: string): Call[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('trace '))
    .map((line) => {
      const form =
        /^trace +\d+ – +\d+ ms {2}(?:docker (.*)|((?:GET|HEAD|POST|PUT|DELETE) \S+)) \((?:exit code|status) (?:\d+|null)\)$/;
      const [, args, request] = form.exec(line) ?? [];
      if (request !== undefined) return request;
      if (args === undefined) throw new Error(`no line of a trace: ${line}`);
      const [first = '', ...rest] = args.split(' ');
      return first === 'compose' ? `docker compose ${subcommandOf(rest)}` : `docker ${first}`;
    });
}

/** All flags before the subcommand have a value. */
function subcommandOf(words: readonly string[]): string {
  const at = words.findIndex((word, index) => !word.startsWith('--') && !words[index - 1]?.startsWith('--'));
  return words[at] ?? '';
}

/** Whether a row describes a call with real names and ids. */
export const covers = ({ call }: Row, seen: Call): boolean =>
  new RegExp(
    `^${call
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace('{reference}', '.+')
      .replace(/\{\w+\}/g, '[^/]+')}$`,
  ).test(seen);

/** Sources by their path. */
export function sources(): Map<string, string> {
  const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' });
  return new Map(files.filter((file) => file.endsWith('.ts')).map((file) => [file, read(`src/${file}`)]));
}

/** All commands in a source text, by the first words of their argument lists. */
export function commandsOfSource(text: string): Call[] {
  const lists = [
    ...text.matchAll(/\.call\(\s*\[([^\]]*)\]/g),
    ...text.matchAll(/\bconst requested = \[('[a-z][^\]]*)\]/g),
  ];
  return lists.map(([whole, list = '']) => {
    const words = [...list.matchAll(/'([^']*)'/g)].map(([, word = '']) => word);
    if (list.trimStart().startsWith('...this.#flags(')) return `docker compose ${subcommandOf(words)}`;
    const [first, second] = words;
    if (first === undefined) throw new Error(`nobody can tell what this runs: ${whole}`);
    return first === 'compose' ? `docker compose ${second}` : `docker ${first}`;
  });
}

/** Whether a source file belongs to the server library, not to the updater. */
export const isOfLibrary = (file: string): boolean => file.startsWith('server/');
export const isOfUpdater = (file: string): boolean =>
  /^(?:updater|engine\/(?:cli|containers|swarm))\//.test(file);

/** Calls of each method of the engine's classes, including those of methods that it uses. */
const callsOfMethods = (() => {
  const texts = [
    'src/engine/engine-request-sender.ts',
    'src/engine/engine-api.ts',
    'src/engine/cli/engine.ts',
  ].map(read);
  const parts = texts.flatMap((text) => [
    ...text.matchAll(/^ {2}(?:(?:async|protected|override|get) )*\*?(#?[a-z]\w*)\(.*?(?=^ {2}\}\n)/gms),
  ]);
  // A method of a subclass may call the method that it overrides.
  const methods = new Map<string, string>();
  for (const [text, name = ''] of parts) methods.set(name, (methods.get(name) ?? '') + text);
  const find = (name: string, seen = new Set<string>()): EngineCallName[] => {
    const text = methods.get(name);
    if (text === undefined || seen.has(name)) return [];
    seen.add(name);
    const used = [...text.matchAll(/this\.(#?\w+)\(/g)].flatMap(([, each = '']) => find(each, seen));
    return [...namedIn(text), ...used];
  };
  return new Map([...methods.keys()].map((name) => [name, find(name)]));
})();

function namedIn(text: string): EngineCallName[] {
  return (Object.keys(engineCalls) as EngineCallName[]).filter((name) => text.includes(`'${name}'`));
}

/** All requests to the engine's API in a source text. */
export function requestsOfSource(text: string): Call[] {
  const used = [...text.matchAll(/\.(\w+)\(/g)].flatMap(([, name = '']) => callsOfMethods.get(name) ?? []);
  return [...namedIn(text), ...used].map((name) => withoutNames(engineCalls[name].call));
}

/** `GET /containers/{}/json` */
export const withoutNames = (call: string): Call =>
  call
    .replace(/\$\{[^}]*\}/g, '{}')
    .replace(/\{\w+\}/g, '{}')
    .replace(/\?.*$/, '');
