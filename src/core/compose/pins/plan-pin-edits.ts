import { UpdateError } from '../../errors/update-error.ts';
import { isNumberedTag, versionRangeOf } from '../../release/pin-tag.ts';
import { applyEditsToDraft, createDraft } from '../draft.ts';
import { createTextEdit, type TextEdit } from '../edit.ts';
import { createVariableEdit } from '../env-file.ts';
import { findProjectFile, isComposeFilePath, type ProjectFiles } from '../project-files.ts';
import { type SourceSegment, splitIntoSourceSegments } from '../source-map.ts';
import { requirePin } from './find-pin.ts';
import { formatImageReference } from './image-reference.ts';
import type { Pin } from './pin.ts';

export interface PinUpdate {
  pin: Pin;
  /** New tag, including its prefix and variant. */
  tag: string;
  /** New digest. Required if the pin has a digest and gets another tag. */
  digest?: string;
}

/**
 * Plans minimal edits. Pins that share a location get a single edit. The edited texts are parsed again to check the
 * version of each pin.
 * @throws UpdateError pin-unsupported; pin-digest if a pin has a digest and no new digest is given
 */
export function planPinEdits(files: ProjectFiles, moves: readonly PinUpdate[]): TextEdit[] {
  const edits = moves.flatMap((move) => editsOf(files, move).map((edit) => ({ edit, move })));
  const unique = new Map<string, (typeof edits)[number]>();
  for (const candidate of edits) {
    const { edit, move } = candidate;
    // The key contains the variable, because edits that append two variables to one file have equal offsets.
    const location = `${edit.file}\n${edit.start}\n${edit.end}\n${edit.start === edit.end ? edit.variable : ''}`;
    const first = unique.get(location);
    if (first && first.edit.after !== edit.after) throw createConflictError(first.move.pin, move.pin);
    if (!first) unique.set(location, candidate);
  }
  const result = removeExtraLineBreaks([...unique.values()].map(({ edit }) => edit));
  checkEditedPins(files, moves, result);
  return result;
}

function editsOf(files: ProjectFiles, { pin, tag, digest }: PinUpdate): TextEdit[] {
  const { reference } = pin;
  if (reference.tag === null) return tag === 'latest' ? [] : [createTagInsertion(files, pin, tag)];
  const edits: TextEdit[] = [];
  if (tag !== reference.tag) edits.push(createRangeEdit(files, pin, reference.tag, reference.tagStart, tag));
  if (reference.digest === null || (tag === reference.tag && digest === undefined)) return edits;
  if (digest === undefined) {
    throw new UpdateError(
      'pin-digest',
      `${pin.location.description} also pins a digest, but the new digest is unknown`,
      { advice: 'Specify the digest of the new release with --digest sha256:….' },
    );
  }
  if (digest !== reference.digest)
    edits.push(createRangeEdit(files, pin, reference.digest, reference.digestStart, digest));
  return edits;
}

/** Edits a part of the resolved reference in its source file. */
function createRangeEdit(files: ProjectFiles, pin: Pin, old: string, start: number, text: string): TextEdit {
  const parts = splitIntoSourceSegments(pin.resolved, start, start + old.length);
  const written = parts.filter(({ via }) => via !== 'text');
  // A tag may consist of several variables, one of which contains the digits. Only this variable is edited.
  const variables =
    written.length > 1 && start === pin.reference.tagStart ? written.filter(carriesVersion(pin)) : written;
  if (variables.length > 1) {
    const names = [...new Set(variables.map(({ variable }) => variable))].join(' and ');
    throw createPinError(pin, `combines ${names}`);
  }
  // Try variables before literal text, because a variable next to literal text usually contains the version.
  for (const part of [...variables, ...parts.filter(({ via }) => via === 'text')]) {
    const at = parts.slice(0, parts.indexOf(part)).reduce((length, other) => length + other.text.length, 0);
    const [before, after] = [old.slice(0, at), old.slice(at + part.text.length)];
    const fits =
      text.length > before.length + after.length && text.startsWith(before) && text.endsWith(after);
    if (fits) return createPartEdit(files, pin, part, text.slice(before.length, text.length - after.length));
  }
  throw createPinError(pin, `combines literal text and variables that cannot be changed to ${text}`);
}

