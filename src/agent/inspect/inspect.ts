import { join } from 'node:path';
import { findPin } from '../../compose/find-pin.ts';
import type { ProjectFiles } from '../../compose/project-files.ts';
import { variablesOf } from '../../compose/variables.ts';
import { isOfComposeOne } from '../../engine/api/project-containers.ts';
import { Compose, type ComposeProject } from '../../engine/cli/compose.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../engine/container.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import type { Product } from '../../progress/product.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { dryRun } from '../drift/index.ts';
import { withOwnCommands } from '../log/ending-facts.ts';
import { confidencesOfSent } from '../log/secrets.ts';
import type { RunContext } from '../process/run-context.ts';
import { startEarly } from '../process/start-early.ts';
import type { WasInterrupted } from '../state/changeover.ts';
import { workersOf } from './choose-workers.ts';
import { withEnvAbove, withShellsFiles } from './env-file-above.ts';
import type { FoundInstance } from './find-instance.ts';
import {
  clusterFile,
  composeFile,
  type Installation,
  isGenerated,
  type PinnedService,
  type ServiceFacts,
} from './installation.ts';
import { labelledProject, projectsBeside } from './labelled-project.ts';
import { profilesOf } from './profiles.ts';
import { newestRunning, versionPrefix } from './running-version.ts';
import { checkNamed } from './services/check-named.ts';
import { findMigrations } from './services/migrations.ts';
import { withoutApp } from './services/survey.ts';
import { givePaths, viewProject } from './view-project.ts';

/**
 * Gathers everything that the plan is made from and changes nothing but this container's own file system.
 * @param containers those of the project, as they were just found, with none that is somebody else's
 * Refusals: no-app, outside-mounts, path-taken, compose-invalid.
 */
export async function inspectInstallation(
  { engine, options, log }: RunContext,
  { platform, paths, place, composed, told }: FoundInstance,
  wasInterrupted: WasInterrupted,
  containers: readonly Container[],
): Promise<Installation> {
  const found = findApp(containers, options.app);
  if (found === null) throw await withoutApp({ engine, options, log }, { paths, place, told }, containers);
  const telling = told ?? found;
  const names = [options.app, ...options.workers];
  const project = await labelledProject(telling, { place, containers, names }, paths, log);
  const choose = (workers: readonly string[]) =>
    chooseServices(containers, { app: options.app, workers }, wasInterrupted);
  const guessed = choose(options.workers);
  await givePaths(project, paths, log);
  const seen = new Compose(engine, project);
  const early = startEarly(dryRun(engine, project, guessed.replaced));
  const about = { containers, services: [options.app, ...options.workers], product: options.product };
  const explain = (error: unknown): never => {
    throw explained(error, project, paths);
  };
  const { files, model } = await viewProject(seen, paths, about, log).catch(async (error) =>
    explain(await withShellsFiles(error, project, paths)),
  );
  const named = workersOf(model, options);
  const isAsGuessed = named.join() === options.workers.join();
  const { app, asked, workers, followers, replaced } = isAsGuessed ? guessed : choose(named);
  const profiles = profilesOf(files, model, containers);
  const asksForNames =
    variablesOf(files.envFiles)('COMPOSE_COMPATIBILITY') !== null &&
    replaced.some(({ name }) => !project.oldNames?.includes(name));
  const moved = [app, ...workers].map(({ name }) => name);
  const isByOne = containers.some((each) => isOfComposeOne(each) && !moved.includes(serviceOf(each)));
  const compose = new Compose(engine, {
    ...project,
    ...(profiles.length > 0 && { profiles }),
    ...(asksForNames && { asksForNames }),
    ...(isByOne && { upOnly: moved }),
  });
  // Without its profiles the early answer is of another project, or a rejection; or it is of other services, or names.
  const isToAskAnew = profiles.length > 0 || !isAsGuessed || asksForNames;
  const asking = isToAskAnew ? startEarly(dryRun(engine, compose.project, replaced)) : early;

  const { leave } = options;
  const related = { moved: [app, ...asked].map(nameOf), followers: followers.map(nameOf) };
  const migrations = findMigrations({ files, leave, model, containers, ...related });
  const isRun = ({ name }: ServiceFacts) => migrations.includes(name);
  for (const { name } of asked.filter((worker) => worker.containers.length === 0 && !isRun(worker))) {
    if (name in model.services) log.info(`${name} has no container: it is left that way`);
    else if (options.servicesNamed) {
      throw new UpdateError('no-app', `no service ${name} in project ${project.name}`, {
        advice: `Its services are ${Object.keys(model.services).sort().join(', ')}: name them with --service.`,
      });
    }
  }
  const kind = kindOf(project, files, options.product);
  const seenServices = { running: containers.map(serviceOf), followers: related.followers, migrations };
  for (const sentence of checkNamed({ ...options, workers: named }, { files, model, kind, ...seenServices }))
    log.info(sentence);
  // From compose 5 on its models have no values of env files; what it would send has them.
  const answer = await asking.catch(explain);
  log.learn(() => confidencesOfSent(answer.sent.values()));
  const pinned = (facts: ServiceFacts): PinnedService => {
    try {
      return { ...facts, pin: findPin(files, facts.name) };
    } catch (error) {
      return explain(error);
    }
  };
  const pinnedApp = pinned(app);
  return {
    product: options.product,
    project: compose.project,
    compose,
    paths,
    platform,
    kind,
    files,
    leave,
    versionVariable: options.versionVariable,
    model,
    containers,
    beside: projectsBeside(composed, project.name),
    app: pinnedApp,
    workers: asked.filter((each) => each.containers.length > 0 || isRun(each)).map(pinned),
    followers,
    runningVersion: newestRunning([app, ...workers].flatMap((facts) => facts.containers)),
    prefix: versionPrefix(pinnedApp.pin, app.containers, options.product),
    ...answer,
  };
}

