import { basename, join } from 'node:path';
import { formatShortComposeCommand } from '../../../core/command-line/compose-command.ts';
import { requirePin } from '../../../core/compose/pins/find-pin.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../core/compose/variables.ts';
import { fillFields, quoteForShell } from '../../../core/errors/advice.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isExistingPath } from '../../../core/files/file-system.ts';
import { readTextFile, type TextFile } from '../../../core/files/text-file.ts';
import type { Product } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import { Compose, type ComposeProject } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { createEngineRequestMaskRules } from '../../run/log/mask-rules.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { InterruptionPredicate } from '../../run/state/rollout.ts';
import { workersOf } from './choose-workers.ts';
import { createMissingAppError, lastRunningContainerOf } from './create-missing-app-error.ts';
import { dryRunComposeUp } from './dry-run.ts';
import type { FoundInstance } from './find-project/find-instance.ts';
import { listOtherProjects, parseProjectLabels } from './find-project/labeled-project.ts';
import {
  clusterModeComposeFileName,
  composeFileName,
  type DryRunResult,
  type InspectedProject,
  type Installation,
  type InstalledService,
  isGeneratedComposeFile,
  type PinnedService,
} from './installation.ts';
import { readEnvFiles } from './project-files/add-linked-files.ts';
import { findDefaultComposeFiles, hasDefaultComposeFiles } from './project-files/find-default-files.ts';
import { maskFileSecrets } from './project-files/mask-file-secrets.ts';
import { explainUnmountedFile, linkProjectPaths, readProject } from './project-files/read-project.ts';
import { findVersionPrefix, newestRunningVersionOf } from './running-version.ts';
import { checkSpecifiedServices } from './services/check-specified-services.ts';
import { chooseServices, inferProfiles } from './services/choose-services.ts';
import { findMigrationServices } from './services/migrations.ts';

/** Data about the project that is available before its files are read. */
interface Found {
  /** Current containers of the project, without unrelated containers. */
  containers: readonly Container[];
  wasInterrupted: InterruptionPredicate;
  /** View of the engine that has read the containers. */
  cachedEngine: Engine;
  /** Called before compose has resolved the project, with the containers that the update probably replaces. */
  onGuess?: (containers: readonly Container[]) => void;
  /** Called once compose has resolved the project, while the dry run is still in progress. */
  onRead?: (project: InspectedProject, dryRun: Promise<DryRunResult>) => void;
}

/**
 * Reads everything that the plan is based on. Changes only this container's own file system.
 * @throws UpdateError no-app if the app has no container
 */
export async function inspectInstallation(
  context: RunContext,
  instance: FoundInstance,
  found: Found,
): Promise<Installation> {
  const { options, log } = context;
  const { containers } = found;
  const { paths, location, specifiedContainer: told } = instance;
  const app = lastRunningContainerOf(containers.filter((each) => serviceOf(each) === options.app));
  if (app === undefined) throw await createMissingAppError(context, instance, containers);
  const labelled = parseProjectLabels(told ?? app, location, containers);
  await linkProjectPaths(labelled, paths, log);
  const project = await withCurrentFiles(labelled, context, containers);
  if (project !== labelled) await linkProjectPaths(project, paths, log);
  return inspectProject(project, context, instance, found).catch((error) => {
    throw fillComposeCommands(project, explainUnmountedFile(error, paths));
  });
}

/**
 * If a labeled file no longer exists, switches to compose's default files. Compose updates labels only when it
 * recreates a container. Drift detection later compares the contents.
 * @throws UpdateError compose-invalid
 */
async function withCurrentFiles(
  project: ComposeProject,
  { options, log }: RunContext,
  containers: readonly Container[],
): Promise<ComposeProject> {
  const { name, directory, files, envFiles } = project;
  const isThere = await Promise.all([...files, ...envFiles].map(isExistingPath));
  const gone = [...files, ...envFiles].filter((_, at) => !isThere[at]);
  if (gone.length === 0) return project;
  const missing = joinWithAnd(gone.map((path) => basename(path)));
  if (hasDefaultComposeFiles(project) && !envFiles.some((path) => gone.includes(path))) {
    const read = await readEnvFiles(envFiles, directory);
    await maskFileSecrets(log, { composeFiles: [], envFiles: read, newEnvFile: '' });
    const found = await findDefaultComposeFiles(directory, read);
    const names = joinWithAnd(found.map((path) => basename(path)));
    if (found.length > 0) log.info(`${missing} no longer exists; the update uses ${names}`);
    if (found.length > 0) return { ...project, files: found };
  }
  const updated = [options.app, ...options.workers].filter((service) =>
    containers.some((each) => serviceOf(each) === service),
  );
  throw new UpdateError('compose-invalid', `${gone.join(', ')} does not exist`, {
    advice: `If the directory was moved, or the project was started inside a container, mount it under this path: -v DIRECTORY:${quoteForShell(directory)}, where DIRECTORY is its path on the host. If the file was renamed, run docker compose -p ${name} with the new names (-f, --env-file) and up -d --no-deps --force-recreate ${updated.join(' ')}, then run {command} again.`,
  });
}

/** Replaces the placeholders in an error's advice with the project's compose commands. */
function fillComposeCommands(project: ComposeProject, error: unknown): unknown {
  if (!(error instanceof UpdateError)) return error;
  const { code, message, detail, cause } = error;
  const compose = formatShortComposeCommand(project);
  const advice = fillFields(error.advice, { compose, up: `${compose} up -d` });
  return new UpdateError(code, message, { advice, detail, cause });
}

