import { basename } from 'node:path';
import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type ParsedNode,
  Parser,
  visit,
  type YAMLMap,
} from 'yaml';
import { UpdateError } from '../errors/update-error.ts';
import type { TextFile } from '../files/text-file.ts';
import { formatOffsetLocation } from './project-files.ts';

// Limits that prevent a crafted file from exhausting the machine. No real file reaches them.
const largest = 5 * 1024 * 1024;
const deepest = 400;

// A lone carriage return ends a line in YAML. It is replaced with a line feed, which keeps all offsets.
const loneReturn = /\r(?!\n)/g;

type Fail = (offset: number, message: string) => never;

/** A parsed YAML document. Aliases and merge keys are followed, but never expanded. */
export interface YamlDocument {
  contents: Node | null;
  /** Returns the node itself, or the target of an alias. */
  resolveAlias(node: unknown): Node | null;
  /** Returns a mapping's value. The mapping's own keys take precedence over merged keys. */
  get(map: unknown, key: string): Node | null;
  /** Returns the keys of a mapping, including merged keys. */
  keys(map: unknown): string[];
}

/** @throws UpdateError compose-invalid with file and line */
export function parseYamlDocuments(file: TextFile): YamlDocument[] {
  const { documents, fail } = composeDocuments(file);
  return documents.map((document) => createYamlDocument(document, fail));
}

/**
 * Returns all values that are strings, but no keys. A value with several aliases is returned once.
 * @throws UpdateError compose-invalid with file and line
 */
export function parseYamlStringValues(file: TextFile): string[] {
  const texts: string[] = [];
  for (const document of composeDocuments(file).documents) {
    visit(document, {
      Scalar(key, node) {
        if (key !== 'key' && typeof node.value === 'string') texts.push(node.value);
      },
    });
  }
  return texts;
}

function composeDocuments(file: TextFile): { documents: Document.Parsed<ParsedNode>[]; fail: Fail } {
  if (file.text.length > largest) {
    const size = Math.ceil(file.text.length / 1024 / 1024);
    const message = `${basename(file.path)} is ${size} MiB, but a compose file may have at most 5 MiB`;
    throw new UpdateError('compose-invalid', message);
  }
  const fail: Fail = (offset, message) => {
    throw new UpdateError('compose-invalid', `${formatOffsetLocation(file, offset)}: ${message}`);
  };
  const composer = new Composer({ prettyErrors: false, keepSourceTokens: false });
  const documents = [...composer.compose(tokenize(file.text.replace(loneReturn, '\n'), fail))];
  for (const { errors } of documents) {
    const [error] = errors;
    if (error) fail(error.pos[0], error.message);
  }
  return { documents, fail };
}

/** Like `Parser.parse`, but limits the nesting depth, because the `Composer` of the yaml package is recursive. */
function* tokenize(text: string, fail: Fail) {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > deepest) fail(parser.offset, 'nested too deeply');
  }
  yield* parser.end();
}

function createYamlDocument(document: Document.Parsed<ParsedNode>, fail: Fail): YamlDocument {
  const targets = aliasTargets(document, fail);
  const entries = new WeakMap<YAMLMap, Map<string, unknown>>();

  function follow(node: unknown): Node | null {
    // An alias is followed only once, because its target is never another alias.
    const target = isAlias(node) ? targets.get(node) : node;
    return isMap(target) || isSeq(target) || isScalar(target) ? target : null;
  }

  /** Yields a mapping and all mappings that are merged into it, in order of precedence. */
  function* layers(start: unknown, above: Set<Node>, seen: Set<Node>): Generator<YAMLMap> {
    const map = follow(start);
    if (!isMap(map)) return;
    if (above.has(map)) fail(map.range?.[0] ?? 0, 'an alias contains itself');
    // Skip a mapping that was already visited, because alias bombs rely on repeated visits to the same node.
    if (seen.has(map)) return;
    seen.add(map);
    yield map;
    for (const { key, value } of map.items) {
      if (!isMergeKey(key)) continue;
      const merged = follow(value);
      const below = new Set(above).add(map);
      for (const item of isSeq(merged) ? merged.items : [merged]) yield* layers(item, below, seen);
    }
  }

  /**
   * Returns the mapping's own entries. The result is cached, because a large file is queried for each of its services.
   */
  function entriesOf(map: YAMLMap): Map<string, unknown> {
    const known = entries.get(map);
    if (known) return known;
    const own = new Map(
      map.items.flatMap(({ key, value }) => {
        const name = isMergeKey(key) ? null : follow(key);
        return isScalar(name) ? [[name.source ?? String(name.value), value] as const] : [];
      }),
    );
    entries.set(map, own);
    return own;
  }

  return {
    contents: document.contents,
    resolveAlias: follow,
    get(map, key) {
      for (const layer of layers(map, new Set(), new Set())) {
        const own = entriesOf(layer);
        if (own.has(key)) return follow(own.get(key));
      }
      return null;
    },
    keys(map) {
      const names = [...layers(map, new Set(), new Set())].flatMap((layer) => [...entriesOf(layer).keys()]);
      return [...new Set(names)];
    },
  };
}

/** Some tools write the merge key `<<` as `!!merge <<`. */
const isMergeKey = (key: unknown): boolean => isScalar(key) && key.source === '<<' && key.type === 'PLAIN';

/** An alias refers to the last preceding node with the same anchor. */
function aliasTargets(document: Document.Parsed<ParsedNode>, fail: Fail): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias(_, alias) {
      const target = anchors.get(alias.source);
      if (target) targets.set(alias, target);
      else fail(alias.range?.[0] ?? 0, `the alias *${alias.source} has no anchor`);
    },
    Value(_, node) {
      if (node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}
