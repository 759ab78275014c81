import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getParsedComposeFile } from '../../../../core/compose/compose-file.ts';
import {
  formatLineLocation,
  type ReferencedFile,
  resolveIncludeTree,
  resolveReferencedPath,
  resolveTextVariables,
} from '../../../../core/compose/include-tree.ts';
import { listProjectFiles, type ProjectFiles } from '../../../../core/compose/project-files.ts';
import { formatSamePathMountAdvice } from '../../../../core/errors/advice.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import { isExistingPath } from '../../../../core/files/file-system.ts';
import { readTextFile, requireRegularFile } from '../../../../core/files/text-file.ts';
import type { HostPaths } from '../../../../core/mounts/host-paths.ts';
import { linkAllHostPaths, linkHostPath } from '../../../../core/mounts/link-paths.ts';
import type { Compose, ComposeModel, ComposeProject } from '../../../../engine/cli/compose.ts';
import type { Container } from '../../../../engine/objects/container.ts';
import { deferRejection } from '../../../run/defer-rejection.ts';
import { createContainerMaskRules, createModelMaskRules } from '../../../run/log/mask-rules.ts';
import type { Log } from '../../../run/log/run-log.ts';
import { clusterModeComposeFileName, composeFileName } from '../installation.ts';
import { addLinkedFiles, readEnvFiles } from './add-linked-files.ts';
import { maskFileSecrets } from './mask-file-secrets.ts';

/**
 * Reads a project's files and compose's model of them, and masks the secrets in the log. Call `linkProjectPaths` first.
 * The model contains all services. If compose 5 or later cannot read an env file, the model lacks env file values.
 * @param about - the project's containers and the run's services
 * @throws UpdateError outside-mounts, compose-invalid
 */
export async function readProject(
  compose: Compose,
  paths: HostPaths,
  about: { containers: readonly Container[]; services: readonly string[] },
  log: Log,
): Promise<{ files: ProjectFiles; model: ComposeModel }> {
  const { project } = compose;
  const { containers, services } = about;
  log.addMaskRules(() => createContainerMaskRules(containers));
  log.addMaskRules(() => ({ shown: [project.name, project.directory] }));
  const learn = (files: ProjectFiles) => maskFileSecrets(log, files, (path) => paths.fromHost(path));
  // Compose runs while the files are read. A mistake found in the files takes precedence over the error that it causes
  // in compose.
  const requested = deferRejection(compose.config());
  const own = await readFiles(project);
  // Mask values first, because errors of the parser and of compose may quote them.
  await learn(own);
  for (const file of own.composeFiles) getParsedComposeFile(file);
  const files = await readMountedLinks(own, paths, learn);
  await learn(files);
  const checkEnv = (known: ComposeModel | null) => checkEnvFiles(files, known, services, paths);
  const model = await requested.catch((error) => {
    // The mount check comes first, because compose would only report that an unmounted file does not exist.
    checkEnv(null);
    throw error;
  });
  log.addMaskRules(() => createModelMaskRules(model));
  checkEnv(model);
  return { files, model };
}

/**
 * Makes the project's host paths valid in this container, so that compose resolves them as on the host.
 * @throws UpdateError outside-mounts, path-taken
 */
export async function linkProjectPaths(project: ComposeProject, paths: HostPaths, log: Log): Promise<void> {
  const named = [...project.files, ...project.envFiles];
  const outside = named.filter((file) => paths.fromHost(file) === null);
  if (outside.length > 0) {
    const message = `the instance was started with files that are not mounted: ${outside.join(', ')}`;
    const advice = formatSamePathMountAdvice(...outside.map((file) => dirname(file)));
    throw new UpdateError('outside-mounts', message, { advice });
  }
  const tell = (path: string, to: string) =>
    log.info(`${path} is mounted at ${to} in this container; compose still uses its path on the host`);
  for (const path of [project.directory, ...named.map((file) => dirname(file))]) {
    const given = await linkHostPath(paths, path);
    if (given) tell(path, given.to);
  }
  for (const { link, to } of await linkAllHostPaths(paths)) tell(link, to);
  // Reject pipes before compose runs, because compose would wait forever for another process to write.
  for (const path of [...named, join(project.directory, '.env')]) await requireRegularFile(path);
}

