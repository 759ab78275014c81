import { UpdateError } from '../../errors/update-error.ts';
import { type PinTag, parsePinTag, versionRangeOf } from '../../release/pin-tag.ts';
import type { ScalarText } from '../compose-file.ts';
import {
  type ComposeSource,
  formatLineLocation,
  listRootSources,
  resolveExtendedSource,
  resolveIncludedSources,
  resolveIncludeTree,
  resolveTextVariables,
} from '../include-tree.ts';
import { type ComposeVariableLookup, interpolate } from '../interpolation.ts';
import { displayPathOf, findProjectFile, lineNumberOf, type ProjectFiles } from '../project-files.ts';
import {
  createSourceMappedText,
  type SourceMappedText,
  type SourceSegment,
  splitIntoSourceSegments,
} from '../source-map.ts';
import { parseImageReference } from './image-reference.ts';
import type { Pin, PinLocation } from './pin.ts';

/**
 * Finds the pin of a service: its image reference and the location that sets the tag.
 * @throws UpdateError pin-digest, built-from-source, pin-unsupported, compose-invalid, no-app
 */
export function requirePin(files: ProjectFiles, service: string): Pin {
  const { source: layer, image } = findEffectiveImage(files, service);
  const { file } = layer.file;
  const where = `image of ${service} in ${layer.name} line ${image.line}`;
  const template = createSourceMappedText(image.text, file.path, image.start, { via: 'text' });
  const resolved = interpolate(template, layer.variables, where);
  const reference = parseImageReference(resolved.text);
  if (!reference) {
    const unset = resolved.unset.join(' and ');
    const why = unset && `; ${unset} is not set`;
    // The value of a YAML block scalar ends with a line feed, which would split the message into two lines.
    const shown = resolved.text.replaceAll('\n', '⏎');
    throw new UpdateError(
      'compose-invalid',
      `${where} resolves to "${shown}", which is not an image reference${why}`,
      unset ? { advice: `Set ${unset} in ${files.newEnvFile}, then run {command} again.` } : {},
    );
  }
  if (reference.digest !== null && reference.tag === null) {
    throw new UpdateError('pin-digest', `${where} has a digest but no tag, so its release is unknown`);
  }
  const tag = parsePinTag(reference.tag ?? 'latest');
  const { tagStart } = reference;
  if (tag.kind === 'release') {
    const names = variablesIn(template, layer.variables, [tagStart, tagStart + tag.text.length], where);
    if (names.length > 1) throw createSeveralVariablesError(where, tag, names);
  }
  const inImage: PinLocation = { kind: 'literal', file: file.path, description: where };
  const location: PinLocation =
    reference.tag === null
      ? { ...inImage, kind: 'absent', description: `${where}, which has no tag` }
      : findTagLocation(files, service, inImage, findMainTagSegment(tag, resolved, tagStart, where));
  return { service, reference, referenceText: resolved.text, tag, location: location, resolved };
}

/**
 * Returns the tag of a service as written, with its variable. If the tag cannot be separated from the repository, returns
 * the resolved tag.
 */
export function findWrittenTag(files: ProjectFiles, service: string): string {
  const { image } = findEffectiveImage(files, service);
  const [, written] = /:((?:\$\{[^{}]*\}|[\w.$-])+)(?:@.*)?$/s.exec(image.text) ?? [];
  return written ?? requirePin(files, service).tag.text;
}

/** Returns null if the pin cannot be read or changed. */
export function findUsablePin(files: ProjectFiles, service: string): Pin | null {
  try {
    return requirePin(files, service);
  } catch (error) {
    if (error instanceof UpdateError) return null;
    throw error;
  }
}

/** Whether the tag of the service is at the same position in a file as the tag of one of the pins. */
export function isPinShared(files: ProjectFiles, service: string, pins: readonly Pin[]): boolean {
  const pin = findUsablePin(files, service);
  const own = pin && tagPositionOf(pin);
  return own !== null && pins.some((each) => tagPositionOf(each) === own);
}

/**
 * Two pins are the same if their tags are at the same position in a file, or use the same variable with any default.
 */
export function isSamePin(a: Pin, b: Pin): boolean {
  const { variable } = a.location;
  if (variable !== undefined && variable === b.location.variable) return true;
  const own = tagPositionOf(a);
  return own !== null && own === tagPositionOf(b);
}

