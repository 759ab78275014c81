import { UpdateError } from '../../../../core/errors/update-error.ts';
import { HostPaths } from '../../../../core/mounts/host-paths.ts';
import type { Engine } from '../../../../engine/cli/engine.ts';
import {
  composeOriginOf,
  expectedComposeLabelsOf,
  findUnrelatedContainers,
} from '../../../../engine/comparison/find-unrelated-containers.ts';
import type { Container, ListedContainer } from '../../../../engine/objects/container.ts';
import { readOwnContainerClues } from '../../../../engine/self/find-own-container.ts';
import { deferRejection } from '../../../run/defer-rejection.ts';
import { requireCompatiblePrograms, updaterVersion } from '../../../run/environment/program-versions.ts';
import { requireEngine } from '../../../run/environment/require-engine.ts';
import type { UpdateOptions } from '../../../run/options/update-options.ts';
import type { RunContext } from '../../../run/run-context.ts';
import { isRunUnfinished, type JournalData, readJournals } from '../../../run/state/journal.ts';
import { createHostDirectoryInspector } from './host-directory-inspector.ts';
import {
  groupContainersByProject,
  listComposeContainers,
  type ProjectLocation,
  type ProjectSummary,
} from './labeled-project.ts';
import { journalDirectoriesOf, journaledProjectOf, locateProject } from './locate-project.ts';
import {
  explainMissingProject,
  requireComposeContainers,
  requireTestedPodman,
} from './require-compose-containers.ts';

/** The updater's own container and the project to update. */
export interface FoundInstance {
  own: Container;
  paths: HostPaths;
  location: ProjectLocation;
  /** Platform of the engine, such as `linux/amd64`. */
  platform: string;
  /** Containers of all compose projects on the engine, including the project to update. */
  composed: readonly ListedContainer[];
  /**
   * Container specified in the options; its labels identify the project. Null if no container is specified, or if this
   * run has already replaced it.
   */
  specifiedContainer: ListedContainer | null;
}

/**
 * Finds the updater's own container, its mounts, and the project to update.
 * @throws UpdateError read-only if the compose directory is mounted read-only
 */
export async function findInstance({ engine, options, log }: RunContext): Promise<FoundInstance> {
  const cachedEngine = engine.cached();
  const facts = deferRejection(requireEngine(cachedEngine));
  // The other requests wait for `facts`, because the engine's first response determines their API version.
  const [own, { version: engineVersion, platform }, composed, programs] = await Promise.all([
    facts.then(() => requireOwnContainer(cachedEngine)),
    facts,
    facts.then(() => listComposeContainers(cachedEngine)),
    requireCompatiblePrograms(engine, facts),
  ]);
  requireTestedPodman(engine);
  const paths = new HostPaths(own.mounts);
  const told = composed.find(({ id }) => id === options.container) ?? null;
  const isGone = options.container !== null && told === null;
  const known = isGone
    ? [await projectOf(own, paths, options)]
    : groupContainersByProject(told ? [told] : composed);
  const location = await locateProject(
    known,
    paths,
    options,
    createHostDirectoryInspector(engine, own.imageId),
  ).catch(async (error) => {
    throw await explainMissingProject(engine, error);
  });
  const { cli, compose } = programs;
  const { name: project, directory } = location;
  log.info(
    `${options.product.name}-updater ${updaterVersion}, engine ${engineVersion}, docker CLI ${cli}, compose ${compose}; project ${project} in ${directory}`,
    { engine: engineVersion, cli, compose, project, directory },
  );
  if (!paths.isWritable(location.mountedAt)) {
    throw new UpdateError('read-only', `the compose directory ${directory} is mounted read-only`);
  }
  return { own, paths, location, platform, composed, specifiedContainer: told };
}

/**
 * Rejects a project with unrelated containers (docs/contract.md 4.10) before any container is read, counted or stopped.
 * @param containers - the project's containers, without compose's leftovers
 * @param journal - the journal of the previous run, or of this run if it was interrupted
 * @throws UpdateError unrelated-container, not-compose
 */
export function requireNoUnrelatedContainers(
  containers: readonly Container[],
  { own, location, specifiedContainer: told }: FoundInstance,
  { app, container }: { app: string; container: string | null },
  journal: JournalData | null,
): void {
  requireComposeContainers(containers);
  // Containers that an interrupted update created may have other labels, such as another env file.
  const run =
    journal !== null && (isRunUnfinished(journal) || journal.containerId === own.id) ? journal : null;
  const before = new Set(run?.containers.map(({ id }) => id));
  const foreign = findUnrelatedContainers(containers, {
    project: location.name,
    directory: location.directory,
    app,
    knownOrigins: new Set([
      ...(told === null ? [] : [composeOriginOf(told)]),
      ...(run === null ? [] : [expectedComposeLabelsOf(run.project)]),
      ...containers.filter(({ id }) => before.has(id)).map(composeOriginOf),
    ]),
    serverId: container,
    isHalfReplaced: run !== null && run.changeover !== null,
  });
  if (foreign === null) return;
  throw new UpdateError('unrelated-container', foreign.message, { advice: foreign.advice });
}

/**
 * Finds the project of a specified container that no longer exists. If this restarted updater had replaced the
 * container, its journal contains the project.
 * @throws UpdateError no-app if there is no such journal
 */
async function projectOf(own: Container, paths: HostPaths, options: UpdateOptions): Promise<ProjectSummary> {
  const journals = await readJournals(journalDirectoriesOf(paths, options));
  const ours = journals.find(({ containerId }) => containerId === own.id);
  if (ours) return journaledProjectOf(ours);
  const message = `no compose project contains container ${options.container?.slice(0, 12)}`;
  const advice = 'The container was replaced after the update was requested; run {command} again.';
  throw new UpdateError('no-app', message, { advice });
}

/** Inspects the container that this process runs in. @throws UpdateError own-container */
export async function requireOwnContainer(engine: Engine): Promise<Container> {
  const traces = await readOwnContainerClues();
  const { id } = traces;
  const own = await engine.findOwnContainer(traces);
  if (own) return own;
  throw new UpdateError(
    'own-container',
    id
      ? `the mounted socket belongs to an engine that does not run this container (${id.slice(0, 12)})`
      : 'cannot determine which container the updater is running in',
  );
}
