import { dirname } from 'node:path';
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { TextFile } from '../../files/text-file.ts';
import {
  type ComposeFile,
  type FileReference,
  getParsedComposeFile,
  parseFileReferences,
} from '../compose-file.ts';
import {
  type ComposeSource,
  resolveIncludeTree,
  resolveReferencedPath,
  resolveTextVariables,
} from '../include-tree.ts';
import { listEnvFiles, type ProjectFiles, projectDirectoryOf } from '../project-files.ts';
import { listEnvFileValues } from '../variables.ts';
import type { YamlDocument } from '../yaml-document.ts';
import {
  findCommentedOutSecrets,
  findKeyedSecrets,
  findLineSecrets,
  type SecretText,
  splitIntoSecretTexts,
} from './secret-lines.ts';

// The functions in this file find a project's secrets (docs/contract.md 6.6). They never throw, because secrets must be
// masked even if compose rejects a file: its error message quotes the rejected text.

/** Returns all values in env files, as compose reads them. If compose rejects a file, it is searched line by line. */
export function findEnvFileSecrets(files: readonly TextFile[]): SecretText[] {
  const valuesOf = (some: readonly TextFile[]) => tryRead(() => listEnvFileValues(some));
  const readable = files.filter((file) => valuesOf([file]) !== null);
  const unreadable = files.filter((file) => !readable.includes(file));
  return [...(valuesOf(readable) ?? []), ...unreadable.flatMap(({ text }) => findLineSecrets(text))];
}

/** Returns paths of files that may contain secrets. `configFiles` includes the files to which `label_file` refers. */
export function listPossibleSecretFiles(
  files: ProjectFiles,
): Record<'envFiles' | 'secretFiles' | 'configFiles', string[]> {
  const [envFiles, secretFiles, configFiles] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const layer of layersOf(files)) {
    const { file } = layer;
    const add = (paths: Set<string>, links: () => readonly FileReference[]) => {
      for (const link of tryRead(links) ?? []) tryRead(() => paths.add(resolveReferencedPath(layer, link)));
    };
    for (const name of file.serviceNames) add(envFiles, () => file.getService(name)?.envFiles ?? []);
    add(secretFiles, () => linksIn(file, 'secrets', 'file'));
    add(configFiles, () => linksIn(file, 'configs', 'file'));
    add(configFiles, () => linksIn(file, 'services', 'label_file'));
  }
  for (const { path } of listEnvFiles(files)) envFiles.delete(path);
  return { envFiles: [...envFiles], secretFiles: [...secretFiles], configFiles: [...configFiles] };
}

const linksIn = (file: ComposeFile, section: string, key: string): FileReference[] =>
  entriesOf(file, section).flatMap(({ yaml, entry }) =>
    parseFileReferences(yaml, yaml.get(entry, key), file.file),
  );

/** Returns texts that must stay readable: service names, and images both as written and with variables resolved. */
export const listUnmaskedTexts = (files: ProjectFiles): { services: string[]; images: string[] } => {
  const layers = layersOf(files);
  return {
    services: layers.flatMap(({ file }) => file.serviceNames),
    images: layers.flatMap((layer) =>
      layer.file.serviceNames.flatMap((name) => {
        const image = tryRead(() => layer.file.getService(name)?.image) ?? null;
        return image === null ? [] : written(layer, '', image.text).map(({ value }) => value);
      }),
    ),
  };
};

/**
 * Returns the values of environment variables, the contents of inline configs and secrets, and values whose names
 * suggest a secret.
 */
export function findProjectSecrets(files: ProjectFiles): SecretText[] {
  const composeFiles = [...files.composeFiles, ...(files.linkedFiles ?? [])];
  return [
    ...findEnvFileSecrets(listEnvFiles(files)),
    ...listEnvFiles(files).flatMap(({ text }) => findCommentedOutSecrets(text)),
    ...layersOf(files).flatMap((layer) => [
      ...(tryRead(() => findEnvironmentValues(layer)) ?? []),
      ...(tryRead(() => findInlineContents(layer)) ?? []),
    ]),
    ...composeFiles.flatMap((file) => {
      const isReadable = tryRead(() => getParsedComposeFile(file)) !== null;
      return isReadable
        ? [...findCommentedOutSecrets(file.text), ...findKeyedSecrets(file.text)]
        : findLineSecrets(file.text);
    }),
  ];
}

