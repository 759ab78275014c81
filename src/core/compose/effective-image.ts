import { UpdateError } from '../progress/update-error.ts';
import type { ScalarText } from './compose-file.ts';
import {
  extendedLayer,
  includedLayers,
  type Layer,
  placeOf,
  reachOf,
  resolvedText,
  rootLayers,
} from './layers.ts';
import { nameOf, type ProjectFiles } from './project-files.ts';

/** The `image` that wins for a service, and the file in which it is written. */
interface EffectiveImage {
  layer: Layer;
  image: ScalarText;
}

/**
 * The image that compose uses for a service: from the last `-f` file that sets it, through `extends` and `include`.
 * @throws UpdateError built-from-source, pin-unsupported where it comes from a file that is not at hand, no-app
 */
export function effectiveImage(files: ProjectFiles, service: string): EffectiveImage {
  const layers = rootLayers(files);
  const found = search(files, layers, service, new Set());
  if (found.image) return found.image;
  if (found.away) throw found.away;
  if (found.hasBuild) {
    throw new UpdateError(
      'built-from-source',
      `${service} is built from source in ${list(files)} and has no image`,
    );
  }
  if (found.isThere) {
    throw new UpdateError('compose-invalid', `${service} has neither image nor build in ${list(files)}`);
  }
  const included = reachOf(files).layers.filter(({ follows }) => follows);
  const services = [...new Set(included.flatMap(({ file }) => file.services))];
  throw new UpdateError('no-app', `there is no service ${service} in ${list(files)}`, {
    advice: `The files define these services: ${services.sort().join(', ') || 'none'}. Use --service to select the services to update.`,
  });
}

interface Found {
  image?: EffectiveImage;
  hasBuild: boolean;
  isThere: boolean;
  /** The image may be in a missing file. */
  away?: UpdateError;
}

/** Searches the files from the highest to the lowest precedence. */
function search(
  files: ProjectFiles,
  layers: readonly Layer[],
  service: string,
  seen: ReadonlySet<string>,
): Found {
  const found: Found = { hasBuild: false, isThere: false };
  for (const layer of layers.toReversed()) {
    const entry = layer.file.service(service);
    if (entry) merge(found, { isThere: true, hasBuild: entry.hasBuild });
    if (entry?.image) found.image = { layer, image: entry.image };
    // Compose 5.2 and later lay what the file says over what it includes, and look at `extends` last; an older one rejects a
    // service of both.
    else merge(found, searchIncludes(files, layer, service, seen));
    let isAway = false;
    if (!found.image && entry?.extends) {
      const { file, line } = entry.extends;
      const base = resolvedText(layer, entry.extends.service, placeOf(layer, line));
      const from = file === null ? layer : extendedLayer(files, layer, { path: file, line });
      if (from instanceof UpdateError) found.away ??= from;
      else {
        const step = `${from.file.file.path}\n${base}`;
        if (seen.has(step)) throw circular(layer, line, `circular extends: ${service} extends ${base}`);
        merge(found, search(files, [from], base, new Set(seen).add(step)));
      }
      isAway = found.away !== undefined;
    }
    if (found.image || isAway) break;
  }
  return found;
}

function searchIncludes(
  files: ProjectFiles,
  layer: Layer,
  service: string,
  seen: ReadonlySet<string>,
): Found {
  const found: Found = { hasBuild: false, isThere: false };
  // Where two of them have the service, compose 5.2 and later take what the first one says.
  for (const include of layer.follows ? layer.file.includes : []) {
    const from: Layer[] = [];
    for (const one of includedLayers(files, layer, include)) {
      if (one instanceof UpdateError) found.away ??= one;
      else from.push(one);
    }
    const step = `${layer.file.file.path}\n${layer.file.includes.indexOf(include)}`;
    if (seen.has(step)) throw circular(layer, include.paths[0]?.line ?? 1, 'circular include');
    merge(found, search(files, from, service, new Set(seen).add(step)));
    if (found.image) break;
  }
  return found;
}

function merge(found: Found, other: Found): void {
  found.hasBuild ||= other.hasBuild;
  found.isThere ||= other.isThere;
  if (other.image) found.image ??= other.image;
  if (other.away) found.away ??= other.away;
}

const circular = (layer: Layer, line: number, problem: string): UpdateError =>
  new UpdateError('compose-invalid', `${placeOf(layer, line)}: ${problem}`);

const list = (files: ProjectFiles): string =>
  files.composeFiles.map(({ path }) => nameOf(files, path)).join(', ') || 'no file';
