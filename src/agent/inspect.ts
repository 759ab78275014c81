import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { readComposeFile } from '../compose/compose-file.ts';
import { reachOf } from '../compose/layers.ts';
import { findPin } from '../compose/pins.ts';
import { parseReference } from '../compose/reference.ts';
import { allEnvFiles, type ProjectFiles, type TextFile } from '../compose/text-file.ts';
import { Compose, type ComposeProject, type Model } from '../engine/compose.ts';
import { byNumber, type Container, isMeantToRun, numberOf, service } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import { compareVersions } from '../release/order.ts';
import { parseTag, versionFromLabel } from '../release/tag.ts';
import type { HostPaths } from './host-paths.ts';
import { type Installation, isGenerated, isLeftover, type ServiceFacts } from './installation.ts';
import type { Located } from './locate-project.ts';
import type { Log } from './log.ts';
import { createMask } from './mask.ts';
import type { Met } from './meet.ts';
import type { UpdateOptions } from './options.ts';
import { checkEnvFiles, readMountedLinks } from './outside-files.ts';
import { readTextFile, readTextFileIfThere } from './read-files.ts';
import { secretsOfContainers, secretsOfFiles, secretsOfModel } from './secrets.ts';

const label = 'com.docker.compose';

/**
 * Gathers everything that the plan is made from and changes nothing but this container's own file system.
 * Refusals: no-app, outside-mounts, path-taken, compose-invalid.
 */
export async function inspectInstallation(
  engine: Engine,
  { platform, paths, located }: Met,
  options: UpdateOptions,
  log: Log,
  afterKill = false,
): Promise<Installation> {
  const all = (await engine.containers([`label=${label}.project=${located.name}`])).filter(
    (container) => container.labels[`${label}.oneoff`] !== 'True',
  );
  const containers = all.filter((container) => !isLeftover(container)).sort(byNumber);

  const [appName = 'app', ...workerNames] = options.services;
  const app = findApp(containers, appName, located);
  const project = readProject(app, located);
  await givePaths(project, paths, log);

  const files = await readMountedLinks(await readFiles(project), paths);
  const hide = (model?: Model) =>
    log.hide(
      createMask({
        secrets: [
          ...secretsOfFiles(allEnvFiles(files)),
          ...secretsOfContainers(containers),
          ...(model ? secretsOfModel(model) : []),
        ],
        keep: keptTexts(project, containers, model),
        extra: log.alwaysHidden,
      }),
    );
  hide();

  const compose = new Compose(engine, project);
  const checkEnv = (known: Model | null) => checkEnvFiles(files, known, options.services, paths);
  const model = await compose.config().catch((error) => {
    // Compose says of a file that is not mounted here that it does not exist.
    checkEnv(null);
    throw reachOf(files).remote[0] ?? error;
  });
  hide(model);
  checkEnv(model);

  const services = [
    facts(appName, containers, true),
    ...workerNames.flatMap((name) => {
      const worker = facts(name, containers, false);
      if (worker.containers.length > 0) return [afterKill ? meantToRun(worker) : worker];
      if (name in model.services) log.info(`${name} has no container: it is left that way`);
      else if (options.servicesNamed) {
        throw new UpdateError('no-app', `no service ${name} in project ${project.name}`, {
          advice: `Its services are ${Object.keys(model.services).sort().join(', ')}: name them with --service.`,
        });
      }
      return [];
    }),
  ];
  const first = files.composeFiles.find(({ path }) => path === join(project.directory, 'compose.yaml'));
  const [only, ...others] = files.composeFiles;
  const cluster =
    others.length === 0 && only?.path === join(project.directory, 'compose.cluster.yaml') ? only : undefined;
  return {
    project,
    compose,
    paths,
    platform,
    kind: isGenerated((first ?? cluster)?.text ?? '') ? 'generated' : 'user-written',
    files,
    versionVariable: options.versionVariable,
    model,
    containers,
    leftovers: all.filter(isLeftover),
    services,
    followers: findFollowers(containers, services),
    pins: services.map(({ name }) => findPin(files, name)),
    runningVersion: runningVersion(services.flatMap((moved) => moved.containers)),
  };
}

function findApp(containers: readonly Container[], name: string, located: Located): Container {
  const own = containers.filter((container) => service(container) === name);
  const app = own.findLast(isMeantToRun) ?? own.at(-1);
  if (app) return app;
  const names = [...new Set(containers.map(service))].sort().join(', ');
  throw new UpdateError(
    'no-app',
    `project ${located.name} in ${located.directory} has no container of service ${name}`,
    {
      advice: `Its containers are of ${names || 'no service'}. Start the instance once with docker compose up -d, or name the app service with --service.`,
    },
  );
}