const hooks = ['post_start', 'pre_stop', 'pre_start'] as const;

/** Returns the values in `environment` of all services and of their lifecycle hooks. */
function findEnvironmentValues(layer: ComposeSource): SecretText[] {
  return entriesOf(layer.file, 'services').flatMap(({ yaml, entry }) => {
    const commands = hooks.flatMap((key) => {
      const list = yaml.get(entry, key);
      return isSeq(list) ? list.items.map((item) => yaml.resolveAlias(item)) : [];
    });
    return [entry, ...commands].flatMap((node) =>
      valuesIn(layer, { yaml, entry: yaml.get(node, 'environment') }),
    );
  });
}

function valuesIn(layer: ComposeSource, { yaml, entry: environment }: Entry): SecretText[] {
  if (isSeq(environment)) {
    return environment.items.flatMap((item) => {
      const text = textOf(yaml.resolveAlias(item)) ?? '';
      const at = text.indexOf('=');
      return at < 0 ? [] : written(layer, text.slice(0, at), text.slice(at + 1));
    });
  }
  return yaml.keys(environment).flatMap((key) => {
    const node = yaml.get(environment, key);
    const text = textOf(node);
    if (text === null) return [];
    // A value that is folded over several lines has line breaks in the file, but not in compose. Both forms are
    // secrets.
    const [from = 0, to = 0] = node?.range ?? [];
    const source = layer.file.file.text.slice(from, to);
    return [...written(layer, key, text), ...(source.includes('\n') ? [{ key, value: source }] : [])];
  });
}

function findInlineContents(layer: ComposeSource): SecretText[] {
  const entries = [...entriesOf(layer.file, 'configs'), ...entriesOf(layer.file, 'secrets')];
  return entries.flatMap(({ yaml, entry }) => {
    const content = textOf(yaml.get(entry, 'content'));
    const variable = textOf(yaml.get(entry, 'environment'));
    const value = variable === null ? null : tryRead(() => layer.variables(variable));
    return [
      ...(content === null ? [] : written(layer, '', content)),
      ...(value === null ? [] : [{ key: '', value: value.text }]),
    ].flatMap((secret) => splitIntoSecretTexts(secret.value));
  });
}

/** Returns a value as written and, if possible, with its variables resolved. */
function written(layer: ComposeSource, key: string, text: string): SecretText[] {
  const resolved = tryRead(() => resolveTextVariables(layer, text, key));
  return [...new Set([text, resolved ?? text])].map((value) => ({ key, value }));
}

/** Returns the files in the include tree. If the tree cannot be resolved, each file is parsed separately. */
function layersOf(files: ProjectFiles): ComposeSource[] {
  const reached = tryRead(() => resolveIncludeTree(files).sources);
  if (reached !== null) return reached;
  return [...files.composeFiles, ...(files.linkedFiles ?? [])].flatMap((file): ComposeSource[] => {
    const read = tryRead(() => getParsedComposeFile(file));
    if (read === null) return [];
    const base = files.composeFiles.includes(file) ? projectDirectoryOf(files) : dirname(file.path);
    return [{ file: read, name: file.path, base, variables: () => null, followsIncludes: true }];
  });
}

interface Entry {
  yaml: YamlDocument;
  entry: Node | null;
}

/** Returns the entries of a section (`services`, `configs`, `secrets`) in all documents of a file. */
function entriesOf({ documents }: ComposeFile, section: string): Entry[] {
  return documents.flatMap((yaml) => {
    const map = yaml.get(yaml.contents, section);
    if (!isMap(map)) return [];
    return yaml.keys(map).map((name) => ({ yaml, entry: yaml.get(map, name) }));
  });
}

const textOf = (node: Node | null): string | null =>
  isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : null;

function tryRead<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
