import type { TextFile } from '../files/text-file.ts';
import { UpdateError } from '../progress/update-error.ts';
import { type PinTag, parsePinTag, versionRange } from '../release/pin-tag.ts';
import { effectiveImage } from './effective-image.ts';
import { interpolate, type Lookup } from './interpolation.ts';
import type { Pin, PinPlace } from './pin.ts';
import { fileOf, lineAt, nameOf, type ProjectFiles } from './project-files.ts';
import { parseReference, type Reference } from './reference.ts';
import { type Segment, segments, type TracedText, trace } from './traced.ts';

/**
 * Where the tag of a service's image comes from.
 * @throws UpdateError pin-digest, built-from-source, pin-unsupported, compose-invalid, no-app
 */
export function findPin(files: ProjectFiles, service: string): Pin {
  const { layer, image } = effectiveImage(files, service);
  const { file } = layer.file;
  const where = `image of ${service} in ${layer.name} line ${image.line}`;
  const template = trace(image.text, file.path, image.start, { via: 'text' });
  const resolved = interpolate(template, layer.variables, where);
  const reference = parseReference(resolved.text);
  if (!reference) {
    const why = resolved.unset.length > 0 ? `; ${resolved.unset.join(' and ')} is not set` : '';
    // A block text ends with a line feed, which must not break the sentence in two.
    const shown = resolved.text.replaceAll('\n', '⏎');
    throw new UpdateError(
      'compose-invalid',
      `${where} resolves to "${shown}", which is no image reference${why}`,
      resolved.unset.length > 0
        ? { advice: `Set ${resolved.unset.join(' and ')} in ${files.newEnvFile}, then run the update again.` }
        : {},
    );
  }
  if (reference.digest !== null && reference.tag === null) {
    throw new UpdateError('pin-digest', `${where} is pinned by a digest alone, which names no release`);
  }
  const tag = parsePinTag(reference.tag ?? 'latest');
  if (tag.kind === 'release') {
    const names = variablesOfTag(template, layer.variables, reference, where);
    if (names.length > 1) throw severalVariables(where, tag.text, names);
  }
  const context = { files, service, where, file, line: image.line };
  const place =
    reference.tag === null ? absentPlace(context) : tagPlace(context, tag, resolved, reference.tagStart);
  return { service, reference, referenceText: resolved.text, tag, place, resolved };
}

/** Whether the version of another service is written in the same place as one of these. */
export function sharesPin(files: ProjectFiles, service: string, pins: readonly Pin[]): boolean {
  try {
    const own = writtenAt(findPin(files, service));
    return own !== null && pins.some((pin) => writtenAt(pin) === own);
  } catch (error) {
    // A service whose pin cannot be read shares none that could be moved.
    if (error instanceof UpdateError) return false;
    throw error;
  }
}

/** Whether one text decides both versions: the same place, or one variable, even where each image has its own default. */
export function isOnePin(a: Pin, b: Pin): boolean {
  const { variable } = a.place;
  if (variable !== undefined && variable === b.place.variable) return true;
  const own = writtenAt(a);
  return own !== null && own === writtenAt(b);
}

function writtenAt({ reference, resolved }: Pin): string | null {
  const origin = resolved.origins[reference.tag === null ? reference.tagStart - 1 : reference.tagStart];
  return origin && origin.offset >= 0 ? `${origin.source}\n${origin.offset}` : null;
}

/** The variables that the tag is written with, whatever these are made of in their turn. */
function variablesOfTag(template: TracedText, lookup: Lookup, reference: Reference, where: string): string[] {
  const opaque: Lookup = (variable) => {
    const value = lookup(variable);
    return value && trace(value.text, '', -1, { via: 'variable', variable });
  };
  const parts = segments(interpolate(template, opaque, where), reference.tagStart, reference.tagEnd);
  return [...new Set(parts.flatMap(({ variable }) => variable ?? []))];
}

const severalVariables = (where: string, tag: string, names: readonly (string | undefined)[]): UpdateError =>
  new UpdateError('pin-unsupported', `${where} makes one tag, ${tag}, of ${names.join(' and ')}`, {
    advice: 'Write the tag with one variable, or change the version there by hand.',
  });

interface Context {
  files: ProjectFiles;
  service: string;
  /** `image of app in compose.yaml line 3` */
  where: string;
  file: TextFile;
  line: number;
}

const absentPlace = ({ file, line, where }: Context): PinPlace => ({
  kind: 'absent',
  file: file.path,
  line,
  description: `${where}, which has no tag`,
});

function tagPlace(context: Context, tag: PinTag, resolved: TracedText, start: number): PinPlace {
  const main = mainPart(context, tag, resolved, start);
  if (tag.kind === 'release' && main.start < 0) {
    throw new UpdateError(
      'pin-unsupported',
      `${context.where} is written with escapes or from elsewhere: its tag has no place of its own`,
    );
  }
  const { source, via, variable } = main;
  if (main.start < 0)
    return { kind: 'literal', file: context.file.path, line: context.line, description: context.where };
  const file = fileOf(context.files, source);
  const line = file ? lineAt(file, main.start) : context.line;
  const here = `${nameOf(context.files, source)} line ${line}`;
  if (variable === undefined) {
    return { kind: 'literal', file: source, line, description: `image of ${context.service} in ${here}` };
  }
  return via === 'default'
    ? { kind: 'default', file: source, line, variable, description: `the default of ${variable} in ${here}` }
    : { kind: 'variable', file: source, line, variable, description: `${variable} in ${here}` };
}

/** The part of the tag that says the version: of several, a variable among written text. */
function mainPart(context: Context, tag: PinTag, resolved: TracedText, start: number): Segment {
  const parts = segments(resolved, start, start + tag.text.length);
  const [from, to] = versionRange(tag);
  const carrying = segments(resolved, start + from, start + to);
  const variables = carrying.filter(({ via }) => via !== 'text');
  const distinct = new Set(variables.map(({ source, start: at }) => `${source}\n${at}`));
  if (tag.kind === 'release' && distinct.size > 1) {
    throw severalVariables(context.where, tag.text, [...new Set(variables.map(({ variable }) => variable))]);
  }
  const main = variables[0] ?? carrying[0];
  if (!main) throw new RangeError('a tag without text');
  return (
    parts.find((part) => part.source === main.source && part.start <= main.start && main.end <= part.end) ??
    main
  );
}

/** Refusal: pin-unsupported, where compose reads the files in another way than the updater does. */
export function checkAgainstModel(pin: Pin, image: string | undefined): void {
  if (image === undefined || image === pin.referenceText) return;
  throw new UpdateError(
    'pin-unsupported',
    `compose resolves the image of ${pin.service} to ${image}, ${pin.place.description} says ${pin.referenceText}`,
  );
}
