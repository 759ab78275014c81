import { isHook } from '../../engine/api/project-containers.ts';
import { listContainers } from '../../engine/api/query.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import type { ListedContainer } from '../../engine/container-details.ts';
import { composeLabels } from '../../engine/labels.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import type { Log } from '../log/log.ts';
import { envFilesAbove } from './env-file-above.ts';
import { type LabelledProject, labelledPaths, readProject } from './label-paths.ts';

/** A compose project as the labels of its containers tell of it. */
export interface KnownProject {
  name: string;
  /** As compose was started with it, on the host. */
  directory: string;
  services: Set<string>;
}

/** The project as the labels of a container tell of it, with the env file above it that names its files. */
export async function labelledProject(
  telling: Pick<Container, 'labels'>,
  project: LabelledProject,
  paths: HostPaths,
  log: Log,
): Promise<ComposeProject> {
  const labelled = await readProject(telling, project, paths);
  const above = await envFilesAbove(labelled, paths);
  for (const path of above)
    log.info(`${path} belongs to the instance: COMPOSE_FILE in ${above.at(-1)} names its files`);
  return above.length > 0 ? { ...labelled, envFiles: above } : labelled;
}

/** Every project but the one of that name, each by what it was started from. @param composed containers of all projects */
export function projectsBeside(composed: readonly ListedContainer[], name: string): ComposeProject[] {
  const found = new Map<string, ComposeProject>();
  for (const { labels } of composed) {
    const directory = labels[composeLabels.directory] ?? '';
    const paths = labelledPaths({ labels }, directory);
    const project = { name: labels[composeLabels.project] ?? '', directory, ...paths };
    if (project.name !== name) found.set(JSON.stringify(project), project);
  }
  return [...found.values()];
}

/** Every container that compose has made on this engine, but for hooks. @throws UpdateError engine-away */
export const listComposed = async (engine: Engine): Promise<ListedContainer[]> =>
  (await listContainers(engine, { label: [composeLabels.project] })).filter((each) => !isHook(each));

/** @param composed the containers of all projects */
export function knownProjects(composed: readonly ListedContainer[]): KnownProject[] {
  const rows = new Map<string, KnownProject>();
  for (const { labels } of composed) {
    const [name = '', directory = '', service = ''] = [
      composeLabels.project,
      composeLabels.directory,
      composeLabels.service,
    ].map((label) => labels[label]);
    const key = `${name}\n${directory}`;
    const row = rows.get(key) ?? { name, directory, services: new Set<string>() };
    row.services.add(service);
    rows.set(key, row);
  }
  return [...rows.values()];
}
