import { UpdateError } from '../../../core/progress/update-error.ts';
import { listNetworks } from '../../../engine/api/query.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { Image } from '../../../engine/container.ts';
import type { Log } from '../../run/log/log.ts';
import { maskRulesOfModel } from '../../run/log/mask-rules.ts';
import { startEarly } from '../../run/start-early.ts';
import { releaseGains } from '../drift/index.ts';
import { type Installation, replacedServices } from '../inspect/installation.ts';
import { learnFiles } from '../inspect/learn-files.ts';
import { checkLag } from '../plan/check-lag.ts';
import { checkPlatforms } from '../plan/check-platforms.ts';
import { draftFiles, type FileDraft, needsImages } from '../plan/draft-files.ts';
import { emptyVariables, missingVariables, refuseUnsetSecrets } from '../plan/needed-variables.ts';
import { type FilePlan, planFiles, pulledVersion } from '../plan/plan-files.ts';
import type { UpdatePlan } from '../plan/plan-update.ts';
import type { ReleaseText } from '../plan/release-texts.ts';
import { checkStepping } from '../plan/stepping.ts';
import { modelWith } from '../proof/proposed-model.ts';
import { askRegistry } from './ask-registry.ts';
import { warnOthers } from './other-projects.ts';
import { takeReleaseFiles } from './release-files.ts';

/** A draft that does not depend on pulled images, and compose's pending model of it. */
export interface EarlyDraft {
  draft: FileDraft;
  model: Promise<Model>;
}

/**
 * Drafts the files and asks compose for their model while images are pulled; null if the draft depends on the images.
 * Refusal: pin-unsupported.
 */
export async function askModelEarly(
  installation: Installation,
  plan: UpdatePlan,
): Promise<EarlyDraft | null> {
  if (needsImages(installation, plan)) return null;
  const draft = draftFiles(installation, plan, { images: new Map(), release: [] });
  // A failed pull is reported before a rejected model.
  return { draft, model: startEarly(modelOf(installation, draft)) };
}

/**
 * Drafts the files, gets compose's model of them, and checks it. Nothing on disk changes.
 * @param pulled the local images of the plan
 *   `backup`: path of the backup directory for use in messages
 *   `early`: result of askModelEarly
 *   `log`: gets the secrets that must be masked
 * Refusals: downgrade, lags, upgrade-step, release-file, no-marker, missing-variable, shared-definition, pin-unsupported.
 * Failure: proof-failed, pull-platform.
 */
export async function prepareFiles(
  engine: Engine,
  installation: Installation,
  plan: UpdatePlan,
  pulled: {
    images: ReadonlyMap<string, Image>;
    /** Do not check where tags point to: before a pull, and for images of an archive. */
    skipLag?: boolean;
    backup: string;
    early?: EarlyDraft | null;
    /** `sha256:…` of the release's files by name, if they must be verified. */
    proven?: ReadonlyMap<string, string> | undefined;
    log: Pick<Log, 'addMaskRules'>;
  },
): Promise<FilePlan> {
  const { images, backup, early = null, proven, log } = pulled;
  const version = pulledVersion(installation, plan, images);
  const unlike = pulled.skipLag
    ? []
    : await askRegistry(engine, (published) => checkLag(plan, images, published));
  const steps = checkStepping(installation, plan, images);
  const image = images.get(plan.app.to);
  const taken =
    installation.kind === 'generated' && image
      ? await takeReleaseFiles(engine, installation, image, { backup, proven })
      : { texts: [], warnings: [] };
  const draft = early?.draft ?? draftFiles(installation, plan, { images, release: taken.texts });
  if (draft.changes.length > 0) {
    await learnFiles(log, draft.files, (path) => installation.paths.fromHost(path));
  }
  const model = await (early?.model ?? modelOf(installation, draft, taken.texts));
  log.addMaskRules(() => maskRulesOfModel(model));
  const platforms = checkPlatforms(installation, plan, model, images);
  if (installation.kind === 'generated') refuseUnsetSecrets(installation, draft, model);
  const unset = emptyVariables(installation, draft, taken.texts);
  const hashed = await networksInQuestion(engine, installation, model);
  const filePlan = planFiles(installation, plan, { draft, model, hashedNetworks: hashed }, version);
  const others = await warnOthers(installation, draft.changes, log);
  const gains =
    installation.kind === 'generated'
      ? await releaseGains(engine, { ...installation, services: replacedServices(installation) }, model)
      : [];
  const warnings = [
    ...unlike,
    ...platforms,
    ...steps,
    ...taken.warnings,
    ...gains,
    ...unset,
    ...filePlan.warnings,
    ...others,
  ];
  return { ...filePlan, warnings };
}

/** The changed networks that compose would remove and recreate. */
async function networksInQuestion(
  engine: Engine,
  { kind, model: before }: Installation,
  after: Model,
): Promise<ReadonlySet<string>> {
  if (kind !== 'generated' || before === after) return new Set();
  const names = Object.entries(before.networks ?? {})
    .filter(([key, old]) => JSON.stringify(old) !== JSON.stringify(after.networks?.[key]))
    .map(([key, old]) => old?.name ?? key);
  const made = await listNetworks(engine, names);
  return new Set(made.flatMap(({ name, hash }) => (hash === null ? [] : [name])));
}

/** Compose's model of the draft, or the current model if nothing changes. */
async function modelOf(
  installation: Installation,
  draft: FileDraft,
  release: readonly ReleaseText[] = [],
): Promise<Model> {
  const { compose, kind, model } = installation;
  const paths = draft.changes.map(({ path }) => path);
  if (paths.length === 0) return model;
  return modelWith(compose, draft.files, paths).catch((error) => {
    if (kind !== 'generated' || !(error instanceof UpdateError)) throw error;
    const missing = missingVariables(installation, draft, release, error);
    if (missing) throw missing;
    throw new UpdateError('release-file', `the release's compose file cannot be used: ${error.message}`, {
      detail: error.detail,
      cause: error,
    });
  });
}
