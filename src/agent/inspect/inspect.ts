import { isAbsolute, join } from 'node:path';
import { findPin } from '../../compose/find-pin.ts';
import { parseReference } from '../../compose/reference.ts';
import { listProject } from '../../engine/api/project-containers.ts';
import { Compose, type ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../engine/container.ts';
import { composeLabels, versionLabel } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { compareVersions } from '../../release/order.ts';
import { parseTag, versionFromLabel } from '../../release/tag.ts';
import type { Log } from '../log/log.ts';
import type { UpdateOptions } from '../process/options.ts';
import type { WasInterrupted } from '../state/changeover.ts';
import type { FoundInstance } from './find-instance.ts';
import {
  clusterFile,
  composeFile,
  type Installation,
  isGenerated,
  type ServiceFacts,
} from './installation.ts';
import type { ProjectPlace } from './locate-project.ts';
import { givePaths, viewProject } from './view-project.ts';

/**
 * Gathers everything that the plan is made from and changes nothing but this container's own file system.
 * Refusals: no-app, outside-mounts, path-taken, compose-invalid.
 */
export async function inspectInstallation(
  engine: Engine,
  { platform, paths, located }: FoundInstance,
  options: UpdateOptions,
  log: Log,
  wasInterrupted: WasInterrupted,
): Promise<Installation> {
  const { containers } = await listProject(engine, located.name);
  const [appName = 'app', ...workerNames] = options.services;
  const app = findApp(containers, appName, located);
  const project = readProject(app, located);
  const workers = workerNames.map((name) => facts(name, containers, false, wasInterrupted));
  const services = [
    facts(appName, containers, true, wasInterrupted),
    ...workers.filter((worker) => worker.containers.length > 0),
  ];
  const followers = findFollowers(containers, services, wasInterrupted);
  await givePaths(project, paths, log);
  const movedModel = new Compose(engine, project).config({
    services: [...services, ...followers].map(({ name }) => name),
  });
  // Whoever needs it awaits it; until then another mistake may come first.
  movedModel.catch(() => {});
  const { files, compose, model } = await viewProject(
    engine,
    project,
    containers,
    paths,
    options.services,
    log,
  );

  for (const { name } of workers.filter((worker) => worker.containers.length === 0)) {
    if (name in model.services) log.info(`${name} has no container: it is left that way`);
    else if (options.servicesNamed) {
      throw new UpdateError('no-app', `no service ${name} in project ${project.name}`, {
        advice: `Its services are ${Object.keys(model.services).sort().join(', ')}: name them with --service.`,
      });
    }
  }
  const first = files.composeFiles.find(({ path }) => path === join(project.directory, composeFile));
  const [only, ...others] = files.composeFiles;
  const cluster =
    others.length === 0 && only?.path === join(project.directory, clusterFile) ? only : undefined;
  return {
    project,
    compose,
    paths,
    platform,
    kind: isGenerated((first ?? cluster)?.text ?? '') ? 'generated' : 'user-written',
    files,
    versionVariable: options.versionVariable,
    model,
    movedModel,
    containers,
    services,
    followers,
    pins: services.map(({ name }) => findPin(files, name)),
    runningVersion: runningVersion(services.flatMap((moved) => moved.containers)),
  };
}

function findApp(containers: readonly Container[], name: string, located: ProjectPlace): Container {
  const own = containers.filter((container) => serviceOf(container) === name);
  const app = own.findLast(isUp) ?? own.at(-1);
  if (app) return app;
  const names = [...new Set(containers.map(serviceOf))].sort().join(', ');
  throw new UpdateError(
    'no-app',
    `project ${located.name} in ${located.directory} has no container of service ${name}`,
    {
      advice: `Its containers are of ${names || 'no service'}. Start the instance once with docker compose up -d, or name the app service with --service.`,
    },
  );
}

function readProject(app: Container, located: ProjectPlace): ComposeProject {
  const list = (label: string) => (app.labels[label] ?? '').split(',').filter(Boolean);
  const files = list(composeLabels.files);
  const foreign = files.find((file) => !isAbsolute(file));
  if (files.length === 0 || foreign !== undefined) {
    throw new UpdateError(
      'compose-invalid',
      `the instance was started from ${foreign ?? 'no file'}, which is no file on this host`,
      {
        advice: 'Start it from a compose file with docker compose up -d, then run the update again.',
      },
    );
  }
  return { name: located.name, directory: located.directory, files, envFiles: list(composeLabels.envFiles) };
}

function facts(
  name: string,
  all: readonly Container[],
  isApp: boolean,
  wasInterrupted: WasInterrupted,
): ServiceFacts {
  const containers = all.filter((container) => serviceOf(container) === name);
  const stopped = containers
    .filter((container) => !isUp(container) && !wasInterrupted(container))
    .map(numberOf);
  return { name, isApp, containers, running: containers.length - stopped.length, stopped };
}

/** Containers that live in a moved container's network, pid or ipc namespace, directly or by one that does. */
function findFollowers(
  containers: readonly Container[],
  moved: readonly ServiceFacts[],
  wasInterrupted: WasInterrupted,
): ServiceFacts[] {
  const names = new Set(moved.map(({ name }) => name));
  const lost = new Set(moved.flatMap(({ containers: own }) => own.map(({ id }) => `container:${id}`)));
  const followers: ServiceFacts[] = [];
  for (let grown = true; grown; ) {
    grown = false;
    for (const container of containers) {
      const name = serviceOf(container);
      if (names.has(name)) continue;
      if (![container.networkMode, container.pidMode, container.ipcMode].some((mode) => lost.has(mode)))
        continue;
      const follower = facts(name, containers, false, wasInterrupted);
      names.add(name);
      followers.push(follower);
      for (const { id } of follower.containers) lost.add(`container:${id}`);
      grown = true;
    }
  }
  return followers;
}

/** The newest release among the running images: nothing may go below it. */
function runningVersion(containers: readonly Container[]): string | null {
  const versions = containers.flatMap((container) => {
    const reference = parseReference(container.imageReference);
    const tag = parseTag(reference?.tag ?? 'latest');
    const version = tag.kind === 'release' ? tag.version : versionFromLabel(container.labels[versionLabel]);
    return version ? [version] : [];
  });
  return versions.sort(compareVersions).at(-1) ?? null;
}