function carriesVersion({ tag, reference, resolved }: Pin): (part: SourceSegment) => boolean {
  if (!isNumberedTag(tag)) return () => true;
  const [from, to] = versionRangeOf(tag);
  const version = splitIntoSourceSegments(resolved, reference.tagStart + from, reference.tagStart + to);
  return (part) =>
    version.some(({ source, start }) => part.source === source && part.start <= start && start < part.end);
}

function createPartEdit(files: ProjectFiles, pin: Pin, part: SourceSegment, text: string): TextEdit {
  const floats = pin.tag.kind === 'latest' || pin.tag.kind === 'canary';
  const isOfCompose = isComposeFilePath(files, part.source);
  // All users of the compose file share a floating default, such as `${V:-stable}`. The version of this instance is
  // therefore set in its env file.
  if (part.via === 'default' && part.variable && floats && part.text === pin.tag.text && isOfCompose)
    return createVariableEdit(files, part.variable, replaceInDefault(pin, part, text));
  return createSegmentEdit(files, pin, part, text);
}

/** Returns the whole default with a new tag, because the variable may contain more than the tag. */
function replaceInDefault({ resolved }: Pin, part: SourceSegment, text: string): string {
  const all = splitIntoSourceSegments(resolved, 0, resolved.text.length);
  const whole = all.find(
    ({ source, start, end }) => source === part.source && start <= part.start && part.end <= end,
  );
  const { text: old, start } = whole ?? part;
  return `${old.slice(0, part.start - start)}${text}${old.slice(part.end - start)}`;
}

function createTagInsertion(files: ProjectFiles, pin: Pin, tag: string): TextEdit {
  const { tagStart } = pin.reference;
  const [last] = splitIntoSourceSegments(pin.resolved, tagStart - 1, tagStart);
  return createSegmentEdit(files, pin, last && { ...last, start: last.end }, `:${tag}`);
}

function createSegmentEdit(
  files: ProjectFiles,
  pin: Pin,
  location: SourceSegment | undefined,
  text: string,
): TextEdit {
  const file = location && findProjectFile(files, location.source);
  if (!file || location.start < 0)
    throw createPinError(pin, 'contains escapes or comes from outside the files');
  return createTextEdit(file, location, text, location.via === 'variable' ? location.variable : undefined);
}

/**
 * Keeps the leading line break of the first line appended to a file, because it ends the previous line. Removes the
 * leading line breaks of all other appended lines.
 */
function removeExtraLineBreaks(edits: TextEdit[]): TextEdit[] {
  const begun = new Set<string>();
  return edits.map((edit) => {
    if (edit.start !== edit.end || !edit.after.endsWith('\n')) return edit;
    const location = `${edit.file}\n${edit.start}`;
    const tidy = begun.has(location) ? { ...edit, after: edit.after.replace(/^\r?\n/, '') } : edit;
    begun.add(location);
    return tidy;
  });
}

/** Computes the expected image reference independently of the edits, so that the edits can be checked. */
export function updatedReferenceOf({ pin: { reference }, tag, digest }: PinUpdate): string {
  return formatImageReference({
    repository: reference.repository,
    tag: reference.tag === null && tag === 'latest' ? null : tag,
    digest: reference.digest === null ? null : (digest ?? reference.digest),
  });
}

/** Parses the edited texts again and checks that each pin has the expected reference. */
function checkEditedPins(files: ProjectFiles, moves: readonly PinUpdate[], edits: readonly TextEdit[]): void {
  const after = applyEditsToDraft(createDraft(files), edits).files;
  for (const move of moves) {
    const { pin } = move;
    const wanted = updatedReferenceOf(move);
    const { referenceText } = requirePin(after, pin.service);
    if (referenceText !== wanted) {
      throw createPinError(
        pin,
        `is also used elsewhere: after the edit, ${pin.service} would run ${referenceText} instead of ${wanted}`,
      );
    }
  }
}

const createPinError = (pin: Pin, why: string): UpdateError =>
  new UpdateError('pin-unsupported', `the version of ${pin.service} (${pin.location.description}) ${why}`);

const createConflictError = (one: Pin, other: Pin): UpdateError =>
  new UpdateError(
    'pin-unsupported',
    `${one.service} and ${other.service} share ${one.location.description} but need different values`,
  );
