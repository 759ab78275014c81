import { roleLabelOf } from '../../../core/progress/product.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { serviceOf } from '../../../engine/container.ts';
import { composeLabels } from '../../../engine/labels.ts';
import { withTargetOfArchive } from '../../run/expectations.ts';
import { type UpdateOptions, updateOptionsOf } from '../../run/options.ts';
import type { FirstContext, RunContext } from '../../run/run-context.ts';
import { withSettings } from '../../run/settings-file.ts';
import type { ProjectLocation } from './labelled-project.ts';

/** The value of the role label for a worker. */
const workerRole = 'worker';

/**
 * Adds the settings file of the compose directory and the workers of the project to the context.
 * @throws UpdateError settings-invalid, engine-unavailable
 */
export async function withProjectOptions(
  { line, ...context }: FirstContext,
  place: ProjectLocation,
): Promise<RunContext> {
  const options = updateOptionsOf(await withSettings(line, place.mountedAt, context.log));
  context.notifier.addresses = options.notify;
  return withWorkers({ ...context, options: await withTargetOfArchive(options) }, place.name);
}

/**
 * Adds the services that are labelled as workers to the context, unless the operator specifies services
 * (docs/contract.md 2.22). The compose files, which are read later, usually have the same labels.
 * @throws UpdateError engine-unavailable
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
  const listed = await engine.listContainers({ label });
  const containers = await engine.inspectContainers(listed.map(({ id }) => id));
  const images = await engine.inspectImages(containers.map(({ imageId }) => imageId));
  // Containers inherit the labels of their image, and app and worker may share an image.
  const own = containers.filter((_, at) => images[at]?.labels[roleLabel] !== workerRole);
  return { ...context, options: { ...options, workers: workersOr(own.map(serviceOf), options) } };
}

/**
 * Returns the workers in compose's model. For services with a profile, which are not in the model, the labels of their
 * containers are used.
 */
export function workersOf({ services }: ComposeModel, options: UpdateOptions): readonly string[] {
  if (options.servicesNamed) return options.workers;
  const roleLabel = roleLabelOf(options.product);
  const labelled = Object.keys(services).filter((name) => services[name]?.labels?.[roleLabel] === workerRole);
  const unseen = options.workers.filter(
    (name) => !(name in services) && !usualWorkers(options).includes(name),
  );
  return workersOr([...labelled, ...unseen], options);
}

/** Returns the default workers, which are used if neither the operator nor a label specifies any. */
const usualWorkers = ({ product }: UpdateOptions): readonly string[] => product.services.slice(1);

/** Returns these names, or the default workers if there are none. */
function workersOr(names: readonly string[], options: UpdateOptions): readonly string[] {
  const workers = [...new Set(names)].filter((name) => name !== options.app).sort();
  return workers.length > 0 ? workers : usualWorkers(options);
}
