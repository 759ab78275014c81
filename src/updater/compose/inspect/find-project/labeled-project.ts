import { isAbsolute } from 'node:path';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { ComposeProject } from '../../../../engine/cli/compose.ts';
import type { Engine } from '../../../../engine/cli/engine.ts';
import {
  findServicesWithUnderscoreNames,
  isHookContainer,
} from '../../../../engine/containers/project-containers.ts';
import type { Container, ListedContainer } from '../../../../engine/objects/container.ts';
import { composeLabels, rehearsalLabel } from '../../../../engine/objects/labels.ts';

/** A compose project as described by the labels of its containers. */
export interface ProjectSummary {
  name: string;
  /** Host path of the project directory. */
  directory: string;
  services: Set<string>;
  /** Paths of the compose files, from the labels of one of the containers. */
  files: readonly string[];
}

/**
 * Returns all projects except `name` and the projects of rehearsals, each with the files that the labels of its containers list.
 * @param composed - the containers of all projects
 */
export function listOtherProjects(composed: readonly ListedContainer[], name: string): ComposeProject[] {
  const found = new Map<string, ComposeProject>();
  for (const { labels } of composed) {
    const directory = labels[composeLabels.directory] ?? '';
    const paths = parseLabelPaths({ labels }, directory);
    const project = { name: labels[composeLabels.project] ?? '', directory, ...paths };
    if (project.name !== name && labels[rehearsalLabel] === undefined)
      found.set(JSON.stringify(project), project);
  }
  return [...found.values()];
}

/**
 * Lists the containers of all compose projects, except hook containers.
 * @throws UpdateError engine-unavailable
 */
export async function listComposeContainers(engine: Engine): Promise<ListedContainer[]> {
  return (await engine.listContainers({ label: [composeLabels.project] })).filter(
    (each) => !isHookContainer(each),
  );
}

/**
 * Groups containers into projects by name and directory.
 * @param composed - the containers of all projects
 */
export function groupContainersByProject(composed: readonly ListedContainer[]): ProjectSummary[] {
  const rows = new Map<string, ProjectSummary>();
  for (const { labels } of composed) {
    const { project, directory: from, service: of } = composeLabels;
    const [name = '', directory = '', service = ''] = [project, from, of].map((label) => labels[label]);
    const key = `${name}\n${directory}`;
    const { files } = parseLabelPaths({ labels }, directory);
    const row = rows.get(key) ?? { name, directory, services: new Set<string>(), files };
    row.services.add(service);
    rows.set(key, row);
  }
  return [...rows.values()];
}

export interface ProjectLocation {
  name: string;
  /** Host path of the project directory, exactly as in the labels. */
  directory: string;
  /** Path of the project directory inside this container. */
  mountedAt: string;
}

/**
 * Reads the project from a container's labels.
 * @throws UpdateError compose-invalid if the labels list no compose file, or a compose file without an absolute path
 */
export function parseProjectLabels(
  telling: Pick<Container, 'labels'>,
  { name, directory }: ProjectLocation,
  containers: readonly Container[],
): ComposeProject {
  const labelled = parseLabelPaths(telling, directory);
  if (labelled.files.length === 0 || !labelled.files.every((file) => isAbsolute(file)))
    throw notFound(labelled.files);
  const oldNames = findServicesWithUnderscoreNames(containers);
  return { name, directory, ...labelled, ...(oldNames.length > 0 && { oldNames }) };
}

/** Returns the paths of the compose files and env files that compose was started with. */
export function parseLabelPaths(
  { labels }: Pick<Container, 'labels'>,
  directory: string,
): Pick<ComposeProject, 'files' | 'envFiles'> {
  const list = (label: string) => splitLabelPaths(labels[label] ?? '', directory);
  return { files: list(composeLabels.files), envFiles: list(composeLabels.envFiles) };
}

function notFound(files: readonly string[]): UpdateError {
  const foreign = files.find((file) => !isAbsolute(file));
  const message =
    foreign === undefined
      ? 'the container labels do not list a compose file'
      : `the instance was started from ${foreign}, which is not a file on this host`;
  const advice = 'Start the instance from a compose file with {up}, then run {command} again.';
  return new UpdateError('compose-invalid', message, { advice });
}

/**
 * Splits a label into paths. Compose joins paths with commas, and does not escape a path's commas. A comma is a
 * separator only before an absolute path or an address (`oci://…`). Commas in the project directory are never
 * separators.
 */
export function splitLabelPaths(label: string, directory: string): string[] {
  const hidden = label.replaceAll(`${directory}/`, '/\0/');
  return hidden
    .split(/,(?=\/|[a-z]+:\/\/|-$)/)
    .map((path) => path.replaceAll('/\0/', `${directory}/`))
    .filter(Boolean);
}
