import type { ProjectDraft } from '../../../../core/compose/draft.ts';
import { resolveIncludeTree } from '../../../../core/compose/include-tree.ts';
import type { ProjectFiles } from '../../../../core/compose/project-files.ts';
import { createVariableLookup, findUnsetVariables } from '../../../../core/compose/variables.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import { joinWithAnd } from '../../../run/log/format-values.ts';
import { type InspectedProject, replacedServicesOf } from '../../inspect/installation.ts';
import type { ComposeFileReplacement } from './plan-compose-file-replacements.ts';

/** Returns null if compose rejected the release's files for a reason other than unset variables. */
export function createMissingVariablesError(
  installation: InspectedProject,
  draft: ProjectDraft,
  release: readonly ComposeFileReplacement[],
  cause: UpdateError,
): UpdateError | null {
  const names = findUnsetNames(draft.files, release, 'required');
  if (names.length === 0 || !/required variable/.test(cause.message)) return null;
  return new UpdateError(
    'missing-variable',
    `no file sets ${joinWithAnd(names)}, but the release requires a value`,
    {
      advice: `${formatLinesToAdd(installation, names)}, then run {command} again.`,
      detail: [...cause.detail, cause.message],
      cause,
    },
  );
}

/**
 * Requires the variables from which secrets and configs get their values. If one is unset, compose fails only after it
 * has removed the old container.
 * @throws UpdateError missing-variable
 */
export function requireSecretValues(
  installation: InspectedProject,
  draft: ProjectDraft,
  model: ComposeModel,
): void {
  const variables = createVariableLookup(draft.files.envFiles);
  const names = replacedServicesOf(installation).flatMap(({ name }) =>
    (['secrets', 'configs'] as const).flatMap((kind) =>
      (model.services[name]?.[kind] ?? []).flatMap(({ source }) => model[kind]?.[source]?.environment ?? []),
    ),
  );
  const unset = [...new Set(names)].filter((name) => variables(name) === null);
  if (unset.length === 0) return;
  const message = `no file sets ${joinWithAnd(unset)}, which a secret in the release uses`;
  const advice = `${formatLinesToAdd(installation, unset)}, then run {command} again.`;
  throw new UpdateError('missing-variable', message, { advice });
}

/** Warns about unset variables without a default that only the release's files use. */
export function findEmptyVariableWarnings(
  installation: InspectedProject,
  draft: ProjectDraft,
  release: readonly ComposeFileReplacement[],
): string[] {
  const today = new Set(findUnsetNames(installation.files, release, 'empty'));
  const names = findUnsetNames(draft.files, release, 'empty').filter((name) => !today.has(name));
  if (names.length === 0) return [];
  return [
    `the release uses variables that no file sets, so their values will be empty: ${joinWithAnd(names)}. ${formatLinesToAdd(installation, names)} if a value is needed`,
  ];
}

function findUnsetNames(
  files: ProjectFiles,
  release: readonly ComposeFileReplacement[],
  kind: 'required' | 'empty',
): string[] {
  const paths = new Set(release.map(({ path }) => path));
  const layers = resolveIncludeTree(files).sources.filter(({ file }) => paths.has(file.file.path));
  return [
    ...new Set(layers.flatMap(({ file, variables }) => findUnsetVariables(file.file, variables)[kind])),
  ].filter((name) => name !== 'PATH');
}

const formatLinesToAdd = ({ files }: InspectedProject, names: readonly string[]): string =>
  `Add ${joinWithAnd(names.map((name) => `${name}=…`))} to ${files.envFiles.at(-1)?.path ?? files.newEnvFile}`;
