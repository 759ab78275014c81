import { basename, join, normalize } from 'node:path';
import { formatMountAdvice, formatSamePathMountAdvice } from '../../../../core/errors/advice.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import { isFile } from '../../../../core/files/file-system.ts';
import { type HostPaths, isWithin } from '../../../../core/mounts/host-paths.ts';
import type { UpdateOptions } from '../../../run/options/update-options.ts';
import { isRunUnfinished, type JournalData, readJournals } from '../../../run/state/journal.ts';
import {
  addProjectDirectoryAlias,
  type DirectoryMatch,
  findMountAdvice,
  type HostDirectoryInspector,
  hasComposeFileHere,
} from './host-directory-inspector.ts';
import type { ProjectLocation, ProjectSummary } from './labeled-project.ts';

interface Search {
  projects: readonly ProjectSummary[];
  paths: HostPaths;
  options: UpdateOptions;
  look: HostDirectoryInspector;
  /** Directory of `--dir`; without the option, all mounted directories that contain a compose file. */
  candidates: readonly string[];
}

/**
 * Finds the project to update by `--project`, or otherwise by a mounted directory that contains a compose file.
 * @throws UpdateError not-mounted, several-projects, not-compose
 */
export async function locateProject(
  known: readonly ProjectSummary[],
  paths: HostPaths,
  options: UpdateOptions,
  look: HostDirectoryInspector,
): Promise<ProjectLocation> {
  const journals = await readJournals(journalDirectoriesOf(paths, options));
  const used = options.acceptEndedJournal ? journals : journals.filter(isRunUnfinished);
  const projects = addJournaledProjects(known, used.map(journaledProjectOf));
  const search = { projects, paths, options, look, candidates: await candidatesOf(paths, options) };
  if (options.project) return byName(search, options.project);
  const location = byDirectory(search);
  if (!(location instanceof UpdateError)) return location;
  // The next candidates are projects that contain the app and whose labeled path is not mounted.
  const unseen = projects.filter(
    ({ directory, services }) => services.has(options.app) && paths.fromHost(directory) === null,
  );
  const found: string[] = [];
  for (const { directory } of unseen) {
    if (await addProjectDirectoryAlias(directory, paths, look)) found.push(directory);
  }
  const again = found.length > 0 ? byDirectory(search, found) : location;
  if (!(again instanceof UpdateError)) return again;
  const [only, ...others] = unseen;
  const hidden = only && others.length === 0 ? await findMountAdvice(only.directory, look) : null;
  const advice = hidden ?? (await findMovedMountAdvice(unseen, search));
  throw advice === null ? again : new UpdateError(again.code, again.message, { advice });
}

/**
 * Advises mounting a project directory that was moved, or whose labeled path is inside another container. Returns null
 * unless exactly one project matches.
 */
async function findMovedMountAdvice(
  unseen: readonly ProjectSummary[],
  search: Search,
): Promise<string | null> {
  const { candidates, paths, look } = search;
  const [here = '', ...more] = candidates;
  const host = paths.toHost(here);
  if (host === null || more.length > 0) return null;
  const moved: ProjectSummary[] = [];
  for (const each of unseen) {
    const name = basename(each.files[0] ?? '');
    if ((await isFile(join(here, name))) && !(await look.hasComposeFile(each.directory, [name])))
      moved.push(each);
  }
  const [only, ...others] = moved;
  return only && others.length === 0 ? underItsPath(host, only) : null;
}

const underItsPath = (host: string, { name, directory }: ProjectSummary): string =>
  `If ${host} is the directory of project ${name}, also mount it at the path that compose used. ${formatMountAdvice(host, directory)}`;

/**
 * Finds the project by its mounted directory. The directory must contain a compose file or be listed in `found`.
 * Returns an error if no project matches, and throws one if several do.
 */
function byDirectory(
  { projects, paths, options: { dir, app }, candidates }: Search,
  found: readonly string[] = [],
): ProjectLocation | UpdateError {
  const hosts = candidates.map((here) => paths.toHost(here)).filter((host) => host !== null);
  if (dir && hosts.length === 0)
    return new UpdateError('not-mounted', `the directory ${dir} (--dir) is not mounted from the host`);
  const hereOf = (directories: readonly string[]) =>
    directories.map((directory) => paths.fromHost(directory)).filter((here) => here !== null);
  const seen = new Set([...candidates, ...(dir ? [] : hereOf(found))]);
  // If no mount has a compose file, the project directory may be a subdirectory of a mount.
  const places = seen.size > 0 ? seen : new Set(hereOf(projects.map(({ directory }) => directory)));
  const all = projects.flatMap((project) =>
    [...places]
      .filter(
        (here) => paths.toHost(here) === project.directory || paths.fromHost(project.directory) === here,
      )
      .map((here) => ({ project, here })),
  );
  const withApp = all.filter(({ project }) => project.services.has(app));
  const chosen = withApp.length > 0 ? withApp : all;
  const [only, ...others] = chosen;
  if (only === undefined) return noMatch(hosts, projects);
  if (others.length > 0) throw several(chosen.map(({ project }) => project));
  return { name: only.project.name, directory: only.project.directory, mountedAt: only.here };
}

/** Returns the directories in this container that may contain a journal. */
export const journalDirectoriesOf = (paths: HostPaths, { dir }: UpdateOptions): readonly string[] =>
  dir ? [dir] : paths.destinations;

export const journaledProjectOf = ({ project, services }: JournalData): ProjectSummary => ({
  ...project,
  services: new Set(services),
});

