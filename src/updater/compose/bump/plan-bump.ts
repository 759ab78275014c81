import { homedir } from 'node:os';
import type { FileReference } from '../../../core/compose/compose-file.ts';
import { applyEditsToDraft, createDraft } from '../../../core/compose/draft.ts';
import {
  type ComposeSource,
  resolveIncludeTree,
  resolveReferencedPath,
} from '../../../core/compose/include-tree.ts';
import { findUnsetRequiredVariables } from '../../../core/compose/interpolation.ts';
import { isPinShared, requirePin, requirePinMatchesModel } from '../../../core/compose/pins/find-pin.ts';
import type { Pin } from '../../../core/compose/pins/pin.ts';
import {
  type PinUpdate,
  planPinEdits,
  updatedReferenceOf,
} from '../../../core/compose/pins/plan-pin-edits.ts';
import {
  createFloatingTagMismatchError,
  createUnversionedTargetError,
  createVariantMismatchError,
  isPinnedToFloatingTag,
} from '../../../core/compose/pins/target-errors.ts';
import {
  listProjectFiles,
  type ProjectFiles,
  projectDirectoryOf,
} from '../../../core/compose/project-files.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isExistingPath } from '../../../core/files/file-system.ts';
import {
  compareSharedVersionNumbers,
  compareVersions,
  countVersionNumbers,
  truncateVersion,
} from '../../../core/release/compare-versions.ts';
import { isNumberedTag } from '../../../core/release/pin-tag.ts';
import { formatVersionInTagStyle, planTagUpdate } from '../../../core/release/plan-tag-update.ts';
import type { NumberedTag } from '../../../core/release/tag.ts';
import type { ReleaseTarget, Target } from '../../../core/release/target.ts';
import { Compose, type ComposeModel } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { createModelMaskRules } from '../../run/log/mask-rules.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { BumpOptions } from '../../run/options/update-options.ts';
import {
  compareComposeModels,
  type ExpectedModelChanges,
  listVariableLocations,
  listVariableSubstitutions,
  requireExpectedModelChanges,
} from '../verify-edit/compare-models.ts';
import { type PlaceholderFiles, resolveProposedModel } from '../verify-edit/resolve-proposed-model.ts';

type BumpRequest = Pick<BumpOptions, 'services' | 'to' | 'digest'>;

/** Plans and checks all file changes of `bump`, but writes nothing. */
export async function planBump(project: ProjectFiles, engine: Engine, options: BumpRequest, log: Log) {
  const compose = new Compose(engine, {
    name: '',
    directory: projectDirectoryOf(project),
    files: project.composeFiles.map(({ path }) => path),
    envFiles: project.envFiles.map(({ path }) => path),
  });
  const lacking = await createEnvPlaceholders(project);
  const model = async (files: ProjectFiles, changed: readonly string[]) => {
    const found = await resolveProposedModel(compose, files, changed, lacking);
    log.addMaskRules(() => createModelMaskRules(found));
    return found;
  };
  const before = model(project, []);
  const files = await addPredefinedVariables(project, before);
  // Compose is slow, so the current and the proposed files are resolved in parallel.
  const [today, proposed] = await Promise.allSettled([before, proposeEdits(files, model, options, log)]);
  if (today.status === 'rejected') throw today.reason;
  if (proposed.status === 'rejected') throw proposed.reason;
  const { draft, edits, pins, moves, after } = proposed.value;
  for (const pin of pins) requirePinMatchesModel(pin, today.value.services[pin.service]?.image);
  if (after === null) return { draft, edits };
  const expected: ExpectedModelChanges = {
    images: new Map(moves.map((move) => [move.pin.service, updatedReferenceOf(move)] as const)),
    substitutions: listVariableSubstitutions(files, edits),
    variableLocations: listVariableLocations(files, edits),
    hasSharedPin: (service) => isPinShared(files, service, pins),
  };
  const proof = compareComposeModels(today.value, after, expected);
  requireExpectedModelChanges(proof, expected);
  for (const name of proof.alsoUpdatedServices)
    log.info(`${name} uses the same pin, so its version also changes`);
  return { draft, edits };
}