async function inspectProject(
  project: ComposeProject,
  { engine, options, log }: RunContext,
  { own, paths, platform, composed }: FoundInstance,
  { containers, wasInterrupted, cachedEngine, onGuess = () => {}, onRead = () => {} }: Found,
): Promise<Installation> {
  const { exclude, product } = options;
  const choose = (workers: readonly string[]) =>
    chooseServices(containers, { app: options.app, workers }, wasInterrupted);
  const guessed = choose(options.workers);
  const early = deferRejection(dryRunComposeUp(cachedEngine, project, guessed.replaced));
  onGuess(guessed.replaced.flatMap((service) => service.containers));
  const known = new Set([own, ...containers].map(({ id }) => id));
  const outside = deferRejection(cachedEngine.inspectRunning(known));
  const about = { containers, services: [options.app, ...options.workers] };
  const { files, model } = await readProject(new Compose(engine, project), paths, about, log);
  const named = workersOf(model, options);
  const isAsGuessed = named.join() === options.workers.join();
  const { app, asked: requested, workers, followers, replaced } = isAsGuessed ? guessed : choose(named);
  const profiles = inferProfiles(files, model, containers);
  const asksForNames =
    createVariableLookup(files.envFiles)('COMPOSE_COMPATIBILITY') !== null &&
    replaced.some(({ name }) => !project.oldNames?.includes(name));
  const compose = new Compose(engine, {
    ...project,
    ...(profiles.length > 0 && { profiles }),
    ...(asksForNames && { asksForNames }),
  });
  // The early dry run is repeated if its assumptions about workers, profiles or container names were wrong.
  const isOutdated = profiles.length > 0 || !isAsGuessed || asksForNames;
  const asking = isOutdated
    ? deferRejection(dryRunComposeUp(cachedEngine, compose.project, replaced))
    : early;

  const related = { moved: [app, ...requested].map(nameOf), followers: followers.map(nameOf) };
  const migrations = findMigrationServices({ files, exclude, model, containers, ...related });
  const isThere = ({ name, containers }: InstalledService) =>
    name in model.services && (containers.length > 0 || migrations.includes(name));
  for (const { name } of requested.filter((worker) => !isThere(worker))) {
    if (name in model.services)
      log.info(`${name} has no container; the update will not create a container for it`);
    else if (options.servicesNamed && !containers.some((each) => serviceOf(each) === name)) {
      throw new UpdateError('no-app', `project ${project.name} has no service ${name}`, {
        advice: `Correct the name in the services setting of ${settingsFileName} or in the --service option. The project has these services: ${Object.keys(model.services).sort().join(', ')}.`,
      });
    }
  }
  const kind = kindOf(project, files, product);
  const orphans = containers.filter((each) => {
    const name = serviceOf(each);
    const isMissing = !(name in model.services) && !related.followers.includes(name);
    return isMissing && (isUp(each) || named.includes(name));
  });
  const seen = { orphans, running: containers.map(serviceOf), followers: related.followers, migrations };
  for (const sentence of checkSpecifiedServices(
    { ...options, workers: named },
    { files, model, kind, ...seen },
  ))
    log.info(sentence);
  const pinned = (facts: InstalledService): PinnedService => ({
    ...facts,
    pin: requirePin(files, facts.name),
  });
  const pinnedApp = pinned(app);
  const read = {
    product,
    project: compose.project,
    compose,
    paths,
    platform,
    kind,
    files,
    exclude,
    versionVariable: options.versionVariable,
    model,
    containers,
    app: pinnedApp,
    workers: requested.filter(isThere).map(pinned),
    followers,
    runningVersion: newestRunningVersionOf([app, ...workers].flatMap((facts) => facts.containers)),
    prefix: findVersionPrefix(pinnedApp.pin, app.containers, product),
  };
  onRead(read, asking);
  // Since compose 5, only the dry run's requests contain the values of env files, so the values are masked here.
  const response = await asking;
  log.addMaskRules(() => createEngineRequestMaskRules(response.requests.values()));
  const nextFiles = await filesOfNextUp(project, files);
  return {
    ...read,
    ...response,
    otherProjects: listOtherProjects(composed, project.name),
    outsideContainers: await outside,
    nextFiles,
  };
}

const nameOf = ({ name }: InstalledService): string => name;

/**
 * Returns the compose files that the next `docker compose up` uses by default. Empty if the last `up` used the same
 * files.
 */
async function filesOfNextUp(project: ComposeProject, { envFiles }: ProjectFiles): Promise<TextFile[]> {
  if (!hasDefaultComposeFiles(project)) return [];
  const paths = await findDefaultComposeFiles(project.directory, envFiles);
  if (paths.join() === project.files.join()) return [];
  return Promise.all(paths.map(readTextFile)).catch(() => []);
}

/**
 * An installation is generated if the marker is in `compose.yaml`, or in `compose.cluster.yaml` if that is the only
 * compose file.
 */
function kindOf(
  { directory }: ComposeProject,
  { composeFiles }: ProjectFiles,
  product: Product,
): Installation['kind'] {
  const first = composeFiles.find(({ path }) => path === join(directory, composeFileName));
  const [only, ...others] = composeFiles;
  const cluster =
    others.length === 0 && only?.path === join(directory, clusterModeComposeFileName) ? only : undefined;
  return isGeneratedComposeFile((first ?? cluster)?.text ?? '', product) ? 'generated' : 'user-written';
}
