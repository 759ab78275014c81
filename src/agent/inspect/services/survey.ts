import type { ProjectFiles } from '../../../compose/project-files.ts';
import { Compose, type ComposeProject, type Model } from '../../../engine/cli/compose.ts';
import { type Container, isUp, serviceOf } from '../../../engine/container.ts';
import { agreeing } from '../../../engine/foreign-containers.ts';
import type { Product } from '../../../progress/product.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import type { RunContext } from '../../process/run-context.ts';
import type { FoundInstance } from '../find-instance.ts';
import { labelledProject } from '../labelled-project.ts';
import { givePaths, viewProject } from '../view-project.ts';
import { flags } from './check-named.ts';
import { type Candidate, proposeServices } from './propose.ts';
import { imagesOf } from './together.ts';

/** A project of which nobody knows yet what is to be updated. */
export interface Survey {
  project: ComposeProject;
  files: ProjectFiles;
  model: Model;
  /** The services that have containers and name an image. */
  candidates: readonly Candidate[];
}

/**
 * Looks at all services of a running project; changes nothing but this container's own file system.
 * Refusals: no-app, outside-mounts, path-taken, compose-invalid.
 */
export async function surveyProject(
  { engine, log, product }: Pick<RunContext, 'engine' | 'log'> & { product: Product },
  { paths, place, told }: Pick<FoundInstance, 'paths' | 'place' | 'told'>,
  containers: readonly Container[],
): Promise<Survey> {
  const own = agreeing(containers, place.directory);
  const telling = told ?? own.findLast(isUp) ?? own.at(-1);
  if (telling === undefined) {
    throw new UpdateError('no-app', `project ${place.name} in ${place.directory} has no container`);
  }
  const project = await labelledProject(telling, { place, containers, names: [] }, paths, log);
  await givePaths(project, paths, log);
  const compose = new Compose(engine, project);
  const about = { containers, services: [], product };
  const { files, model } = await viewProject(compose, paths, about, log);
  const candidates = imagesOf(files, model).flatMap((each): Candidate[] => {
    const own = containers.filter((container) => serviceOf(container) === each.name);
    const hasHealthCheck = own.some(({ health }) => health !== null);
    return own.length === 0 ? [] : [{ ...each, model: model.services[each.name] ?? {}, hasHealthCheck }];
  });
  return { project, files, model, candidates };
}

/** The refusal where there is no container of the app, with what to name where nobody has named any. */
export async function withoutApp(
  context: Pick<RunContext, 'engine' | 'log' | 'options'>,
  found: Pick<FoundInstance, 'paths' | 'place' | 'told'>,
  containers: readonly Container[],
): Promise<UpdateError> {
  const { app } = context.options;
  const { place } = found;
  const names = [...new Set(containers.map(serviceOf))].sort().join(', ');
  const flagsToType = names === '' ? null : await proposedFlags(context, found, containers);
  const start = `Its containers are of ${names || 'no service'}.`;
  return new UpdateError(
    'no-app',
    `project ${place.name} in ${place.directory} has no container of service ${app}`,
    {
      advice:
        flagsToType === null
          ? `${start} Start the instance once with docker compose up -d, or name the app service with --service.`
          : `${start} What belongs together there is updated with ${flagsToType}; init writes that down.`,
    },
  );
}

/** Null where nothing can be proposed: the refusal stands without it. */
async function proposedFlags(
  { engine, log, options: { app, product } }: Pick<RunContext, 'engine' | 'log' | 'options'>,
  found: Pick<FoundInstance, 'paths' | 'place' | 'told'>,
  containers: readonly Container[],
): Promise<string | null> {
  try {
    const seen = await surveyProject({ engine, log, product }, found, containers);
    const { candidates, project, model } = seen;
    // The app is there, and only has to be started.
    if (app in model.services) return null;
    const proposal = proposeServices(candidates, project.name);
    if (proposal === null) return null;
    return flags(
      'service',
      [proposal.app, ...proposal.workers].map(({ name }) => name),
    );
  } catch (error) {
    if (error instanceof UpdateError && error.outcome === 'refused') return null;
    throw error;
  }
}