const nameOf = ({ name }: ServiceFacts): string => name;

/** The error with advice that fits this project. */
function explained(error: unknown, project: ComposeProject, paths: HostPaths): unknown {
  const said = withEnvAbove(error, project, paths);
  if (!(said instanceof UpdateError)) return said;
  const { code, message, detail, cause } = said;
  return new UpdateError(code, message, { advice: withOwnCommands(said.advice, project), detail, cause });
}

/** An install is generated where `compose.yaml` says so, or `compose.cluster.yaml` where that is its only file. */
function kindOf(
  { directory }: ComposeProject,
  { composeFiles }: ProjectFiles,
  product: Product,
): Installation['kind'] {
  const first = composeFiles.find(({ path }) => path === join(directory, composeFile));
  const [only, ...others] = composeFiles;
  const cluster = others.length === 0 && only?.path === join(directory, clusterFile) ? only : undefined;
  return isGenerated((first ?? cluster)?.text ?? '', product) ? 'generated' : 'user-written';
}

function findApp(containers: readonly Container[], name: string): Container | null {
  const own = containers.filter((container) => serviceOf(container) === name);
  return own.findLast(isUp) ?? own.at(-1) ?? null;
}

/** The services of a run, with what the engine has of them. */
interface ChosenServices {
  app: ServiceFacts;
  /** Those that were named, and of them those that have containers. */
  asked: readonly ServiceFacts[];
  workers: readonly ServiceFacts[];
  /** In a namespace of one of those. */
  followers: readonly ServiceFacts[];
  /** All whose containers are replaced. */
  replaced: readonly ServiceFacts[];
}

function chooseServices(
  containers: readonly Container[],
  names: { app: string; workers: readonly string[] },
  wasInterrupted: WasInterrupted,
): ChosenServices {
  const factsOf = (name: string) => serviceFacts(name, containers, wasInterrupted);
  const app = factsOf(names.app);
  const asked = names.workers.map(factsOf);
  const workers = asked.filter((worker) => worker.containers.length > 0);
  const followers = findFollowers(containers, [app, ...workers]).map(factsOf);
  return { app, asked, workers, followers, replaced: [app, ...workers, ...followers] };
}

function serviceFacts(name: string, all: readonly Container[], wasInterrupted: WasInterrupted): ServiceFacts {
  const containers = all.filter((container) => serviceOf(container) === name);
  const stopped = containers
    .filter((container) => !isUp(container) && !wasInterrupted(container))
    .map(numberOf);
  return { name, containers, running: containers.length - stopped.length, stopped };
}

/** Services with a container in a moved container's network, pid or ipc namespace, directly or by one that has. */
function findFollowers(containers: readonly Container[], moved: readonly ServiceFacts[]): string[] {
  const names = new Set(moved.map(({ name }) => name));
  const followers: string[] = [];
  for (let grown = true; grown; ) {
    grown = false;
    const lost = new Set(
      containers.filter((each) => names.has(serviceOf(each))).map(({ id }) => `container:${id}`),
    );
    for (const container of containers) {
      const name = serviceOf(container);
      if (names.has(name)) continue;
      if (![container.networkMode, container.pidMode, container.ipcMode].some((mode) => lost.has(mode)))
        continue;
      names.add(name);
      followers.push(name);
      grown = true;
    }
  }
  return followers;
}