/**
 * Creates placeholders for unset required variables and missing env files. In CI, for example, `bump` runs without the
 * instance's secrets.
 */
export async function createEnvPlaceholders(files: ProjectFiles): Promise<PlaceholderFiles> {
  const { sources: layers } = resolveIncludeTree(files);
  const required = new Set(
    listProjectFiles(files).flatMap(({ text }) => findUnsetRequiredVariables(text, () => null)),
  );
  const variables = [...required].filter((name) => !layers.some((layer) => isSet(layer, name)));
  const there = layers.flatMap(envFilesOf).map((path) => path !== null && isExistingPath(path));
  const hasAll = (await Promise.all(there)).every(Boolean);
  return {
    // Each variable is set to a number, because compose accepts numbers wherever it accepts text.
    envFiles: variables.length === 0 ? [] : [variables.map((name) => `${name}=1\n`).join('')],
    composeFiles: hasAll ? [] : [formatEnvFileReset(layers)],
  };
}

const isSet = ({ variables }: ComposeSource, name: string): boolean => (variables(name)?.text ?? '') !== '';

/** Returns the services that read one of the files with `env_file`. */
export const listServicesWithEnvFile = (files: ProjectFiles, paths: readonly string[]): string[] =>
  resolveIncludeTree(files).sources.flatMap((layer) =>
    layer.file.serviceNames.filter((name) =>
      layer.file
        .getService(name)
        ?.envFiles.some((link) => paths.includes(resolveEnvFilePath(layer, link) ?? '')),
    ),
  );

/** Returns the env file paths of all services. An entry is null if its path contains an unset required variable. */
function envFilesOf(layer: ComposeSource): (string | null)[] {
  const links = layer.file.serviceNames.flatMap((name) => layer.file.getService(name)?.envFiles ?? []);
  return links.map((link) => resolveEnvFilePath(layer, link));
}

function resolveEnvFilePath(layer: ComposeSource, link: FileReference): string | null {
  try {
    return resolveReferencedPath(layer, link);
  } catch (error) {
    if (error instanceof UpdateError) return null;
    throw error;
  }
}

/**
 * Formats an override file that removes the env files of all services. Names are JSON strings, which are valid YAML.
 */
function formatEnvFileReset(layers: readonly ComposeSource[]): string {
  const names = new Set(
    layers.filter(({ followsIncludes: follows }) => follows).flatMap(({ file }) => file.serviceNames),
  );
  return `services:\n${[...names].map((name) => `  ${JSON.stringify(name)}: {env_file: !reset []}\n`).join('')}`;
}

/**
 * Adds compose's predefined variables. Compose's slow model is awaited only if a file contains COMPOSE_PROJECT_NAME.
 */
async function addPredefinedVariables(
  files: ProjectFiles,
  model: Promise<ComposeModel>,
): Promise<ProjectFiles> {
  const name = 'COMPOSE_PROJECT_NAME';
  const asks = listProjectFiles(files).some(({ text }) => text.includes(name));
  return {
    ...files,
    given: {
      ...(asks ? { [name]: (await model).name } : {}),
      PWD: projectDirectoryOf(files),
      HOME: homedir(),
    },
  };
}

/** Plans the edits, and resolves compose's model of the edited files. The model is null if there are no edits. */
async function proposeEdits(
  files: ProjectFiles,
  model: (files: ProjectFiles, changed: readonly string[]) => Promise<ComposeModel>,
  options: BumpRequest,
  log: Log,
) {
  const pins = options.services.map((service) => requirePin(files, service));
  log.addMaskRules(() => ({
    shown: pins.flatMap(({ referenceText, reference }) => [referenceText, reference.repository]),
  }));
  const moves = planPinUpdates(pins, options, log);
  const edits = planPinEdits(files, moves);
  const draft = applyEditsToDraft(createDraft(files), edits);
  const changed = draft.changes.map(({ path }) => path);
  const after = changed.length === 0 ? null : await model(draft.files, changed);
  return { draft, edits, pins, moves, after };
}

