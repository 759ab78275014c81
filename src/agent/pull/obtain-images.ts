import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Installation } from '../inspect/installation.ts';
import type { FilePlan } from '../plan/plan-files.ts';
import type { UpdatePlan } from '../plan/plan-update.ts';
import type { RunContext } from '../process/run-context.ts';
import type { Journal } from '../state/journal.ts';
import { pullImages } from './pull-images.ts';
import { localImages, tagsBefore } from './tags.ts';

/** Images by reference, all of them local. */
export async function pullMoves(
  context: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  deadline: number,
): Promise<Map<string, Image>> {
  const { engine, log } = context;
  const wanted = new Map(
    plan.moves.filter(({ pull }) => pull).map(({ service, to }) => [service, to] as const),
  );
  for (const { service, to, pull } of plan.moves) {
    if (!pull) log.info(`${service} has pull_policy never: the local ${to} counts`);
  }
  if (wanted.size > 0) {
    await pullImages(
      installation.compose,
      wanted,
      { deadline, platform: installation.platform },
      engine,
      log,
    );
  }
  return requireLocal(
    engine,
    plan.moves.map(({ to }) => to),
  );
}

/** Images that only the new files name, for the services that are recreated. */
export async function pullAdded(
  context: RunContext,
  installation: Installation,
  filePlan: FilePlan,
  images: Map<string, Image>,
  journal: Journal,
  deadline: number,
): Promise<void> {
  const { engine, log } = context;
  const added = new Map([...filePlan.references].filter(([, reference]) => !images.has(reference)));
  if (added.size === 0) return;
  await journal.write({ tags: [...journal.data.tags, ...(await tagsBefore(engine, added.values()))] });
  await pullImages(
    installation.compose,
    added,
    { deadline, platform: installation.platform, percent: false },
    engine,
    log,
  );
  for (const [reference, image] of await requireLocal(engine, added.values())) images.set(reference, image);
}

async function requireLocal(engine: Engine, references: Iterable<string>): Promise<Map<string, Image>> {
  const list = [...references];
  const images = await localImages(engine, list);
  const missing = list.find((reference) => !images.has(reference));
  if (missing) throw new UpdateError('pull-failed', `${missing} is not on this machine`);
  return images;
}
