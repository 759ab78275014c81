import { takeBlueprints } from '../../../engine/api/blueprint.ts';
import { copiedPaths } from '../../../engine/api/copied-files.ts';
import { proveCopies } from '../../../engine/api/scratch.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import type { PointPlace } from '../../data/kind.ts';
import type { RunContext } from '../../process/run-context.ts';
import type { Changeover } from '../../state/changeover.ts';
import type { Journal } from '../../state/journal.ts';

/** Notes what it takes to go back before anything is replaced, while everything still runs. */
export async function keepWayBack(
  { engine, log }: RunContext,
  journal: Journal,
  changeover: Changeover,
  { model, project }: { model: Model; project: { name: string } },
  point: PointPlace | null,
): Promise<void> {
  const names = new Set(changeover.moved.map(({ name }) => name));
  const moved = changeover.containers.filter((record) => names.has(record.service));
  const blueprints = await takeBlueprints(
    engine,
    moved.map(({ id }) => id),
    new Map(moved.map((record) => [record.id, copiedPaths(model.services[record.service])])),
  );
  for (const { name, lost } of blueprints.filter((each) => each.lost.length > 0)) {
    log.warn(`${lost.join(', ')} in ${name} cannot be kept for a way back: compose put it there`);
  }
  for (const blueprint of blueprints) await proveCopies(engine, blueprint, project.name);
  const made = point && { directory: point.host, kept: null, isBack: false };
  await journal.write({ phase: made ? 'save' : 'recreate', changeover, blueprints, point: made });
}
