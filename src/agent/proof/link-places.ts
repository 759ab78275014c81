import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { ComposeFile } from '../../compose/compose-file.ts';
import type { YamlDocument } from '../../compose/yaml-document.ts';

/** Where the path of an `include` or `extends` is written. */
export interface LinkPlace {
  /** As written, with variables. */
  path: string;
  /** Offset of its first character; an alias has that of what it stands for. */
  start: number;
}

/** All paths by which `include` and `extends` lead to another file, or say from where one starts. */
export function linkPlaces({ documents }: ComposeFile): LinkPlace[] {
  const places = documents.flatMap((yaml) => [
    ...includePlaces(yaml, yaml.get(yaml.contents, 'include')),
    ...extendsPlaces(yaml, yaml.get(yaml.contents, 'services')),
  ]);
  return [...new Map(places.map((place) => [place.start, place])).values()];
}

function includePlaces(yaml: YamlDocument, list: Node | null): LinkPlace[] {
  return (isSeq(list) ? list.items : []).flatMap((item) => {
    const entry = yaml.follow(item);
    if (!isMap(entry)) return placesIn(yaml, entry);
    return ['path', 'project_directory', 'env_file'].flatMap((key) => placesIn(yaml, yaml.get(entry, key)));
  });
}

const extendsPlaces = (yaml: YamlDocument, services: Node | null): LinkPlace[] =>
  yaml
    .keys(services)
    .flatMap((name) => placesIn(yaml, yaml.get(yaml.get(yaml.get(services, name), 'extends'), 'file')));

/** Of one path or a list; each a text or a mapping with `path`. */
function placesIn(yaml: YamlDocument, node: unknown): LinkPlace[] {
  const found = yaml.follow(node);
  if (isSeq(found)) return found.items.flatMap((item) => placesIn(yaml, item));
  if (isMap(found)) return placesIn(yaml, yaml.get(found, 'path'));
  if (!isScalar(found) || typeof found.value !== 'string') return [];
  const [from = 0] = found.range ?? [];
  const isQuoted = found.type === 'QUOTE_DOUBLE' || found.type === 'QUOTE_SINGLE';
  // A path in a block begins below its head.
  return found.type === 'PLAIN' || isQuoted ? [{ path: found.value, start: isQuoted ? from + 1 : from }] : [];
}
