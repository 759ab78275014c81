import { roleLabelOf } from '../../../core/names/product.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import { addSettingsFromFile } from '../../run/options/settings-file.ts';
import { type UpdateOptions, updateOptionsOf } from '../../run/options/update-options.ts';
import { addTargetFromArchive } from '../../run/release/expected-digests.ts';
import type { InitialRunContext, RunContext } from '../../run/run-context.ts';
import type { ProjectLocation } from './find-project/labeled-project.ts';

const workerRole = 'worker';

/**
 * Adds the settings from the settings file in the compose directory, and the project's workers, to the options.
 * @throws UpdateError settings-invalid, engine-unavailable
 */
export async function addProjectOptions(
  { line, ...context }: InitialRunContext,
  location: ProjectLocation,
): Promise<RunContext> {
  const options = updateOptionsOf(await addSettingsFromFile(line, location.mountedAt, context.log));
  context.notifier.addresses = options.notify;
  return addLabeledWorkers({ ...context, options: await addTargetFromArchive(options) }, location.name);
}

/**
 * Adds services whose containers are labeled as workers, unless the operator specifies services (docs/contract.md
 * 2.22). The compose files usually have the same labels, but are read only later.
 * @throws UpdateError engine-unavailable
 */
export async function addLabeledWorkers(context: RunContext, project: string): Promise<RunContext> {
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
  // A worker label from the image does not count, because the app may use that image.
  const own = containers.filter((_, at) => images[at]?.labels[roleLabel] !== workerRole);
  return { ...context, options: { ...options, workers: workersOr(own.map(serviceOf), options) } };
}

/**
 * Returns the workers labeled in compose's model. For a worker that is not in the model, the labels of its containers
 * are used.
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

/** Returns the workers that are used if neither the operator nor a label specifies any. */
const usualWorkers = ({ product }: UpdateOptions): readonly string[] => product.services.slice(1);

/** Sorts the workers and removes the app. Returns the default workers if none are left. */
function workersOr(names: readonly string[], options: UpdateOptions): readonly string[] {
  const workers = [...new Set(names)].filter((name) => name !== options.app).sort();
  return workers.length > 0 ? workers : usualWorkers(options);
}
