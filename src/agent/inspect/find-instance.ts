import { engineFacts, inspectContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { ownContainer } from '../../engine/own-container.ts';
import { HostPaths } from '../../files/host-paths.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Log } from '../log/log.ts';
import type { UpdateOptions } from '../process/options.ts';
import { version } from '../process/version.ts';
import { listProjects, locateProject, type ProjectPlace } from './locate-project.ts';

export interface FoundInstance {
  own: Container;
  paths: HostPaths;
  located: ProjectPlace;
  /** `linux/amd64` */
  platform: string;
  /** Whether the command line of this image and the engine understand each other. Refusal: engine-version. */
  fits: Promise<void>;
}

/** Meets the engine, finds the own container, its mounts, and the project to update. Refusals: all of those. */
export async function findInstance(engine: Engine, options: UpdateOptions, log: Log): Promise<FoundInstance> {
  const fits = engine.check();
  // Awaited before anything is decided: until then, other mistakes may come first.
  fits.catch(() => {});
  const [own, projects, { version: engineVersion, platform }, composeVersion] = await Promise.all([
    findOwnContainer(engine),
    listProjects(engine),
    engineFacts(engine),
    engine.callOrThrow(['compose', 'version', '--short']),
  ]).catch(async (error) => {
    // Where the engine cannot be used, this one knows best why.
    await fits;
    throw error;
  });
  const paths = new HostPaths(own.mounts);
  const located = await locateProject(projects, paths, options);
  log.info(
    `svc-updater ${version}, engine ${engineVersion}, compose ${composeVersion.trim()}; project ${located.name} in ${located.directory}`,
    {
      engine: engineVersion,
      compose: composeVersion.trim(),
      project: located.name,
      directory: located.directory,
    },
  );
  if (!paths.isWritable(located.mountedAt)) {
    throw new UpdateError('read-only', `the compose directory ${located.directory} is mounted read-only`);
  }
  return { own, paths, located, platform, fits };
}

/** The engine's view of the container this process runs in. @throws UpdateError own-container */
async function findOwnContainer(engine: Engine): Promise<Container> {
  const { id, name } = await ownContainer();
  const [own] = await inspectContainers(engine, [name]);
  if (own) return own;
  throw new UpdateError(
    'own-container',
    id
      ? `the engine on the socket does not know this container (${id.slice(0, 12)}): the socket is another engine's`
      : 'cannot tell which container this is',
  );
}