/** Adds the projects and services of journals, whose containers may be missing. */
function addJournaledProjects(
  projects: readonly ProjectSummary[],
  journaled: readonly ProjectSummary[],
): ProjectSummary[] {
  const isSame = (a: ProjectSummary) => (b: ProjectSummary) =>
    a.name === b.name && a.directory === b.directory;
  for (const row of projects) {
    for (const service of journaled.find(isSame(row))?.services ?? []) row.services.add(service);
  }
  return [...projects, ...journaled.filter((row) => !projects.some(isSame(row)))];
}

/** Returns the directory of `--dir`, or otherwise all mounted directories that contain a compose file. */
async function candidatesOf(paths: HostPaths, { dir }: UpdateOptions): Promise<string[]> {
  if (dir) return [normalize(dir).replace(/(.)\/$/, '$1')];
  const found: string[] = [];
  for (const here of paths.destinations) if (await hasComposeFileHere(here)) found.push(here);
  return found;
}

async function byName(search: Search, name: string): Promise<ProjectLocation> {
  const { projects, paths, options, look, candidates } = search;
  const row = findLikeliestProject(name, search);
  if (!row) {
    const message = `compose project ${name} has no containers; ${list(projects)}`;
    throw new UpdateError('not-compose', message);
  }
  const { directory } = row;
  if (paths.fromHost(directory) === null) await addProjectDirectoryAlias(directory, paths, look);
  const here = paths.fromHost(directory);
  if (here !== null && (options.dir === null || here === candidates[0]))
    return { name, directory, mountedAt: here };
  const [mountedAt, ...others] = candidates;
  const host = mountedAt === undefined ? null : paths.toHost(mountedAt);
  if (mountedAt === undefined || others.length > 0 || host === null) {
    const advice = (await findMountAdvice(directory, look)) ?? formatSamePathMountAdvice(directory);
    const message = `the directory ${directory} of project ${name} is not mounted`;
    throw new UpdateError('not-mounted', message, { advice });
  }
  // The labels may contain a different path to the mounted directory, such as a symbolic link.
  const likeness = await look.compare(directory, mountedAt, row.files);
  if (likeness !== 'same') throw createWrongDirectoryError(row, host, likeness, projects);
  paths.addAlias(directory, mountedAt);
  return { name, directory, mountedAt };
}

/**
 * Finds the project with this name. If there are several, one whose directory is mounted takes precedence, because a
 * labeled directory can be wrong.
 * @throws UpdateError several-projects if the first two projects are equally likely
 */
function findLikeliestProject(
  name: string,
  { projects, paths, options: { app }, candidates }: Search,
): ProjectSummary | undefined {
  const rank = ({ directory, services }: ProjectSummary) => {
    const here = paths.fromHost(directory);
    const mounted = here === null ? 0 : candidates.includes(here) ? 4 : 2;
    return mounted + (services.has(app) ? 1 : 0);
  };
  const rows = projects.filter((each) => each.name === name).toSorted((a, b) => rank(b) - rank(a));
  const [first, next] = rows;
  if (first && next && rank(first) === rank(next)) {
    throw several(rows, {
      advice:
        'Mount the project directory that you want to update at the same path as on the host, and specify it with --dir.',
    });
  }
  return first;
}

/** Creates the error for a mounted directory that does not belong to the project. */
function createWrongDirectoryError(
  row: ProjectSummary,
  host: string,
  likeness: DirectoryMatch,
  projects: readonly ProjectSummary[],
): UpdateError {
  const { name, directory } = row;
  const owner = projects.find((project) => project.directory === host);
  const whose = owner
    ? `${host} belongs to project ${owner.name}`
    : 'no project was started from that directory, so it may be an old copy';
  const message = `${host} is not the directory of project ${name} (${directory}); ${whose}`;
  if (likeness === 'another')
    return new UpdateError('not-mounted', message, { advice: formatSamePathMountAdvice(directory) });
  const gone = `${message}; ${directory} no longer contains a compose file`;
  return new UpdateError('not-mounted', gone, {
    advice: `${underItsPath(host, row)} Otherwise, mount the directory of the project.`,
  });
}

function noMatch(directories: readonly string[], projects: readonly ProjectSummary[]): UpdateError {
  if (directories.length === 0) {
    const [only, ...others] = projects;
    const advice = only && others.length === 0 ? { advice: formatSamePathMountAdvice(only.directory) } : {};
    return new UpdateError(
      'not-mounted',
      `no mounted directory contains a compose file; ${list(projects)}`,
      advice,
    );
  }
  const where = directories.join(' or ');
  const outside = projects.filter(({ directory }) => !directories.some((host) => isWithin(directory, host)));
  const advice =
    'If one of these projects uses the same directory under another path, select that project with --project.';
  const message = `no compose project was started from ${where}; ${list(projects)}`;
  return new UpdateError('not-compose', message, outside.length > 0 ? { advice } : {});
}

const several = (projects: readonly ProjectSummary[], options?: { advice: string }): UpdateError =>
  new UpdateError(
    'several-projects',
    `several projects match: ${projects.map(describe).join(', ')}`,
    options,
  );

const describe = ({ name, directory }: ProjectSummary): string => `${name} (${directory})`;

const list = (projects: readonly ProjectSummary[]): string =>
  projects.length > 0
    ? `projects on this engine: ${projects.map(describe).join(', ')}`
    : 'this engine has no compose projects';
