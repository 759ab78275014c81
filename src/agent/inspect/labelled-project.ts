import { dirname, isAbsolute, join } from 'node:path';
import { isHook, isOfComposeOne, oldNamesOf } from '../../engine/api/project-containers.ts';
import { listContainers } from '../../engine/api/query.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Container, serviceOf } from '../../engine/container.ts';
import type { ListedContainer } from '../../engine/container-details.ts';
import { composeLabels } from '../../engine/labels.ts';
import { exists } from '../../files/file-system.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import { upCommand } from '../../progress/compose-command.ts';
import { UpdateError } from '../../progress/update-error.ts';

/** A compose project as the labels of its containers tell of it. */
export interface KnownProject {
  name: string;
  /** As compose was started with it, on the host. */
  directory: string;
  services: Set<string>;
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
export async function listComposed(engine: Engine): Promise<ListedContainer[]> {
  return (await listContainers(engine, { label: [composeLabels.project] })).filter((each) => !isHook(each));
}

/** @param composed the containers of all projects */
export function knownProjects(composed: readonly ListedContainer[]): KnownProject[] {
  const rows = new Map<string, KnownProject>();
  for (const { labels } of composed) {
    const { project, directory: from, service: of } = composeLabels;
    const [name = '', directory = '', service = ''] = [project, from, of].map((label) => labels[label]);
    const key = `${name}\n${directory}`;
    const row = rows.get(key) ?? { name, directory, services: new Set<string>() };
    row.services.add(service);
    rows.set(key, row);
  }
  return [...rows.values()];
}

export interface ProjectPlace {
  name: string;
  /** The directory on the host, in the spelling of the labels. */
  directory: string;
  /** The same as it is mounted here. */
  mountedAt: string;
}

/** Paths of the labels that tell how compose was started. */
type LabelledPaths = Pick<ComposeProject, 'files' | 'envFiles'>;

/** What there is of a project, and the services that are to move. */
interface LabelledProject {
  place: ProjectPlace;
  containers: readonly Container[];
  names: readonly string[];
}

/**
 * The project as the labels of a container tell of it, all of its paths absolute.
 * @throws UpdateError compose-invalid where what they name is no file on this host
 */
export async function labelledProject(
  telling: Pick<Container, 'labels'>,
  of: LabelledProject,
  paths: HostPaths,
): Promise<ComposeProject> {
  const { name, directory } = of.place;
  const labelled = labelledPaths(telling, directory);
  const found = await findPaths(telling, labelled, directory, paths);
  if (found === null) throw notFound(telling, labelled.files, of);
  const oldNames = oldNamesOf(of.containers);
  return { name, directory, ...found, ...(oldNames.length > 0 && { oldNames }) };
}

/** As they stand in the labels. */
export function labelledPaths({ labels }: Pick<Container, 'labels'>, directory: string): LabelledPaths {
  const list = (label: string) => splitPaths(labels[label] ?? '', directory);
  return { files: list(composeLabels.files), envFiles: list(composeLabels.envFiles) };
}

function notFound(
  app: Pick<Container, 'labels'>,
  files: readonly string[],
  { place: { name, directory }, containers, names }: LabelledProject,
): UpdateError {
  if (!isOfComposeOne(app)) {
    const foreign = files.find((file) => !isAbsolute(file)) ?? 'no file';
    const message = `the instance was started from ${foreign}, which is no file on this host`;
    const advice = 'Start it from a compose file with docker compose up -d, then run the update again.';
    return new UpdateError('compose-invalid', message, { advice });
  }
  const isTyped = files.length === 0 || files.includes('-');
  const upOnly = names.filter((each) => containers.some((container) => serviceOf(container) === each));
  const up = upCommand({
    name,
    directory,
    files: (isTyped ? ['FILE'] : files).map((file) => join(directory, file)),
    envFiles: [],
    oldNames: oldNamesOf(containers),
    upOnly,
  });
  const from = isTyped
    ? 'no file on this host'
    : `${files.join(' and ')}, told from the directory where that was typed, and from ${directory} there is no such file`;
  const message = `the instance was started by docker-compose ${app.labels[composeLabels.version]} from ${from}`;
  const advice = `Where ${isTyped ? 'its file is' : 'that was typed'}: ${up} (without its --no-deps the database would be made anew, too), then run the update again.`;
  return new UpdateError('compose-invalid', message, { advice });
}

/**
 * The paths of a label, which compose joins by commas and does not escape: one in the name of the project's directory
 * separates nothing, nor does one that neither an absolute path nor an address (`oci://…`) follows. Relative paths, of docker-compose 1, stay apart.
 */
export function splitPaths(label: string, directory: string): string[] {
  const [first = ''] = label;
  if (first !== '/') return label.split(',').filter(Boolean);
  const hidden = label.replaceAll(`${directory}/`, '/\0/');
  return hidden
    .split(/,(?=\/|[a-z]+:\/\/|-$)/)
    .map((path) => path.replaceAll('/\0/', `${directory}/`))
    .filter(Boolean);
}

const upward = /^(?:\.\.\/)+/;

/**
 * Where the paths of docker-compose 1 may lead: they are relative to the directory that it was called in, which no label
 * names. The project's directory is nearly always that of the first file. The likeliest come first.
 */
export function possiblePaths({ files, envFiles }: LabelledPaths, directory: string): LabelledPaths[] {
  const [first = ''] = files;
  const [up = ''] = upward.exec(first) ?? [];
  const below = dirname(first.slice(up.length));
  const isBelow = below === '.' || directory.endsWith(`/${below}`);
  const base = below === '.' ? directory : directory.slice(0, -below.length - 1) || '/';
  // From the directory that is as many levels above the one it was called in as the first path begins with `../`.
  const from = (start: string) => (path: string) =>
    path.startsWith('/') ? path : join(start, path.startsWith(up) ? path.slice(up.length) : path);
  // With `--project-directory` the first file may lie anywhere; that directory is the likeliest to have been called in.
  const starts = [...new Set([...(isBelow ? [base] : []), directory])];
  return starts.map((start) => ({ files: files.map(from(start)), envFiles: envFiles.map(from(start)) }));
}

/**
 * The paths on this host; null where there can be none. Of relative ones the likeliest that are all there, else such that
 * are not wholly mounted.
 */
async function findPaths(
  telling: Pick<Container, 'labels'>,
  labelled: LabelledPaths,
  directory: string,
  paths: HostPaths,
): Promise<LabelledPaths | null> {
  if (labelled.files.length === 0 || labelled.files.includes('-')) return null;
  if (labelled.files.every((file) => isAbsolute(file))) return labelled;
  if (!isOfComposeOne(telling)) return null;
  const possible = possiblePaths(labelled, directory);
  for (const each of possible) {
    const here = [...each.files, ...each.envFiles].map((path) => paths.fromHost(path));
    const seen = await Promise.all(here.map(async (path) => path !== null && (await exists(path))));
    if (seen.every(Boolean)) return each;
  }
  const isUnmounted = (path: string) => paths.fromHost(path) === null;
  return possible.find(({ files, envFiles }) => [...files, ...envFiles].some(isUnmounted)) ?? null;
}