function planPinUpdates(pins: readonly Pin[], options: BumpRequest, log: Log): PinUpdate[] {
  const { to: target, digest } = options;
  const moves = pins.flatMap((pin): PinUpdate[] => {
    const tag = findBumpedTag(pin, target);
    if (tag === null) {
      log.info(
        `${pin.service} uses the floating tag ${pin.tag.text} (${pin.location.description}); nothing to change`,
      );
      return [];
    }
    return [pin.reference.digest === null || digest === null ? { pin, tag } : { pin, tag, digest }];
  });
  const digested = new Set(
    moves.flatMap((move) => (move.digest === undefined ? [] : [move.pin.reference.repository])),
  );
  if (digested.size > 1) {
    throw new UpdateError('pin-digest', `${[...digested].join(' and ')} cannot share one digest`, {
      advice: 'Run bump separately for each image, with the digest of its new release.',
    });
  }
  if (digest !== null && digested.size === 0)
    log.warn('--digest has no effect, because no pin contains a digest');
  const newest = moves
    .flatMap(({ pin }) => (isNumberedTag(pin.tag) ? [pin.tag] : []))
    .sort((a, b) => compareVersions(a.version, b.version))
    .at(-1);
  if (
    target.kind === 'release' &&
    newest !== undefined &&
    compareSharedVersionNumbers(target.version, newest.version) < 0
  ) {
    const [to, from] = [target, newest].map(({ version }) => `${newest.prefix}${version}`);
    log.warn(`${to} is older than ${from}; migrations cannot be undone`);
  }
  return moves;
}

/** Returns the new tag of a pin; null for a floating tag that needs no change. */
function findBumpedTag(pin: Pin, target: Target): string | null {
  const { service, tag, location } = pin;
  if (target.kind === 'unversioned') throw createUnversionedTargetError([pin], target.tag);
  if (target.kind === 'word') {
    if (isPinnedToFloatingTag(pin, target.tag)) return null;
    throw createFloatingTagMismatchError(pin, target.tag, '--to');
  }
  if (tag.kind === 'latest' || tag.kind === 'canary') return null;
  if (tag.kind === 'part' && target.kind === 'release') return findBumpedPartialTag(pin, tag, target);
  if (tag.kind !== 'release') {
    const message = `${service} is pinned to ${tag.text} (${location.description}), which is not a release tag`;
    const advice = 'Set a release tag manually, such as v1.2.3. After that, bump can change it.';
    throw new UpdateError('pin-unsupported', message, { advice });
  }
  const moved = planTagUpdate(tag, target);
  if (moved.kind === 'moved') return moved.tag;
  if (moved.kind === 'variant' && target.kind === 'release') throw createVariantMismatchError(pin, target);
  const message = `${target.tag} is not a full release version; ${service} is pinned to ${tag.text} (${location.description})`;
  const advice =
    'Specify the full version with --to. If the release is published only under a short tag, set that tag manually.';
  throw new UpdateError('pin-unsupported', message, { advice });
}

/**
 * Returns the new tag for a pin such as `1.4`; null if the tag needs no change. The user must specify a new partial
 * tag, because only a registry shows to which release it points.
 */
function findBumpedPartialTag(pin: Pin, tag: NumberedTag, target: ReleaseTarget): string | null {
  const { version, suffix = '', lead } = target;
  const count = countVersionNumbers(tag.version);
  if ((suffix !== '' && suffix !== tag.suffix) || (lead !== undefined && lead !== tag.lead))
    throw createVariantMismatchError(pin, target);
  if (countVersionNumbers(version) === count) return formatVersionInTagStyle(tag, version);
  if (compareSharedVersionNumbers(version, tag.version) === 0 && countVersionNumbers(version) > count)
    return null;
  const message = `${pin.service} is pinned to ${tag.text} (${pin.location.description}) and can only be changed to a tag in the same format`;
  const advice =
    countVersionNumbers(version) > count
      ? `Run the update command, which checks the registry, or wait until ${tag.prefix}${truncateVersion(version, count)} points to the release and specify that tag with --to.`
      : 'Run the update command, which checks the registry, or wait until a tag in the same format points to the release and specify that tag with --to.';
  throw new UpdateError('pin-unsupported', message, { advice });
}
