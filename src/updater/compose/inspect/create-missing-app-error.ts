import { UpdateError } from '../../../core/errors/update-error.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import { findLargestComposeLabelGroup } from '../../../engine/comparison/find-unrelated-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { FoundInstance } from './find-project/find-instance.ts';
import { parseProjectLabels } from './find-project/labeled-project.ts';
import { linkProjectPaths, readProject } from './project-files/read-project.ts';
import { formatServiceChoiceLines, type ServiceChoice, serviceChoicesOf } from './services/choices.ts';
import { serviceImagesOf } from './services/related-services.ts';

type Context = Pick<RunContext, 'engine' | 'log' | 'options'>;
type Found = Pick<FoundInstance, 'paths' | 'location' | 'specifiedContainer'>;

/** Returns the last running container, or the last container if none is running. */
export const lastRunningContainerOf = (containers: readonly Container[]): Container | undefined =>
  containers.findLast(isUp) ?? containers.at(-1);

/** Creates the error for an app without containers, with the services that can be specified instead. */
export async function createMissingAppError(
  context: Context,
  found: Found,
  containers: readonly Container[],
): Promise<UpdateError> {
  const { name, directory } = found.location;
  const { app } = context.options;
  const names = [...new Set(containers.map(serviceOf))].sort().join(', ');
  const choices = await choicesIn(context, found, containers).catch((error): ServiceChoice[] => {
    // Errors are ignored here, because they must not replace the error about the missing app.
    if (error instanceof UpdateError && error.outcome === 'refused') return [];
    throw error;
  });
  const next =
    choices.length === 0
      ? 'Start the instance once with {up}, or specify the app service with --service.'
      : `Add one of the lines above to ${settingsFileName}, or specify the same services with --service, starting with the app.`;
  return new UpdateError('no-app', `project ${name} in ${directory} has no container for service ${app}`, {
    detail: formatServiceChoiceLines(choices),
    advice: `Services with containers: ${names || 'none'}. ${next}`,
  });
}

/**
 * Returns a running project's services that can be updated together. Empty if the app only has to be started. Changes
 * nothing outside this container.
 */
async function choicesIn(
  { engine, log, options: { app } }: Context,
  { paths, location, specifiedContainer: told }: Found,
  containers: readonly Container[],
): Promise<ServiceChoice[]> {
  const telling =
    told ?? lastRunningContainerOf(findLargestComposeLabelGroup(containers, location.directory));
  if (telling === undefined) return [];
  const project = parseProjectLabels(telling, location, containers);
  await linkProjectPaths(project, paths, log);
  const about = { containers, services: [] };
  const { files, model } = await readProject(new Compose(engine, project), paths, about, log);
  // If the files contain the app, no choice is needed: the app only has to be started.
  if (app in model.services) return [];
  const running = serviceImagesOf(files, model)
    .filter(({ name }) => containers.some((each) => serviceOf(each) === name))
    .map((each) => {
      const { ports, network_mode } = model.services[each.name] ?? {};
      return { ...each, isReachable: (ports ?? []).length > 0 || network_mode === 'host' };
    });
  return serviceChoicesOf(running);
}
