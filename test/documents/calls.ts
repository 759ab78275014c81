import { readdirSync } from 'node:fs';
import { type EngineCallName, engineCalls } from '../../src/engine/engine-calls.ts';
import { codeOf, read, root, tablesOf } from './documents.ts';

/** What SECURITY.md says that the updater calls, and what the source and the trace of a run show of that. */

/** `docker compose pull`, or `GET /containers/{id}/json`. */
export type Call = string;

export interface Row {
  call: Call;
  /** No ordinary run shows it in its trace. */
  isRare: boolean;
}

const tables = tablesOf(read('SECURITY.md')).filter(({ head }) => head[0] === 'call');

/** The updater's calls. */
export const agentRows: readonly Row[] = (tables[0]?.rows ?? []).flatMap(([cell = '', , madeBy = '']) =>
  codeOf(cell).map((call) => ({ call, isRare: madeBy.startsWith('rarely') })),
);

/** The server library's. */
export const libraryRows: readonly Row[] = (tables[1]?.rows ?? []).flatMap(([cell = '']) =>
  codeOf(cell).map((call) => ({ call, isRare: false })),
);

/** Every call in the trace of a run. @throws where a line of the trace has another form */
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

/** The flags before it all take a value. */
function subcommandOf(words: readonly string[]): string {
  const at = words.findIndex((word, index) => !word.startsWith('--') && !words[index - 1]?.startsWith('--'));
  return words[at] ?? '';
}

/** Whether a row speaks of a call with real names and ids in it. */
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

/** Every command that a source text runs, by the first words of its list of arguments. */
export function commandsOfSource(text: string): Call[] {
  const lists = [
    ...text.matchAll(/\.call\(\s*\[([^\]]*)\]/g),
    ...text.matchAll(/\bconst asked = \[('[a-z][^\]]*)\]/g),
  ];
  return lists.map(([whole, list = '']) => {
    const words = [...list.matchAll(/'([^']*)'/g)].map(([, word = '']) => word);
    if (list.trimStart().startsWith('...this.#flags(')) return `docker compose ${subcommandOf(words)}`;
    const [first, second] = words;
    if (first === undefined) throw new Error(`nobody can tell what this runs: ${whole}`);
    return first === 'compose' ? `docker compose ${second}` : `docker ${first}`;
  });
}

/** Whether a source file is of the server library, or of the updater. */
export const isOfLibrary = (file: string): boolean => file.startsWith('server/');
export const isOfUpdater = (file: string): boolean =>
  /^(?:updater|engine\/(?:cli|containers|swarm))\//.test(file);

/** The calls behind each method of the engine's classes, through the methods that it uses. */
const callsOfMethods = (() => {
  const texts = ['src/engine/engine-requests.ts', 'src/engine/engine-api.ts', 'src/engine/cli/engine.ts'].map(
    read,
  );
  const parts = texts.flatMap((text) => [
    ...text.matchAll(/^ {2}(?:(?:async|protected|override|get) )*\*?(#?[a-z]\w*)\(.*?(?=^ {2}\}\n)/gms),
  ]);
  const methods = new Map(parts.map(([text, name = '']) => [name, text]));
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

/** Every request to the engine's API that a source text makes. */
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
