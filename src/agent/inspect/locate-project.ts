import { readdir } from 'node:fs/promises';
import { normalize } from 'node:path';
import { isHook } from '../../engine/api/project-containers.ts';
import { listContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { composeLabels } from '../../engine/labels.ts';
import { type HostPaths, isWithin } from '../../files/host-paths.ts';
import { addMounts } from '../../progress/advice.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { UpdateOptions } from '../process/options.ts';
import { pendingJournal } from '../state/journal.ts';
import { stateDirectory } from '../state/state-directory.ts';

/** A compose project as the labels of its containers tell of it. */
export interface KnownProject {
  name: string;
  /** As compose was started with it, on the host. */
  directory: string;
  services: Set<string>;
}

export interface ProjectPlace {
  name: string;
  /** The directory on the host, in the spelling of the labels. */
  directory: string;
  /** The same as it is mounted here. */
  mountedAt: string;
}

/**
 * The one project to update: by `--project`, or by the mounted directory that holds a compose file.
 * Refusals: not-mounted, several-projects, not-compose.
 */
export async function locateProject(
  known: KnownProject[],
  paths: HostPaths,
  options: UpdateOptions,
): Promise<ProjectPlace> {
  const projects = withHalfReplaced(known, await pendingProjects(paths, options));
  const candidates = options.dir
    ? [normalize(options.dir).replace(/(.)\/$/, '$1')]
    : await directoriesWithComposeFile(paths);

  if (options.project)
    return byName(projects, options.project, paths, { candidates, given: options.dir !== null });

  const hostDirectories = candidates.map((here) => ({ here, host: paths.toHost(here) }));
  const unmounted = hostDirectories.find(({ host }) => host === null);
  if (options.dir && unmounted) {
    throw new UpdateError('not-mounted', `--dir ${options.dir} is not mounted from the host`);
  }
  const matches = projects.flatMap((project) =>
    hostDirectories.filter(({ host }) => host === project.directory).map(({ here }) => ({ project, here })),
  );
  // No mount holds a compose file itself; a compose directory may lie below one.
  const below =
    matches.length > 0 || options.dir
      ? []
      : projects.flatMap((project) => {
          const here = paths.fromHost(project.directory);
          return here && candidates.length === 0 ? [{ project, here }] : [];
        });
  const found = [...matches, ...below];
  const withApp = found.filter(({ project }) => project.services.has(options.app));
  const chosen = withApp.length > 0 ? withApp : found;
  const [only, ...others] = chosen;
  if (only && others.length === 0)
    return { name: only.project.name, directory: only.project.directory, mountedAt: only.here };
  if (only) {
    throw new UpdateError(
      'several-projects',
      `several projects match: ${chosen.map(({ project }) => describe(project)).join(', ')}`,
    );
  }
  throw noMatch(
    hostDirectories.map(({ host }) => host).filter((host) => host !== null),
    projects,
  );
}

export async function listProjects(engine: Engine): Promise<KnownProject[]> {
  const rows = new Map<string, KnownProject>();
  const listed = await listContainers(engine, { label: [composeLabels.project] });
  for (const { labels } of listed.filter((container) => !isHook(container))) {
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

/** Projects of which an update was interrupted: there may be no container of the app, or none at all, to tell of them. */
async function pendingProjects(paths: HostPaths, options: UpdateOptions): Promise<KnownProject[]> {
  const rows: KnownProject[] = [];
  for (const here of options.dir ? [options.dir] : paths.destinations) {
    const journal = await pendingJournal(stateDirectory(here));
    if (journal === null) continue;
    const { name, directory } = journal.project;
    rows.push({ name, directory, services: new Set(journal.services) });
  }
  return rows;
}

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
    const names = await readdir(here).catch(() => [] as string[]);
    if (names.some((name) => /compose.*\.(ya?ml|json)$/i.test(name))) found.push(here);
  }
  return found;
}

function byName(
  projects: KnownProject[],
  name: string,
  paths: HostPaths,
  { candidates, given }: { candidates: readonly string[]; given: boolean },
): ProjectPlace {
  const rows = projects.filter((project) => project.name === name);
  const [row] = rows;
  if (!row) {
    throw new UpdateError(
      'not-compose',
      `no container of a compose project named ${name} exists; ${list(projects)}`,
    );
  }
  const here = paths.fromHost(row.directory);
  if (here && (!given || candidates.includes(here)))
    return { name, directory: row.directory, mountedAt: here };
  // The labels may name the mounted directory by another spelling, such as a symlinked path; --project vouches for it.
  const [mountedAt, ...others] = candidates;
  if (mountedAt && others.length === 0 && paths.toHost(mountedAt)) {
    paths.alias(row.directory, mountedAt);
    return { name, directory: row.directory, mountedAt };
  }
  throw new UpdateError(
    'not-mounted',
    `the directory of project ${name}, ${row.directory}, is not mounted here`,
    {
      advice: addMounts(row.directory),
    },
  );
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
