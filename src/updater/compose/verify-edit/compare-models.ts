import type { TextEdit } from '../../../core/compose/edit.ts';
import {
  isDatabaseImage,
  isSamePublisher,
  isSameRepository,
  parseImageReference,
} from '../../../core/compose/pins/image-reference.ts';
import { displayPathOf, listProjectFiles, type ProjectFiles } from '../../../core/compose/project-files.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';

export interface ExpectedModelChanges {
  /** Full image references that the services must have, keyed by service. */
  images: ReadonlyMap<string, string>;
  /** Old and new values of the changed variables. Other values in the model may contain these values. */
  substitutions: readonly Substitution[];
  /** Locations of the changed variables, such as `SVC_VERSION in .env line 1`. */
  variableLocations: readonly string[];
  /** Whether a service shares its pin with an updated service. */
  hasSharedPin: (service: string) => boolean;
}

interface Substitution {
  from: string;
  to: string;
}

interface ModelComparison {
  /** Unplanned changes; empty if the edit is verified. */
  unexpected: string[];
  /** Changed values that contain the version variable but are not versions, such as a data path. */
  otherUses: string[];
  /** Other services whose image changes because they share the pin of an updated service. */
  alsoUpdatedServices: string[];
}

// Service keys whose change may cost the service its data, a port or a network.
const riskyServiceKeys = new Set([
  ...['volumes', 'volumes_from', 'tmpfs', 'devices', 'configs', 'secrets', 'env_file'],
  ...['ports', 'expose', 'networks', 'network_mode', 'links', 'external_links', 'extra_hosts'],
]);

/** Compares two models. Only the planned images, and values that contain the version variable, may differ. */
export function compareComposeModels(
  before: ComposeModel,
  after: ComposeModel,
  expected: ExpectedModelChanges,
): ModelComparison {
  const proof: ModelComparison = { unexpected: [], otherUses: [], alsoUpdatedServices: [] };
  const moves: Substitution[] = [];
  for (const [service, to] of expected.images) {
    const now = after.services[service]?.image;
    if (now !== to) proof.unexpected.push(`services.${service}.image: ${now ?? 'nothing'} instead of ${to}`);
    const from = before.services[service]?.image;
    if (from !== undefined && from !== to) moves.push({ from, to });
  }
  for (const { path, from, to } of findModelDifferences(before, after, [])) {
    const [section = '', service = '', key = ''] = path;
    const isImage = section === 'services' && key === 'image' && path.length === 3;
    if (isImage && expected.images.has(service)) continue;
    const says = `${path.join('.')}: ${formatValue(from)} → ${formatValue(to)}`;
    const comesAlong = typeof from === 'string' && typeof to === 'string';
    const comesFromVariable =
      comesAlong && expected.substitutions.some((change) => isSubstitutedValue(from, to, change));
    const isVolume = isImageVolume(before, path) && isImageVolume(after, path);
    const isSame =
      (isImage && (comesFromVariable || expected.hasSharedPin(service))) || (isVolume && comesFromVariable);
    if (comesAlong && isSame && isInSameRelease(from, to, moves)) {
      if (!expected.images.has(service)) proof.alsoUpdatedServices.push(service);
    } else if (isExtension(section) || (section === 'services' && isExtension(key))) {
      // An extension field (`x-…`) may differ if it contains the YAML anchor of an updated image.
      if (!comesFromVariable && !moves.some((move) => move.from === from && move.to === to)) {
        proof.unexpected.push(says);
      }
    } else if (!comesFromVariable) proof.unexpected.push(says);
    else if (isContent(path)) continue;
    else if (isImage || section !== 'services' || riskyServiceKeys.has(key)) proof.otherUses.push(says);
  }
  return proof;
}

/**
 * Requires that the edit changes only the version.
 * @throws UpdateError proof-failed; pin-unsupported if the version variable also has another purpose
 */
export function requireExpectedModelChanges(
  proof: ModelComparison,
  { variableLocations: places }: ExpectedModelChanges,
): void {
  const { unexpected, otherUses: otherMeanings } = proof;
  if (unexpected.length > 0) {
    throw new UpdateError(
      'proof-failed',
      'the edit would change more than the version, so no file was written',
      { detail: [...unexpected, ...otherMeanings] },
    );
  }
  if (otherMeanings.length === 0) return;
  throw new UpdateError(
    'pin-unsupported',
    `changing ${places.join(', ')} would affect more than the version: ${otherMeanings.join('; ')}`,
    { advice: 'Use a separate variable for the image version, then run the command again.' },
  );
}