function tagPositionOf({ reference, resolved }: Pin): string | null {
  const origin = resolved.origins[reference.tag === null ? reference.tagStart - 1 : reference.tagStart];
  return origin && origin.offset >= 0 ? `${origin.source}\n${origin.offset}` : null;
}

/**
 * Returns the variables to which a range of the template refers directly. Variables in their values are not included.
 */
function variablesIn(
  template: SourceMappedText,
  lookup: ComposeVariableLookup,
  range: readonly [start: number, end: number],
  where: string,
): string[] {
  const opaque: ComposeVariableLookup = (variable) => {
    const value = lookup(variable);
    return value && createSourceMappedText(value.text, '', -1, { via: 'variable', variable });
  };
  const parts = splitIntoSourceSegments(interpolate(template, opaque, where), ...range);
  return [...new Set(parts.flatMap(({ variable }) => variable ?? []))];
}

const createSeveralVariablesError = (
  where: string,
  { text }: PinTag,
  names: readonly (string | undefined)[],
): UpdateError =>
  new UpdateError('pin-unsupported', `${where} combines ${names.join(' and ')} into one tag, ${text}`, {
    advice: 'Use a single variable for the tag, or change the version manually.',
  });

/**
 * Returns the location of the version in a tag. If the version is escaped or not in a file, returns the location of the
 * image.
 */
function findTagLocation(
  files: ProjectFiles,
  service: string,
  image: PinLocation,
  main: SourceSegment,
): PinLocation {
  const { source, start, via, variable } = main;
  const file = findProjectFile(files, source);
  if (start < 0 || !file) return image;
  const here = `${displayPathOf(files, source)} line ${lineNumberOf(file, start)}`;
  if (variable === undefined)
    return { kind: 'literal', file: source, description: `image of ${service} in ${here}` };
  return via === 'default'
    ? { kind: 'default', file: source, variable, description: `the default of ${variable} in ${here}` }
    : { kind: 'variable', file: source, variable, description: `${variable} in ${here}` };
}

/** Returns the part of the tag that contains the version. A variable is preferred to literal text. */
function findMainTagSegment(
  tag: PinTag,
  resolved: SourceMappedText,
  start: number,
  where: string,
): SourceSegment {
  const [from, to] = versionRangeOf(tag);
  const carrying = splitIntoSourceSegments(resolved, start + from, start + to);
  const variables = carrying.filter(({ via }) => via !== 'text');
  const distinct = new Set(variables.map(({ source, start: at }) => `${source}\n${at}`));
  if (tag.kind === 'release' && distinct.size > 1) {
    throw createSeveralVariablesError(where, tag, [...new Set(variables.map(({ variable }) => variable))]);
  }
  const part = variables[0] ?? carrying[0];
  if (!part) throw new RangeError('a tag without text');
  const whole = splitIntoSourceSegments(resolved, start, start + tag.text.length).find(
    (each) => each.source === part.source && each.start <= part.start && part.end <= each.end,
  );
  const main = whole ?? part;
  if (tag.kind === 'release' && main.start < 0) {
    throw new UpdateError(
      'pin-unsupported',
      `the tag in ${where} cannot be edited, because it contains escapes or comes from outside the files`,
    );
  }
  return main;
}

/** @throws UpdateError pin-unsupported if compose and the updater resolve the image to different values */
export function requirePinMatchesModel(pin: Pin, image: string | undefined): void {
  if (image === undefined || image === pin.referenceText) return;
  throw new UpdateError(
    'pin-unsupported',
    `compose resolves the image of ${pin.service} to ${image}, but ${pin.location.description} resolves to ${pin.referenceText}`,
  );
}

/** The image that compose uses for a service, and the compose file that sets it. */
interface EffectiveImage {
  source: ComposeSource;
  image: ScalarText;
}

/**
 * Returns the image from the last `-f` file that sets one for the service, even through `extends` or `include`.
 * @throws UpdateError built-from-source; no-app; compose-invalid if a file that may set the image is missing, or if the
 * service has no image
 */
