import { normalize } from 'node:path';
import { type HostPaths, isWithin } from '../../files/host-paths.ts';
import { addMounts } from '../../progress/advice.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { UpdateOptions } from '../process/options.ts';
import { isPending, type JournalData, journalsIn } from '../state/journal.ts';
import { findHidden, mountOfHidden } from './hidden-homes.ts';
import { type HostLook, hasComposeHere } from './host-look.ts';
import type { KnownProject, ProjectPlace } from './labelled-project.ts';

/**
 * The one project to update: by `--project`, or by the mounted directory that holds a compose file.
 * Refusals: not-mounted, several-projects, not-compose.
 */
export async function locateProject(
  known: KnownProject[],
  paths: HostPaths,
  options: UpdateOptions,
  look: HostLook,
): Promise<ProjectPlace> {
  const projects = withHalfReplaced(known, await pendingProjects(paths, options));
  if (options.project) return byName(projects, options.project, { paths, options, look });
  const place = await byDirectory(projects, paths, options);
  if (!(place instanceof UpdateError)) return place;
  // Nothing that is mounted here is where a project was started from, as far as paths tell.
  const unseen = projects.filter(
    ({ directory, services }) => services.has(options.app) && paths.fromHost(directory) === null,
  );
  const found: string[] = [];
  for (const { directory } of unseen) {
    if (await findHidden(directory, paths, look)) found.push(directory);
  }
  const again = found.length > 0 ? await byDirectory(projects, paths, options, found) : place;
  if (!(again instanceof UpdateError)) return again;
  const [only, ...others] = unseen;
  const advice = only && others.length === 0 ? await mountOfHidden(only.directory, look) : null;
  throw advice === null ? again : new UpdateError(again.code, again.message, { advice });
}

/** By the mounted directory that holds a compose file, or is one of `found`; an error where none is a project's. */
async function byDirectory(
  projects: KnownProject[],
  paths: HostPaths,
  options: UpdateOptions,
  found: readonly string[] = [],
): Promise<ProjectPlace | UpdateError> {
  const hidden = found.map((directory) => paths.fromHost(directory)).filter((here) => here !== null);
  const candidates = [...new Set([...(await candidatesOf(paths, options)), ...(options.dir ? [] : hidden)])];
  const hostDirectories = candidates.map((here) => ({ here, host: paths.toHost(here) }));
  const unmounted = hostDirectories.find(({ host }) => host === null);
  if (options.dir && unmounted) {
    return new UpdateError('not-mounted', `--dir ${options.dir} is not mounted from the host`);
  }
  const matches = projects.flatMap((project) =>
    candidates
      .filter(
        (here) => paths.toHost(here) === project.directory || paths.fromHost(project.directory) === here,
      )
      .map((here) => ({ project, here })),
  );
  // No mount holds a compose file itself; a compose directory may lie below one.
  const below =
    matches.length > 0 || options.dir
      ? []
      : projects.flatMap((project) => {
          const here = paths.fromHost(project.directory);
          return here && candidates.length === 0 ? [{ project, here }] : [];
        });
  const all = [...matches, ...below];
  const withApp = all.filter(({ project }) => project.services.has(options.app));
  const chosen = withApp.length > 0 ? withApp : all;
  const [only, ...others] = chosen;
  if (only && others.length === 0)
    return { name: only.project.name, directory: only.project.directory, mountedAt: only.here };
  if (only) {
    throw new UpdateError(
      'several-projects',
      `several projects match: ${chosen.map(({ project }) => describe(project)).join(', ')}`,
    );
  }
  return noMatch(
    hostDirectories.map(({ host }) => host).filter((host) => host !== null),
    projects,
  );
}

/** Projects of which an update was interrupted: there may be no container of the app, or none at all, to tell of them. */
const pendingProjects = async (paths: HostPaths, options: UpdateOptions): Promise<KnownProject[]> =>
  (await journalsIn(directoriesOf(paths, options))).filter(isPending).map(projectOfJournal);

/** Where a journal may lie. */
export const directoriesOf = (paths: HostPaths, { dir }: UpdateOptions): readonly string[] =>
  dir ? [dir] : paths.destinations;

export const projectOfJournal = ({ project: { name, directory }, services }: JournalData): KnownProject => ({
  name,
  directory,
  services: new Set(services),
});

function withHalfReplaced(projects: KnownProject[], pending: readonly KnownProject[]): KnownProject[] {
  const isSame = (a: KnownProject) => (b: KnownProject) => a.name === b.name && a.directory === b.directory;
  for (const row of projects) {
    for (const service of pending.find(isSame(row))?.services ?? []) row.services.add(service);
  }
  return [...projects, ...pending.filter((row) => !projects.some(isSame(row)))];
}