/**
 * Requires that new settings change only environment variables and the contents of secrets and configs. `before` is the
 * model without the settings. The error contains no values.
 * @throws UpdateError proof-failed
 */
export function requireExpectedSettingChanges(before: ComposeModel, after: ComposeModel): void {
  const other = findModelDifferences(before, after, []).flatMap(({ path }) =>
    isSettingPath(path) ? [] : [path.join('.')],
  );
  if (other.length === 0) return;
  throw new UpdateError(
    'proof-failed',
    'the new settings would change more than environment variables, so no file was written',
    {
      detail: other,
      advice: 'In the compose files, use a separate variable for these settings, then run {command} again.',
    },
  );
}

function isSettingPath([section = '', , key = '']: readonly string[]): boolean {
  if (section === 'services') return key === 'environment' || isExtension(key);
  return isExtension(section) || ((section === 'configs' || section === 'secrets') && key === 'content');
}

export const listVariableLocations = (files: ProjectFiles, edits: readonly TextEdit[]): string[] =>
  edits.flatMap(({ variable, file, line }) =>
    variable ? [`${variable} in ${displayPathOf(files, file)} line ${line}`] : [],
  );

/** Returns the old and new values of edited variables. An unset variable's old values are its defaults in the files. */
export function listVariableSubstitutions(files: ProjectFiles, edits: readonly TextEdit[]): Substitution[] {
  return edits.flatMap(({ before, after, variable, start, end }) => {
    if (variable === undefined) return [];
    if (before !== '') return [{ from: before, to: after }];
    const to = start === end && after.includes('=') ? after.trim().slice(variable.length + 1) : after;
    const form = new RegExp(`\\$\\{${variable}:?-([^{}$]*)\\}`, 'g');
    const defaults = listProjectFiles(files).flatMap(({ text }) =>
      [...text.matchAll(form)].map(([, value = '']) => value),
    );
    return [...new Set(['', ...defaults])].map((from) => ({ from, to }));
  });
}

function isSubstitutedValue(from: string, to: string, change: Substitution): boolean {
  // `change.from` is empty if the variable was unset.
  return change.from === ''
    ? to.replaceAll(change.to, '') === from
    : from.replaceAll(change.from, change.to) === to;
}

/**
 * Whether an image changes only its version, and shares the publisher of an updated image. Both images then belong to
 * one release.
 */
function isInSameRelease(from: string, to: string, moves: readonly Substitution[]): boolean {
  const [old, now] = [parseImageReference(from), parseImageReference(to)];
  if (!old || !now || old.repository !== now.repository) return false;
  // If the tag changes but the digest does not, the tag and the digest belong to different releases.
  if (old.digest !== null && old.digest === now.digest) return false;
  return moves.some((move) => {
    const planned = parseImageReference(move.from);
    if (planned === null) return false;
    // A database image must be from the updated image's repository. Otherwise, a different database version would later
    // start with the old data.
    return isDatabaseImage(old) ? isSameRepository(planned, old) : isSamePublisher(planned, old);
  });
}

interface Difference {
  path: string[];
  from: unknown;
  to: unknown;
}

export function findModelDifferences(before: unknown, after: unknown, path: string[]): Difference[] {
  if (before === after) return [];
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => findModelDifferences(before[key], after[key], [...path, key]));
  }
  return [{ path, from: before, to: after }];
}

/**
 * Whether a path in the model is the source of a `type: image` volume. Such a volume is read-only and contains no data.
 */
const isImageVolume = ({ services }: ComposeModel, path: readonly string[]): boolean => {
  const [section, service = '', key, at, field] = path;
  const isSource = section === 'services' && key === 'volumes' && field === 'source' && path.length === 5;
  return isSource && services[service]?.volumes?.[Number(at)]?.type === 'image';
};

/**
 * Whether a path in the model is the content of an inline config. Such content may change with the version, because it
 * does not refer to data as a file path does.
 */
const isContent = ([section, , key]: readonly string[]): boolean =>
  section === 'configs' && key === 'content';

const isExtension = (key: string): boolean => key.startsWith('x-');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const formatValue = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
