import { UpdateError } from '../../../core/errors/update-error.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { RunContext } from '../../run/run-context.ts';
import { requireNoDataLoss } from '../checks/check-volumes.ts';
import { runPreflight } from '../checks/run-preflight.ts';
import type { PreparedPlan, ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import { hashPlan } from '../prepare/hash-plan.ts';
import { preparePlan } from '../prepare/prepare-plan.ts';
import type { BackgroundPull } from './background-pull.ts';
import {
  addUntaggedReferences,
  findMountedImages,
  type PreviousTagJournal,
  pullAddedImages,
  pullHookImages,
  pullUpdatedImages,
} from './pull-updated-images.ts';

interface PullInputs {
  earlyModel: Promise<ComposeModel | null>;
  /** Null for a prefetch, which must not change local tags. */
  journal: PreviousTagJournal | null;
  backgroundPull?: BackgroundPull;
}

/**
 * Runs the `pull` phase: pulls all images and checks the planned file changes. Changes nothing in the compose
 * directory.
 */
export async function runPullPhase(
  context: RunContext,
  plan: ProjectUpdatePlan,
  { earlyModel: early, journal, backgroundPull }: PullInputs,
): Promise<PreparedPlan> {
  const { installation, updates, expected } = plan;
  const { engine, options, log } = context;
  log.enterPhase('pull');
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  // Until all data is saved, no local tag may point to the new version.
  const keepTags = journal === null || options.data.restorePoint;
  const pulled = await pullUpdatedImages(context, plan, {
    deadline,
    journal,
    shouldKeepTags: keepTags,
    backgroundPull,
  });
  const backup =
    journal === null ? `${stateDirectoryName}/backup` : `${stateDirectoryName}/backup/${journal.data.run}`;
  const prepared = await preparePlan(engine, plan, {
    images: pulled,
    backup,
    early,
    proven: expected?.files,
    skipLag: options.proof.archive !== null,
    log,
  });
  const { references, model } = prepared;
  const images = addUntaggedReferences(pulled, references.values());
  const names = [...references.keys(), ...installation.followers.map(({ name }) => name)];
  const mounted = await findMountedImages(engine, model, names, updates);
  const added = new Map([...references, ...mounted].filter(([, reference]) => !images.has(reference)));
  const more = await pullAddedImages(context, plan, added, { journal, shouldKeepTags: keepTags, deadline });
  await pullHookImages(context, installation, model, { names, deadline });
  for (const warning of prepared.laterWarnings) log.warn(warning);
  const result = { ...prepared, images: new Map([...images, ...more]) };
  if (context.rehearsedPlan && context.rehearsedPlan !== hashPlan(result))
    throw new UpdateError(
      'rehearsal-inconclusive',
      'files or images have changed since the update was rehearsed, so it was not installed',
    );
  await requireNoDataLoss(engine, result);
  if (journal !== null) await runPreflight(context, result);
  return result;
}