async function directoriesWithComposeFile(paths: HostPaths): Promise<string[]> {
  const found: string[] = [];
  for (const here of paths.destinations) {
    if (await hasComposeHere(here)) found.push(here);
  }
  return found;
}

/** Where a compose file is, or where `--dir` says. */
const candidatesOf = async (paths: HostPaths, { dir }: UpdateOptions): Promise<string[]> =>
  dir ? [normalize(dir).replace(/(.)\/$/, '$1')] : directoriesWithComposeFile(paths);

async function byName(
  projects: KnownProject[],
  name: string,
  { paths, options, look }: { paths: HostPaths; options: UpdateOptions; look: HostLook },
): Promise<ProjectPlace> {
  const candidates = await candidatesOf(paths, options);
  const row = likeliest(name, projects, { paths, app: options.app, candidates });
  if (!row) {
    throw new UpdateError(
      'not-compose',
      `no container of a compose project named ${name} exists; ${list(projects)}`,
    );
  }
  const { directory } = row;
  const given = options.dir === null ? null : (candidates[0] ?? null);
  const isFound = (here: string | null): here is string =>
    here !== null && (given === null || given === here);
  const here = paths.fromHost(directory);
  if (isFound(here)) return { name, directory, mountedAt: here };
  if (here === null && (await findHidden(directory, paths, look))) {
    const found = paths.fromHost(directory);
    if (isFound(found)) return { name, directory, mountedAt: found };
  }
  const [mountedAt, ...others] = candidates;
  const host = mountedAt === undefined ? null : paths.toHost(mountedAt);
  if (mountedAt === undefined || others.length > 0 || host === null) {
    throw new UpdateError(
      'not-mounted',
      `the directory of project ${name}, ${directory}, is not mounted here`,
      { advice: (await mountOfHidden(directory, look)) ?? addMounts(directory) },
    );
  }
  // The labels may name the mounted directory by another spelling, such as a symlinked path.
  const likeness = await look.compare(directory, mountedAt);
  if (likeness !== 'same') throw notThat(row, { host, projects, likeness });
  paths.alias(directory, mountedAt);
  return { name, directory, mountedAt };
}

/** Labels of anybody's may name another directory beside the project's: that which is mounted is the operator's word. */
function likeliest(
  name: string,
  projects: readonly KnownProject[],
  { paths, app, candidates }: { paths: HostPaths; app: string; candidates: readonly string[] },
): KnownProject | undefined {
  const rank = ({ directory, services }: KnownProject) => {
    const here = paths.fromHost(directory);
    const mounted = here === null ? 0 : candidates.includes(here) ? 4 : 2;
    return mounted + (services.has(app) ? 1 : 0);
  };
  const rows = projects.filter((each) => each.name === name).toSorted((a, b) => rank(b) - rank(a));
  const [first, next] = rows;
  if (first && next && rank(first) === rank(next)) {
    throw new UpdateError('several-projects', `several projects match: ${rows.map(describe).join(', ')}`, {
      advice: 'Mount the directory of the one that is meant at its own path, and name it with --dir.',
    });
  }
  return first;
}

/** Whose directory it is that was mounted in place of the project's. */
function notThat(
  { name, directory }: KnownProject,
  { host, projects, likeness }: { host: string; projects: KnownProject[]; likeness: 'another' | 'nothing' },
): UpdateError {
  const owner = projects.find((project) => project.directory === host);
  const whose = owner
    ? `it is that of project ${owner.name}`
    : 'no project was started from it, so it may be an old copy';
  const message = `${host} is not the directory of project ${name}, which is ${directory}: ${whose}`;
  return likeness === 'nothing'
    ? new UpdateError(
        'not-mounted',
        `${message}; and ${directory} has no compose file on this machine any more`,
        {
          advice: `Put the directory of project ${name} back at ${directory}, or a link to it, and mount that.`,
        },
      )
    : new UpdateError('not-mounted', message, { advice: addMounts(directory) });
}

function noMatch(directories: string[], projects: KnownProject[]): UpdateError {
  if (directories.length === 0) {
    return new UpdateError('not-mounted', `no mounted directory holds a compose file; ${list(projects)}`);
  }
  const where = directories.join(' or ');
  const outside = projects.filter(({ directory }) => !directories.some((host) => isWithin(directory, host)));
  return new UpdateError('not-compose', `no compose project was started from ${where}; ${list(projects)}`, {
    ...(outside.length > 0
      ? { advice: 'If one of these is the same directory by another path, name it with --project.' }
      : {}),
  });
}

const describe = ({ name, directory }: KnownProject): string => `${name} (${directory})`;

const list = (projects: KnownProject[]): string =>
  projects.length > 0
    ? `this engine has ${projects.map(describe).join(', ')}`
    : 'this engine has no compose project';
