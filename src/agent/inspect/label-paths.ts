import { dirname, isAbsolute, join } from 'node:path';
import { isOfComposeOne, oldNamesOf } from '../../engine/api/project-containers.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import { type Container, serviceOf } from '../../engine/container.ts';
import { composeLabels } from '../../engine/labels.ts';
import { exists } from '../../files/file-system.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import { upCommand } from '../../progress/compose-command.ts';
import { UpdateError } from '../../progress/update-error.ts';

export interface ProjectPlace {
  name: string;
  /** The directory on the host, in the spelling of the labels. */
  directory: string;
  /** The same as it is mounted here. */
  mountedAt: string;
}

/** Paths of the labels that tell how compose was started. */
export interface LabelledPaths {
  files: readonly string[];
  envFiles: readonly string[];
}

/** What there is of a project, and the services that are to move. */
export interface LabelledProject {
  place: ProjectPlace;
  containers: readonly Container[];
  names: readonly string[];
}

/**
 * The project as the labels of the app's container tell of it, all of its paths absolute.
 * @throws UpdateError compose-invalid where what they name is no file on this host
 */
export async function readProject(
  app: Pick<Container, 'labels'>,
  project: LabelledProject,
  paths: HostPaths,
): Promise<ComposeProject> {
  const { name, directory } = project.place;
  const labelled = labelledPaths(app, directory);
  const found = await absolutePaths(app, labelled, directory, paths);
  if (found === null) throw notFound(app, labelled.files, project);
  const oldNames = oldNamesOf(project.containers);
  return { name, directory, ...found, ...(oldNames.length > 0 && { oldNames }) };
}

/** As they stand there. */
export function labelledPaths({ labels }: Pick<Container, 'labels'>, directory: string): LabelledPaths {
  const list = (label: string) => splitPaths(labels[label] ?? '', directory);
  return { files: list(composeLabels.files), envFiles: list(composeLabels.envFiles) };
}

async function absolutePaths(
  app: Pick<Container, 'labels'>,
  labelled: LabelledPaths,
  directory: string,
  paths: HostPaths,
): Promise<LabelledPaths | null> {
  const { files } = labelled;
  if (files.length === 0 || files.includes('-')) return null;
  if (files.every((file) => isAbsolute(file))) return labelled;
  return isOfComposeOne(app) ? findPaths(labelled, directory, paths) : null;
}

function notFound(
  app: Pick<Container, 'labels'>,
  files: readonly string[],
  { place: { name, directory }, containers, names }: LabelledProject,
): UpdateError {
  const foreign = files.find((file) => !isAbsolute(file));
  if (!isOfComposeOne(app)) {
    return new UpdateError(
      'compose-invalid',
      `the instance was started from ${foreign ?? 'no file'}, which is no file on this host`,
      { advice: 'Start it from a compose file with docker compose up -d, then run the update again.' },
    );
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
  const version = app.labels[composeLabels.version];
  return new UpdateError(
    'compose-invalid',
    isTyped
      ? `the instance was started by docker-compose ${version} from no file on this host`
      : `the instance was started by docker-compose ${version} from ${files.join(' and ')}, told from the directory where that was typed, and from ${directory} there is no such file`,
    {
      advice: `Where ${isTyped ? 'its file is' : 'that was typed'}: ${up} (without its --no-deps the database would be made anew, too), then run the update again.`,
    },
  );
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

/** The likeliest of them of which all are there; else one that is not wholly mounted; null where none can be. */
export async function findPaths(
  labelled: LabelledPaths,
  directory: string,
  paths: HostPaths,
): Promise<LabelledPaths | null> {
  const possible = possiblePaths(labelled, directory);
  const isUnmounted = (path: string) => paths.fromHost(path) === null;
  for (const each of possible) {
    const here = [...each.files, ...each.envFiles].map((path) => paths.fromHost(path));
    const seen = await Promise.all(here.map(async (path) => path !== null && (await exists(path))));
    if (seen.every(Boolean)) return each;
  }
  return possible.find(({ files, envFiles }) => [...files, ...envFiles].some(isUnmounted)) ?? null;
}
