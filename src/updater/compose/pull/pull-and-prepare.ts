import { stateName } from '../../../core/progress/state-name.ts';
import type { Image } from '../../../engine/container.ts';
import type { Expectations } from '../../run/expectations.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Journal } from '../../run/state/journal.ts';
import type { Planned } from '../facts/make-plan.ts';
import { prepareFiles } from '../facts/prepare-files.ts';
import type { Installation } from '../inspect/installation.ts';
import type { FilePlan } from '../plan/plan-files.ts';
import { movesOf } from '../plan/plan-update.ts';
import type { EarlyPull } from './early-pull.ts';
import { mountedImages, pullAdded, pullHookImages, pullMoves, withUntagged } from './obtain-images.ts';

/** What the run has before its first byte is written. */
export interface PreparedUpdate {
  filePlan: FilePlan;
  /** Local images by the references of the plan. */
  images: ReadonlyMap<string, Image>;
}

interface Pulled {
  installation: Installation;
  /** Null where nothing is to be proven. */
  expected: Expectations | null;
}

/**
 * The phase `pull`: every image is here, and what is to be written is proven. Nothing in the compose directory changes.
 * @param begun the pull that was begun before
 * @param journal null where images are fetched ahead of an update: then no tag that names an image here moves
 */
export async function pullAndPrepare(
  context: RunContext,
  { installation, plan, early, expected }: Pulled & Planned,
  journal: Journal | null,
  begun?: EarlyPull,
): Promise<PreparedUpdate> {
  const { engine, options, log } = context;
  log.enter('pull');
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  // Until all data is saved, nothing on the machine names the new version.
  const keepTags = journal === null || options.data.restorePoint;
  const pulled = await pullMoves(context, installation, plan, {
    ...{ deadline, journal, keepTags, expected },
    ...(begun && { begun }),
  });
  const backup = journal === null ? `${stateName}/backup` : `${stateName}/backup/${journal.data.run}`;
  const filePlan = await prepareFiles(engine, installation, plan, {
    images: pulled,
    backup,
    early: await early,
    proven: expected?.files,
    skipLag: options.proof.archive !== null,
    log,
  });
  const images = withUntagged(pulled, filePlan.references.values());
  const names = [...filePlan.references.keys(), ...installation.followers.map(({ name }) => name)];
  const mounted = await mountedImages(engine, filePlan.model, names, movesOf(plan));
  const added = new Map(
    [...filePlan.references, ...mounted].filter(([, reference]) => !images.has(reference)),
  );
  const more = await pullAdded(context, installation, added, {
    journal,
    keepTags,
    deadline,
    expected,
    moves: movesOf(plan),
  });
  await pullHookImages(context, installation, filePlan.model, { names, deadline });
  for (const warning of filePlan.warnings) log.warn(warning);
  return { filePlan, images: new Map([...images, ...more]) };
}
