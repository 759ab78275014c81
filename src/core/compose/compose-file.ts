import { isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { TextFile } from '../files/text-file.ts';
import { lineNumberOf } from './project-files.ts';
import { parseYamlDocuments, type YamlDocument } from './yaml-document.ts';

/** A YAML scalar as compose reads it, with unresolved variables. */
export interface ScalarText {
  text: string;
  line: number;
  /** Offset of the text in the file. The offset is negative if the file contains the text only escaped or folded. */
  start: number;
}

interface ExtendsLink {
  service: string;
  /** Path of the extended file, as written; null if the extended service is in the same file. */
  file: string | null;
  line: number;
}

/** Definition of a service in one compose file. */
interface ServiceEntry {
  line: number;
  image: ScalarText | null;
  hasBuild: boolean;
  extends: ExtendsLink | null;
  /** Paths in `env_file` as written, including optional files. */
  envFiles: FileReference[];
}

/** A value of `include`, `extends` or `env_file` that refers to another file. */
export interface FileReference {
  /** Path as written, with unresolved variables. */
  path: string;
  line: number;
}

/** Entry of `include` in its short form (a path) or its long form (a mapping). */
export interface IncludeEntry {
  /** Main file, followed by the files that override it. */
  paths: FileReference[];
  /** Path of the project directory, as written. Null means the directory of the main file. */
  projectDirectory: string | null;
  /** Env files, as written. Null means the `.env` file in the project directory. */
  envFiles: FileReference[] | null;
}

export interface ComposeFile {
  file: TextFile;
  documents: readonly YamlDocument[];
  serviceNames: string[];
  includes: IncludeEntry[];
  /** Files to which `extends` refers in the services of this file. */
  extendedFiles: FileReference[];
  getService(name: string): ServiceEntry | null;
}

const read = new WeakMap<TextFile, ComposeFile>();
/** Last parsed version of each file, keyed by path. It is reused if the text is unchanged, because parsing is slow. */
const latest = new Map<string, ComposeFile>();

/**
 * Parses a compose file, or returns the cached result.
 * @throws UpdateError compose-invalid with file and line
 */
export function getParsedComposeFile(file: TextFile): ComposeFile {
  const known = read.get(file);
  if (known) return known;
  const before = latest.get(file.path);
  const composeFile = before?.file.text === file.text ? before : parseComposeFile(file);
  read.set(file, composeFile);
  latest.set(file.path, composeFile);
  return composeFile;
}

export function parseComposeFile(file: TextFile): ComposeFile {
  // Compose merges the documents of a file as if they were separate files.
  const documents = parseYamlDocuments(file);
  const sections = documents.map((yaml) => ({ yaml, services: yaml.get(yaml.contents, 'services') }));
  const names = [...new Set(sections.flatMap(({ yaml, services }) => yaml.keys(services)))];
  return {
    file,
    documents,
    serviceNames: names,
    includes: documents.flatMap((yaml) => parseIncludeEntries(yaml, file)),
    extendedFiles: names.flatMap((name) => {
      const base = entryOf(name)?.extends;
      return base && base.file !== null ? [{ path: base.file, line: base.line }] : [];
    }),
    getService: entryOf,
  };

  function entryOf(name: string): ServiceEntry | null {
    let entry: ServiceEntry | null = null;
    for (const { yaml, services } of sections) {
      const node = yaml.get(services, name);
      if (!isMap(node)) continue;
      const own = parseServiceEntry(yaml, node, { file, name });
      entry = entry ? mergeServiceEntries(entry, own) : own;
    }
    return entry;
  }
}

function mergeServiceEntries(previous: ServiceEntry, later: ServiceEntry): ServiceEntry {
  return {
    line: previous.line,
    image: later.image ?? previous.image,
    hasBuild: later.hasBuild || previous.hasBuild,
    extends: later.extends ?? previous.extends,
    envFiles: [...previous.envFiles, ...later.envFiles],
  };
}

function parseServiceEntry(
  yaml: YamlDocument,
  service: Node,
  { file, name }: { file: TextFile; name: string },
): ServiceEntry {
  const image = yaml.get(service, 'image');
  const build = yaml.get(service, 'build');
  const base = yaml.get(service, 'extends');
  return {
    line: lineNumberOf(file, Math.max(0, file.text.lastIndexOf(name, service.range?.[0]))),
    image: isScalar(image) ? parseScalarText(image, file) : null,
    hasBuild: build !== null && !(isScalar(build) && build.value === null),
    extends: parseExtends(yaml, base, file),
    envFiles: parseFileReferences(yaml, yaml.get(service, 'env_file'), file),
  };
}

function parseExtends(yaml: YamlDocument, node: Node | null, source: TextFile): ExtendsLink | null {
  const service = stringOf(isMap(node) ? yaml.get(node, 'service') : node);
  if (service === null) return null;
  return {
    service,
    file: stringOf(yaml.get(node, 'file')),
    line: lineNumberOf(source, node?.range?.[0] ?? 0),
  };
}

function parseIncludeEntries(yaml: YamlDocument, file: TextFile): IncludeEntry[] {
  const list = yaml.get(yaml.contents, 'include');
  if (!isSeq(list)) return [];
  return list.items.map((item) => {
    const entry = yaml.resolveAlias(item);
    const envFiles = yaml.get(entry, 'env_file');
    return {
      paths: parseFileReferences(yaml, entry, file),
      projectDirectory: stringOf(yaml.get(entry, 'project_directory')),
      envFiles: envFiles === null ? null : parseFileReferences(yaml, envFiles, file),
    };
  });
}

/**
 * Parses an entry or a list of entries. An entry is a path, or a mapping whose `path` is one path or a list of paths.
 */
export function parseFileReferences(yaml: YamlDocument, node: Node | null, file: TextFile): FileReference[] {
  return (isSeq(node) ? node.items : [node]).flatMap((item) => {
    const entry = yaml.resolveAlias(item);
    const path = isMap(entry) ? yaml.get(entry, 'path') : entry;
    const paths = isSeq(path) ? path.items.map((one) => stringOf(yaml.resolveAlias(one))) : [stringOf(path)];
    const line = lineNumberOf(file, entry?.range?.[0] ?? 0);
    return paths.filter((one) => one !== null).map((one) => ({ path: one, line }));
  });
}

/** Returns null if the scalar has no value. */
function parseScalarText(node: Scalar, file: TextFile): ScalarText | null {
  if (node.value === null) return null;
  const value = node.source ?? String(node.value);
  const [from, to] = node.range ?? [0, 0];
  const written = file.text.slice(from, to);
  const quoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
  const isBlock = node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL';
  // Search from the end, because a comment in the block header may contain the same text as the value.
  const inside = isBlock ? written.lastIndexOf(value) : quoted ? 1 : 0;
  const exact = inside >= 0 && written.startsWith(value, inside);
  const whole = isBlock || written.length === value.length + (quoted ? 2 : 0);
  const start = exact && whole ? from + inside : -1;
  return { text: value, line: lineNumberOf(file, start < 0 ? from : start), start };
}

const stringOf = (node: unknown): string | null =>
  isScalar(node) && node.value !== null ? String(node.value) : null;
