import { UpdateError } from '../../progress/update-error.ts';
import { type DataFacts, declareData } from '../data/declare.ts';
import type { DataWork } from '../data/kind.ts';
import { placeOf, pointsDirectory } from '../data/point.ts';
import { describePoint, type PlannedPoint, surveyPoint } from '../data/survey-point.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { type Installation, replacedServices } from '../inspect/installation.ts';
import type { UpdateOptions } from '../process/options.ts';
import type { RunContext } from '../process/run-context.ts';

/**
 * What the restore point of the run is to hold, held against what is there, and said; null where none was asked for.
 * Refusals: engine-version, data-unsaid, data-unfit, no-space, outside-mounts.
 */
export async function planPoint(
  { engine, options, log }: RunContext,
  { own, paths }: FoundInstance,
  installation: Installation,
): Promise<PlannedPoint | null> {
  if (!options.restorePoint) return null;
  if (engine.isPodman) {
    const message = 'restore points are not tried on podman';
    const advice = 'Update without --restore-point, after a backup of your own.';
    throw new UpdateError('engine-version', message, { advice });
  }
  const { project } = installation;
  const directory = pointsDirectory(options.restoreDir, paths, project);
  const facts = dataFacts(installation, options);
  const { moved } = facts;
  const declared = declareData(facts);
  const work: DataWork = { engine, log, project: project.name, moved, toolsImage: own.imageId };
  // There is no directory for the point yet; the one above is on the same disk.
  const above = options.restoreDir === null ? project.directory : directory;
  const place = { ...placeOf(directory, project), name: 'survey', here: above, host: above };
  for (const line of describePoint(await surveyPoint(declared, place, work))) log.info(line);
  return { declared, directory };
}

/** What is said of the data of an installation, and what there is. */
export const dataFacts = (installation: Installation, { data }: UpdateOptions): DataFacts => ({
  ...installation,
  moved: replacedServices(installation).map(({ name }) => name),
  said: data,
});
