import { inspectOwn } from '../../engine/api/own.ts';
import { engineFacts, type ListedContainer } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { EngineFault } from '../../engine/http/fault.ts';
import { ownTraces } from '../../engine/own-container.ts';
import { HostPaths } from '../../files/host-paths.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { programsOf } from '../process/programs.ts';
import { startEarly } from '../process/start-early.ts';
import { version } from '../process/version.ts';
import type { World } from '../process/world.ts';
import { hostLook } from './host-look.ts';
import { knownProjects, listComposed, locateProject, type ProjectPlace } from './locate-project.ts';

/** Where this run is, and what it is about. */
export interface FoundInstance {
  own: Container;
  paths: HostPaths;
  place: ProjectPlace;
  /** `linux/amd64` */
  platform: string;
  /** The containers of all compose projects of the engine. */
  composed: readonly ListedContainer[];
}

/** Meets the engine, finds the own container, its mounts, and the project to update. Refusals: all of those. */
export async function findInstance({ engine, options, log }: World): Promise<FoundInstance> {
  const facts = startEarly(engineFacts(engine));
  // Only what the engine says of itself tells in which version of its API the rest is asked.
  const [own, composed, { version: engineVersion, platform }, programs] = await Promise.all([
    facts.then(() => findOwnContainer(engine)),
    facts.then(() => listComposed(engine)),
    facts,
    programsOf(engine, facts),
  ]).catch(async (error) => {
    // The check has the best sentence for an engine that cannot be used; one that hangs would let it wait as long again.
    if (!isLate(error)) await engine.check();
    throw error;
  });
  const paths = new HostPaths(own.mounts);
  const place = await locateProject(knownProjects(composed), paths, options, hostLook(engine, own.imageId));
  log.info(
    `${options.product.name}-updater ${version}, engine ${engineVersion}, docker CLI ${programs.cli}, compose ${programs.compose}; project ${place.name} in ${place.directory}`,
    {
      engine: engineVersion,
      cli: programs.cli,
      compose: programs.compose,
      project: place.name,
      directory: place.directory,
    },
  );
  if (!paths.isWritable(place.mountedAt)) {
    throw new UpdateError('read-only', `the compose directory ${place.directory} is mounted read-only`);
  }
  return { own, paths, place, platform, composed };
}

const isLate = (error: unknown): boolean => {
  const { cause } = Object(error) as { cause?: unknown };
  return cause instanceof EngineFault && cause.kind === 'late';
};

/** The engine's view of the container this process runs in. @throws UpdateError own-container */
async function findOwnContainer(engine: Engine): Promise<Container> {
  const traces = await ownTraces();
  const { id } = traces;
  const own = await inspectOwn(engine, traces);
  if (own) return own;
  throw new UpdateError(
    'own-container',
    id
      ? `the engine on the socket does not know this container (${id.slice(0, 12)}): the socket is another engine's`
      : 'cannot tell which container this is',
  );
}
