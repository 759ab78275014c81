import { listNetworks } from '../../engine/api/query.ts';
import type { Model } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { releaseGains } from '../drift/index.ts';
import { type Installation, replacedServices } from '../inspect/installation.ts';
import { learnFiles } from '../inspect/learn-files.ts';
import type { Log } from '../log/log.ts';
import { maskRulesOfModel } from '../log/mask-rules.ts';
import { checkLag } from '../plan/check-lag.ts';
import { checkPlatforms } from '../plan/check-platforms.ts';
import { draftFiles, type FileDraft, needsImages } from '../plan/draft-files.ts';
import { emptyVariables, missingVariables, refuseUnsetSecrets } from '../plan/needed-variables.ts';
import { type FilePlan, planFiles, pulledVersion } from '../plan/plan-files.ts';
import type { UpdatePlan } from '../plan/plan-update.ts';
import type { ReleaseText } from '../plan/release-texts.ts';
import { checkStepping } from '../plan/stepping.ts';
import { startEarly } from '../process/start-early.ts';
import { modelWith } from '../proof/proposed-model.ts';
import { askRegistry } from './ask-registry.ts';
import { warnOthers } from './other-projects.ts';
import { takeReleaseFiles } from './release-files.ts';

/** A draft that needs no pulled image, and the model of it that compose was asked for already. */
export interface EarlyDraft {
  draft: FileDraft;
  model: Promise<Model>;
}

/**
 * Drafts, and asks compose, while other things are asked and pulled; null where images must tell first.
 * Refusal: pin-unsupported.
 */
export async function askModelEarly(
  installation: Installation,
  plan: UpdatePlan,
): Promise<EarlyDraft | null> {
  if (needsImages(installation, plan)) return null;
  const draft = draftFiles(installation, plan, { images: new Map(), release: [] });
  // A failed pull is told before a rejected model: the person has to mend the pull first.
  return { draft, model: startEarly(modelOf(installation, draft)) };
}

/**
 * Drafts the files once, asks compose what it makes of them, and proves that. Nothing on the disk changes.
 * @param pulled the local images behind the plan's references; `backup` is where files will be kept, for people;
 *   `early` is what `askModelEarly` gave; `log` is told what must not be printed of the files that will be
 * Refusals: downgrade, lags, upgrade-step, release-file, no-marker, missing-variable, shared-definition, pin-unsupported.
 * Failure: proof-failed, pull-platform.
 */
export async function prepareFiles(
  engine: Engine,
  installation: Installation,
  plan: UpdatePlan,
  pulled: {
    images: ReadonlyMap<string, Image>;
    /** Where a tag leads to is not held against the target: before a pull, and of images that an archive has. */
    skipLag?: boolean;
    backup: string;
    early?: EarlyDraft | null;
    /** `sha256:…` of what the release ships, by name, where that is to be proven. */
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

/** The networks that a generated file changes and that compose would tear down for it. */
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

/** Compose's model of the draft; that of today where it changes nothing. */
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
