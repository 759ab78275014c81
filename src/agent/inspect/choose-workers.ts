import { inspectContainers, inspectImages, listContainers } from '../../engine/api/query.ts';
import { serviceOf } from '../../engine/container.ts';
import { composeLabels } from '../../engine/labels.ts';
import { roleLabelOf } from '../../progress/product.ts';
import type { FileValues, UpdateOptions } from '../process/options.ts';
import type { RunContext } from '../process/run-context.ts';
import { withSettings } from '../process/settings-file.ts';
import type { ProjectPlace } from './labelled-project.ts';
import { workerRole, workersOr } from './services/choose-services.ts';

/** Reads the command line again, with what a settings file says. */
export type ReadOptions = (file: FileValues) => UpdateOptions;

/**
 * The context with what the settings file in the compose directory says, and with the workers of the project.
 * @throws UpdateError settings-invalid, engine-away
 */
export async function withProjectOptions(
  context: RunContext,
  place: ProjectPlace,
  read: ReadOptions,
): Promise<RunContext> {
  const options = await withSettings(place.mountedAt, context.options, read, context.log);
  return withWorkers({ ...context, options }, place.name);
}

/**
 * The context with the services that labels of the project's containers call workers, where the operator names none
 * (docs/contract.md 2.22). The files, which are read later, mostly say the same.
 * @throws UpdateError engine-away
 */
export async function withWorkers(context: RunContext, project: string): Promise<RunContext> {
  const { engine, options } = context;
  if (options.servicesNamed) return context;
  const roleLabel = roleLabelOf(options.product);
  const label = [
    `${composeLabels.project}=${project}`,
    `${composeLabels.oneOff}=False`,
    `${roleLabel}=${workerRole}`,
  ];
  const listed = await listContainers(engine, { label });
  const containers = await inspectContainers(
    engine,
    listed.map(({ id }) => id),
  );
  const images = await inspectImages(
    engine,
    containers.map(({ imageId }) => imageId),
  );
  // A container has the labels of its image as well, and app and worker may be of one image.
  const own = containers.filter((_, at) => images[at]?.labels[roleLabel] !== workerRole);
  return { ...context, options: { ...options, workers: workersOr(own.map(serviceOf), options) } };
}