function findEffectiveImage(files: ProjectFiles, service: string): EffectiveImage {
  const layers = listRootSources(files);
  const found = searchImage(files, layers, service, new Set());
  if (found instanceof UpdateError) throw found;
  switch (found) {
    case 'build':
      throw new UpdateError(
        'built-from-source',
        `${service} is built from source in ${formatFileNames(files)} and has no image`,
      );
    case 'no-image':
      throw new UpdateError(
        'compose-invalid',
        `${service} has neither image nor build in ${formatFileNames(files)}`,
      );
    case 'no-service': {
      const included = resolveIncludeTree(files).sources.filter(({ followsIncludes: follows }) => follows);
      const services = [...new Set(included.flatMap(({ file }) => file.serviceNames))];
      throw new UpdateError('no-app', `there is no service ${service} in ${formatFileNames(files)}`, {
        advice: `The files define these services: ${services.sort().join(', ') || 'none'}. Use --service to select the services to update.`,
      });
    }
    default:
      return found;
  }
}

/** The image, the error for a missing file that may contain the image, or the reason why there is no image. */
type ImageSearchResult = EffectiveImage | UpdateError | 'build' | 'no-image' | 'no-service';

const isImage = (found: ImageSearchResult): found is EffectiveImage =>
  typeof found === 'object' && !(found instanceof UpdateError);

/**
 * Results rank in this order: an image, an error, `build`, `no-image`, `no-service`. If the ranks are equal, `first` is
 * returned.
 */
function pickHigherRanked(first: ImageSearchResult, second: ImageSearchResult): ImageSearchResult {
  const rankOf = (found: ImageSearchResult) => {
    if (isImage(found)) return 4;
    return found instanceof UpdateError ? 3 : ['no-service', 'no-image', 'build'].indexOf(found);
  };
  return rankOf(second) > rankOf(first) ? second : first;
}

/** Searches the files from the highest to the lowest precedence. */
function searchImage(
  files: ProjectFiles,
  layers: readonly ComposeSource[],
  service: string,
  seen: ReadonlySet<string>,
): ImageSearchResult {
  let found: ImageSearchResult = 'no-service';
  for (const layer of layers.toReversed()) {
    const entry = layer.file.getService(service);
    if (entry?.image) return { source: layer, image: entry.image };
    if (entry) found = pickHigherRanked(found, entry.hasBuild ? 'build' : 'no-image');
    // Compose 5.2 and later merge a file over the files it includes, and evaluate `extends` last. Older versions reject
    // a service that is defined both in a file and in a file it includes.
    found = pickHigherRanked(found, searchIncludedImage(files, layer, service, seen));
    if (!isImage(found) && entry?.extends) {
      const { file, line } = entry.extends;
      const base = resolveTextVariables(layer, entry.extends.service, formatLineLocation(layer, line));
      const from = file === null ? layer : resolveExtendedSource(files, layer, { path: file, line });
      if (from instanceof UpdateError) return pickHigherRanked(found, from);
      const step = `${from.file.file.path}\n${base}`;
      if (seen.has(step))
        throw createCircularError(layer, line, `circular extends: ${service} extends ${base}`);
      found = pickHigherRanked(found, searchImage(files, [from], base, new Set(seen).add(step)));
      if (found instanceof UpdateError) return found;
    }
    if (isImage(found)) return found;
  }
  return found;
}

function searchIncludedImage(
  files: ProjectFiles,
  layer: ComposeSource,
  service: string,
  seen: ReadonlySet<string>,
): ImageSearchResult {
  let found: ImageSearchResult = 'no-service';
  // If two `include` entries define the service, compose 5.2 and later use the first definition.
  for (const include of layer.followsIncludes ? layer.file.includes : []) {
    const from: ComposeSource[] = [];
    for (const one of resolveIncludedSources(files, layer, include)) {
      if (one instanceof UpdateError) found = pickHigherRanked(found, one);
      else from.push(one);
    }
    const step = `${layer.file.file.path}\n${layer.file.includes.indexOf(include)}`;
    if (seen.has(step)) throw createCircularError(layer, include.paths[0]?.line ?? 1, 'circular include');
    found = pickHigherRanked(found, searchImage(files, from, service, new Set(seen).add(step)));
    if (isImage(found)) break;
  }
  return found;
}

const createCircularError = (layer: ComposeSource, line: number, problem: string): UpdateError =>
  new UpdateError('compose-invalid', `${formatLineLocation(layer, line)}: ${problem}`);

const formatFileNames = (files: ProjectFiles): string =>
  files.composeFiles.map(({ path }) => displayPathOf(files, path)).join(', ') || 'no file';
