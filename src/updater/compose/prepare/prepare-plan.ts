import { join } from 'node:path';
import { getParsedComposeFile } from '../../../core/compose/compose-file.ts';
import { applyEditsToDraft, type ProjectDraft } from '../../../core/compose/draft.ts';
import { createVariableEdit } from '../../../core/compose/env-file.ts';
import { displayPathOf, type ProjectFiles } from '../../../core/compose/project-files.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { requireReplaceableFiles } from '../../../core/files/transaction/check-replaceable-files.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { checkPulledImages } from '../../plan/check-pulled.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { createModelMaskRules } from '../../run/log/mask-rules.ts';
import type { Log } from '../../run/log/run-log.ts';
import { findOtherProjectWarnings } from '../checks/find-other-project-warnings.ts';
import { describePrivilegeGains } from '../drift/index.ts';
import {
  type InspectedProject,
  type Installation,
  releaseComposeFileNames,
} from '../inspect/installation.ts';
import { maskFileSecrets } from '../inspect/project-files/mask-file-secrets.ts';
import { createPreparedPlan, findPulledVersion } from '../plan/files/create-prepared-plan.ts';
import { draftFileChanges, hasChangesFromPulledImages } from '../plan/files/draft-file-changes.ts';
import { type PlannedProject, runningAppOf } from '../plan/plan-update.ts';
import type { PreparedPlan, ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import { checkImagePlatforms } from '../plan/release/check-image-platforms.ts';
import {
  createMissingVariablesError,
  findEmptyVariableWarnings,
  requireSecretValues,
} from '../plan/release/missing-variables.ts';
import type { ComposeFileReplacement } from '../plan/release/plan-compose-file-replacements.ts';
import { findMalformedLabelWarnings } from '../plan/release/release-label.ts';
import { requireExpectedSettingChanges } from '../verify-edit/compare-models.ts';
import { resolveProposedModel } from '../verify-edit/resolve-proposed-model.ts';
import { findNewSettings } from './find-new-settings.ts';
import { readComposeFileReplacements } from './read-compose-file-replacements.ts';

/** Requests compose's model of the new files before the pull. Null if the files depend on the pulled images. */
export async function requestPlannedModel(plan: PlannedProject): Promise<ComposeModel | null> {
  if (hasChangesFromPulledImages(plan)) return null;
  const { draft } = draftFileChanges(plan);
  return modelOf(plan.installation, draft);
}

/** Drafts the new files and checks compose's model of them. Nothing on disk changes. */
export async function preparePlan(
  engine: Engine,
  plan: ProjectUpdatePlan,
  pulled: {
    /** Local images, keyed by the references in the plan. */
    images: ReadonlyMap<string, Image>;
    /** Whether to skip the check for stale tags. `plan` skips it, and so does `update` for images from an archive. */
    skipLag?: boolean;
    /** Path of the backup directory, for messages. */
    backup: string;
    /** Result of `requestPlannedModel`. Awaited only after the pull, so that the pull's error takes precedence. */
    early: Promise<ComposeModel | null>;
    /** Digests (`sha256:…`) that the release's files must have, keyed by file name. */
    proven?: ReadonlyMap<string, string> | undefined;
    /** Log in which the secrets of the new files are masked. */
    log: Pick<Log, 'addMaskRules'>;
  },
): Promise<PreparedPlan> {
  const { installation } = plan;
  const { images, backup, early, proven, log } = pulled;
  const version = findPulledVersion(plan, images);
  const image = images.get(plan.app.to);
  const lookUp = pulled.skipLag ? null : createTagLookup(engine);
  const checked = await checkPulledImages(plan, images, {
    ...{ version, lookUp },
    running: runningAppOf(installation, image),
  });
  const taken =
    installation.kind === 'generated' && image
      ? await readComposeFileReplacements(engine, installation, image, { backup, proven })
      : { texts: [], warnings: [] };
  const { draft: unsetDraft, expected } = draftFileChanges(plan, images, taken.texts);
  const { settings, warnings } = findNewSettings(plan, image);
  const draft = settings.reduce(
    (before, { name, value, words }) =>
      applyEditsToDraft(before, [{ ...createVariableEdit(before.files, name, value), words }]),
    unsetDraft,
  );
  if (draft.changes.length > 0) {
    await maskFileSecrets(log, draft.files, (path) => installation.paths.fromHost(path));
  }
  // If the release has new settings, compose may reject its files without them, so their model is not requested.
  const isWhole = draft !== unsetDraft && installation.kind === 'generated';
  const unset = isWhole ? null : ((await early) ?? (await modelOf(installation, unsetDraft, taken.texts)));
  const model = unset && draft === unsetDraft ? unset : await modelOf(installation, draft, taken.texts);
  if (unset) requireExpectedSettingChanges(unset, model);
  const paths = draft.changes.map(({ path }) => path);
  if (settings.length > 0) await requireReplaceableFiles(paths, installation.paths);
  log.addMaskRules(() => createModelMaskRules(model));
  const platforms = checkImagePlatforms(plan, model, images);
  if (installation.kind === 'generated') requireSecretValues(installation, draft, model);
  const empty = findEmptyVariableWarnings(installation, draft, taken.texts);
  const hashedNetworks = await findRecreatedNetworks(engine, installation, model);
  const planned = createPreparedPlan(plan, {
    draft,
    expected,
    model,
    unset,
    hashedNetworks,
    images,
    version,
  });
  const others = await findOtherProjectWarnings(installation, draft.changes, log);
  const { added } = planned;
  const gains =
    installation.kind === 'generated'
      ? await describePrivilegeGains(engine, installation, { model, added })
      : [];
  const laterWarnings = [
    ...checked,
    ...warnings,
    ...platforms,
    ...findMalformedLabelWarnings(plan, image),
    ...taken.warnings,
    ...gains,
    ...empty,
    ...planned.laterWarnings,
    ...others,
  ];
  return { ...planned, settings: settings.map(({ name }) => name), laterWarnings };
}

/** Returns the names of the changed networks that compose would remove and recreate. */
async function findRecreatedNetworks(
  engine: Engine,
  { kind, model: before }: Installation,
  after: ComposeModel,
): Promise<ReadonlySet<string>> {
  if (kind !== 'generated' || before === after) return new Set();
  const names = Object.entries(before.networks ?? {})
    .filter(([key, old]) => JSON.stringify(old) !== JSON.stringify(after.networks?.[key]))
    .map(([key, old]) => old?.name ?? key);
  const made = await engine.listNetworks(names);
  return new Set(made.flatMap(({ name, hash }) => (hash === null ? [] : [name])));
}

/** Returns the places in the user's own files that define the services named in compose's error message. */
function findOwnDefinitions(files: ProjectFiles, directory: string, message: string): string[] {
  const shipped = releaseComposeFileNames.map((name) => join(directory, name));
  const all = [...files.composeFiles, ...(files.linkedFiles ?? [])];
  return all.flatMap((file) =>
    [...message.matchAll(/service "([^"]+)"/g)].flatMap(([, name = '']) => {
      const line = shipped.includes(file.path)
        ? undefined
        : getParsedComposeFile(file).getService(name)?.line;
      return line === undefined
        ? []
        : [`services.${name} in ${displayPathOf(files, file.path)} line ${line}`];
    }),
  );
}

/** Returns the current model if the draft changes no file. */
async function modelOf(
  installation: InspectedProject,
  draft: ProjectDraft,
  release: readonly ComposeFileReplacement[] = [],
): Promise<ComposeModel> {
  const { compose, kind, model } = installation;
  const paths = draft.changes.map(({ path }) => path);
  if (paths.length === 0) return model;
  const standIns = { composeFiles: [], envFiles: [], isStrict: kind === 'generated' };
  return resolveProposedModel(compose, draft.files, paths, standIns).catch((error) => {
    if (kind !== 'generated' || !(error instanceof UpdateError)) throw error;
    const missing = createMissingVariablesError(installation, draft, release, error);
    if (missing) throw missing;
    const uses = findOwnDefinitions(draft.files, installation.project.directory, error.message);
    if (uses.length > 0) {
      throw new UpdateError('compose-invalid', `with the release's compose file, ${error.message}`, {
        detail: error.detail,
        advice: `Delete the parts that the release no longer has: see ${joinWithAnd(uses)}. Then run {command} again.`,
      });
    }
    throw new UpdateError('release-file', `the release's compose file cannot be used: ${error.message}`, {
      detail: error.detail,
      cause: error,
    });
  });
}