/** Returns the paths of all files of a project, including linked files if they can be read. */
export async function listProjectFilePaths(project: ComposeProject, paths: HostPaths): Promise<string[]> {
  const usual = ['.env', composeFileName, clusterModeComposeFileName].map((name) =>
    join(project.directory, name),
  );
  const linked = await readFiles(project)
    .then((own) => readMountedLinks(own, paths))
    .then((files) => listProjectFiles(files).map(({ path }) => path))
    .catch(() => []);
  return [...project.files, ...project.envFiles, ...usual, ...linked];
}

async function readFiles(project: ComposeProject): Promise<ProjectFiles> {
  return {
    composeFiles: await Promise.all(project.files.map(readTextFile)),
    envFiles: await readEnvFiles(project.envFiles, project.directory),
    newEnvFile: project.envFiles.at(-1) ?? join(project.directory, '.env'),
    directory: project.directory,
    given: { COMPOSE_PROJECT_NAME: project.name, PWD: project.directory, HOME: homedir() },
  };
}

type NamedFile = Pick<ReferencedFile, 'path' | 'kind'>;

/**
 * Adds the files to which `include` and `extends` refer. `learn` is called with each file before the file is parsed.
 * @throws UpdateError outside-mounts
 */
async function readMountedLinks(
  files: ProjectFiles,
  paths: HostPaths,
  learn?: (files: ProjectFiles) => Promise<void>,
): Promise<ProjectFiles> {
  const outside: ReferencedFile[] = [];
  const read = async (link: ReferencedFile) => {
    if (paths.fromHost(link.path) === null) {
      // An unmounted file may exist on the host, so even optional files must be mounted.
      outside.push(link);
      return null;
    }
    await linkHostPath(paths, dirname(link.path));
    return (await isExistingPath(link.path)) ? readTextFile(link.path) : null;
  };
  const linked = await addLinkedFiles(files, read, learn);
  requireMountedFiles(outside);
  return linked;
}

/**
 * Requires mounted env files for the updated services and their dependencies. Compose reads these files even with
 * `--no-deps`, and ignores an optional file that is not mounted. If compose rejected the project, there is no model, so
 * the files of all services are checked: any may be the cause.
 * @throws UpdateError outside-mounts
 */
function checkEnvFiles(
  files: ProjectFiles,
  model: ComposeModel | null,
  services: readonly string[],
  paths: HostPaths,
): void {
  const closure = new Set(
    model ? services : files.composeFiles.flatMap((file) => getParsedComposeFile(file).serviceNames),
  );
  for (const name of closure) {
    for (const other of Object.keys(model?.services[name]?.depends_on ?? {})) closure.add(other);
  }
  const outside: NamedFile[] = [];
  // Compose's model does not list env files, so they are read from the compose files.
  for (const layer of resolveIncludeTree(files).sources) {
    // In a file used by `extends`, check all services, because an extended service may have its own env files.
    const wanted = new Set(layer.followsIncludes ? closure : layer.file.serviceNames);
    for (const name of wanted) {
      const entry = layer.file.getService(name);
      const base = entry?.extends;
      if (base?.file === null)
        wanted.add(resolveTextVariables(layer, base.service, formatLineLocation(layer, base.line)));
      for (const link of entry?.envFiles ?? []) {
        const path = resolveReferencedPath(layer, link);
        if (paths.fromHost(path) === null) outside.push({ path, kind: `env_file of ${name}` });
      }
    }
  }
  requireMountedFiles(outside);
}

/**
 * If a file is not mounted, replaces compose's error about the missing file with an error about mounts. The error may
 * come late: compose reads seccomp profiles, for example, only when it creates a container.
 */
export function explainUnmountedFile(error: unknown, paths: HostPaths): unknown {
  if (!(error instanceof UpdateError) || error.code !== 'compose-invalid') return error;
  const [, path] = /\b(?:open|stat) (\/[^:]+): no such file or directory/.exec(error.message) ?? [];
  if (path === undefined || paths.fromHost(path) !== null) return error;
  const message = `compose needs ${path}, which is outside the mounted directories`;
  return new UpdateError('outside-mounts', message, {
    advice: `Make sure that the file exists on the host. ${formatSamePathMountAdvice(path)}`,
    cause: error,
  });
}

function requireMountedFiles(outside: readonly NamedFile[]): void {
  if (outside.length === 0) return;
  const named = outside.map(({ path, kind: as }) => `${path} (${as})`).join(', ');
  const advice = formatSamePathMountAdvice(...outside.map(({ path }) => dirname(path)));
  throw new UpdateError('outside-mounts', `these files are outside the mounted directories: ${named}`, {
    advice,
  });
}