function readProject(app: Container, located: Located): ComposeProject {
  const list = (key: string) => (app.labels[`${label}.project.${key}`] ?? '').split(',').filter(Boolean);
  const files = list('config_files');
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
  return { name: located.name, directory: located.directory, files, envFiles: list('environment_file') };
}

/** Compose must see the instance exactly as the host does. */
async function givePaths(project: ComposeProject, paths: HostPaths, log: Log): Promise<void> {
  const outside = [...project.files, ...project.envFiles].filter((file) => paths.fromHost(file) === null);
  if (outside.length > 0) {
    const mounts = [...new Set(outside.map((file) => dirname(file)))]
      .map((dir) => `-v ${dir}:${dir}`)
      .join(' ');
    throw new UpdateError(
      'outside-mounts',
      `the instance was started with ${outside.join(', ')}, which is not mounted here`,
      {
        advice: `Add ${mounts} to the docker run command.`,
      },
    );
  }
  for (const path of [
    project.directory,
    ...[...project.files, ...project.envFiles].map((file) => dirname(file)),
  ]) {
    const given = await paths.give(path);
    if (given) log.info(`${path} is mounted at ${given.to}: compose gets it under its own path`);
  }
}

async function readFiles(project: ComposeProject): Promise<ProjectFiles> {
  const composeFiles = await Promise.all(project.files.map(readTextFile));
  for (const file of composeFiles) readComposeFile(file);
  const byDefault = join(project.directory, '.env');
  const envFiles =
    project.envFiles.length > 0
      ? await Promise.all(project.envFiles.map(readTextFile))
      : [await readTextFileIfThere(byDefault)].filter((file): file is TextFile => file !== null);
  return {
    composeFiles,
    envFiles,
    newEnvFile: project.envFiles.at(-1) ?? byDefault,
    directory: project.directory,
    given: { COMPOSE_PROJECT_NAME: project.name, PWD: project.directory, HOME: homedir() },
  };
}

function facts(name: string, all: readonly Container[], isApp: boolean): ServiceFacts {
  const containers = all.filter((container) => service(container) === name);
  const stopped = containers.filter((container) => !isMeantToRun(container)).map(numberOf);
  return { name, isApp, containers, running: containers.length - stopped.length, stopped };
}

/** A run that was killed had stopped its workers: what nobody stopped on purpose is started again. */
const meantToRun = (facts: ServiceFacts): ServiceFacts => ({
  ...facts,
  running: facts.containers.length,
  stopped: [],
});

/** Containers that live in a moved container's network, pid or ipc namespace, directly or by one that does. */
function findFollowers(containers: readonly Container[], moved: readonly ServiceFacts[]): ServiceFacts[] {
  const names = new Set(moved.map(({ name }) => name));
  const lost = new Set(moved.flatMap(({ containers: own }) => own.map(({ id }) => `container:${id}`)));
  const followers: ServiceFacts[] = [];
  for (let grown = true; grown; ) {
    grown = false;
    for (const container of containers) {
      const name = service(container);
      if (names.has(name)) continue;
      if (![container.networkMode, container.pidMode, container.ipcMode].some((mode) => lost.has(mode)))
        continue;
      const follower = facts(name, containers, false);
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
    const version =
      tag.kind === 'release'
        ? tag.version
        : versionFromLabel(container.labels['org.opencontainers.image.version']);
    return version ? [version] : [];
  });
  return versions.sort(compareVersions).at(-1) ?? null;
}

/** Never masked: image references, the project's name and paths (SPEC 1.7). */
function keptTexts(project: ComposeProject, containers: readonly Container[], model?: Model): string[] {
  const images = [
    ...containers.map(({ imageReference }) => imageReference),
    ...Object.values(model?.services ?? {}).flatMap(({ image }) => (image ? [image] : [])),
  ];
  return [
    project.name,
    project.directory,
    ...[...project.files, ...project.envFiles].flatMap((file) => [file, basename(file)]),
    ...containers.map(({ imageId }) => imageId),
    ...containers.flatMap(({ mounts }) => mounts.flatMap(({ source, destination }) => [source, destination])),
    // The repository alone as well: the new release is another tag of it.
    ...images.flatMap((image) => [image, parseReference(image)?.repository ?? image]),
  ];
}
