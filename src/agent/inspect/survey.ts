import type { ProjectFiles } from '../../compose/project-files.ts';
import { Compose, type ComposeProject, type Model } from '../../engine/cli/compose.ts';
import { type Container, isUp, serviceOf } from '../../engine/container.ts';
import { agreeing } from '../../engine/foreign-containers.ts';
import type { Product } from '../../progress/product.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { RunContext } from '../process/run-context.ts';
import type { FoundInstance } from './find-instance.ts';
import { labelledProject } from './labelled-project.ts';
import { type Choice, choiceLines, choicesOf, flagsOf, type RunningService } from './services/choices.ts';
import { imagesOf } from './services/together.ts';
import { givePaths, viewProject } from './view-project.ts';

/** A project of which nobody knows yet what is to be updated. */
export interface Survey {
  project: ComposeProject;
  files: ProjectFiles;
  model: Model;
  /** The services that have containers and name an image. */
  running: readonly RunningService[];
}

/**
 * Looks at all services of a running project; changes nothing but this container's own file system.
 * Refusals: no-app, outside-mounts, path-taken, compose-invalid.
 */
export async function surveyProject(
  { engine, log }: Pick<RunContext, 'engine' | 'log'> & { product: Product },
  { paths, place, told }: Pick<FoundInstance, 'paths' | 'place' | 'told'>,
  containers: readonly Container[],
): Promise<Survey> {
  const own = agreeing(containers, place.directory);
  const telling = told ?? lastUp(own);
  if (telling === undefined) {
    throw new UpdateError('no-app', `project ${place.name} in ${place.directory} has no container`);
  }
  const project = await labelledProject(telling, { place, containers, names: [] }, paths);
  await givePaths(project, paths, log);
  const compose = new Compose(engine, project);
  const about = { containers, services: [] };
  const { files, model } = await viewProject(compose, paths, about, log);
  const running = imagesOf(files, model)
    .filter(({ name }) => containers.some((each) => serviceOf(each) === name))
    .map((each) => {
      const { ports, network_mode } = model.services[each.name] ?? {};
      return { ...each, isReached: (ports ?? []).length > 0 || network_mode === 'host' };
    });
  return { project, files, model, running };
}

/** The last of them that is up, else the last. */
export const lastUp = (containers: readonly Container[]): Container | undefined =>
  containers.findLast(isUp) ?? containers.at(-1);

/** The refusal where there is no container of the app, with what may be named in its place. */
export async function withoutApp(
  { engine, log, options: { app, product } }: Pick<RunContext, 'engine' | 'log' | 'options'>,
  found: Pick<FoundInstance, 'paths' | 'place' | 'told'>,
  containers: readonly Container[],
): Promise<UpdateError> {
  const { name, directory } = found.place;
  const names = [...new Set(containers.map(serviceOf))].sort().join(', ');
  const choices = await surveyProject({ engine, log, product }, found, containers)
    // An app that is in the files only has to be started.
    .then(({ running, model }) => (app in model.services ? [] : choicesOf(running)))
    .catch((error): Choice[] => {
      // The refusal stands without them.
      if (error instanceof UpdateError && error.outcome === 'refused') return [];
      throw error;
    });
  const [only, ...others] = choices;
  const next =
    only === undefined
      ? 'Start the instance once with docker compose up -d, or name the app service with --service.'
      : others.length > 0
        ? 'Run it with the flags of one of the lines above; init writes them down.'
        : `What belongs together there is updated with ${flagsOf(only)}; init writes that down.`;
  return new UpdateError('no-app', `project ${name} in ${directory} has no container of service ${app}`, {
    detail: others.length > 0 ? choiceLines(choices) : [],
    advice: `Its containers are of ${names || 'no service'}. ${next}`,
  });
}
