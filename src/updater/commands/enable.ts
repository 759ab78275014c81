import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { formatShortComposeCommand } from '../../core/command-line/compose-command.ts';
import { isPinShared, requirePin } from '../../core/compose/pins/find-pin.ts';
import type { Pin } from '../../core/compose/pins/pin.ts';
import {
  displayPathOf,
  isComposeFilePath,
  listProjectFiles,
  type ProjectFiles,
  projectDirectoryOf,
} from '../../core/compose/project-files.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { readTextFileIfExists } from '../../core/files/text-file.ts';
import {
  checkReplacementPermissions,
  requireWritableDirectories,
} from '../../core/files/transaction/check-replaceable-files.ts';
import { type FileReplacement, replaceFiles } from '../../core/files/transaction/replace-files.ts';
import { settingsFileName } from '../../core/names/state-directory-name.ts';
import { parsePinTag } from '../../core/release/pin-tag.ts';
import { Compose } from '../../engine/cli/compose.ts';
import { listProjectContainersWithCache } from '../../engine/containers/project-containers.ts';
import { isUp, serviceOf } from '../../engine/objects/container.ts';
import { createEnvPlaceholders, listServicesWithEnvFile } from '../compose/bump/plan-bump.ts';
import { bumpDirectoryOf, readBumpProject } from '../compose/bump/read-bump-project.ts';
import { checkDrift } from '../compose/drift/index.ts';
import { chooseVersionTag, requirePublishedService } from '../compose/enable/choose-version-tag.ts';
import { findManager } from '../compose/enable/find-manager.ts';
import { isTrackedByGit } from '../compose/enable/is-tracked-by-git.ts';
import {
  isServiceEnabled,
  planDisable,
  planEnable,
  requireUpdatesImage,
  secretOf,
} from '../compose/enable/plan-enable.ts';
import { planSettingsChange } from '../compose/enable/settings-change.ts';
import { formatWorkers, secretVariable, updatesName } from '../compose/enable/updates-service.ts';
import { requireExpectedEnableChanges } from '../compose/enable/verify-enable.ts';
import {
  type FoundInstance,
  requireNoUnrelatedContainers,
} from '../compose/inspect/find-project/find-instance.ts';
import { inspectInstallation } from '../compose/inspect/inspect-installation.ts';
import type { Installation } from '../compose/inspect/installation.ts';
import type { ProjectRunState } from '../compose/recovery/project-run-state.ts';
import { resolveProposedModel } from '../compose/verify-edit/resolve-proposed-model.ts';
import { logPlanResult } from '../run/last-lines.ts';
import { formatFileDifference } from '../run/log/difference.ts';
import { joinWithAnd } from '../run/log/format-values.ts';
import { createModelMaskRules } from '../run/log/mask-rules.ts';
import type { Log } from '../run/log/run-log.ts';
import { logSuccess, type RunOutcome } from '../run/log/run-outcome.ts';
import type { CommandLine } from '../run/options/command-line.ts';
import { addSettingsFromFile } from '../run/options/settings-file.ts';
import { enableOptionsOf, updateOptionsOf } from '../run/options/update-options.ts';
import type { RunContext } from '../run/run-context.ts';
import { requireNoUpdate } from '../run/state/journal.ts';
import { formatRunName } from '../run/state/run-names.ts';
import { backupDirectoryOf, openStateDirectory } from '../run/state/state-directory.ts';
import { withOfflineEngine } from './bump.ts';

/** Shown instead of the secret in a dry run, and part of its hash. The secret is generated when the files are written. */
const secretPlaceholder = 'generated';

/** The project that `enable` changes, and the services that the product's updates replace. */
interface EnableTarget {
  line: CommandLine;
  log: Log;
  compose: Compose;
  files: ProjectFiles;
  /** Directory of the settings file. */
  directory: string;
  app: string;
  workers: readonly string[];
  /** Host path of the engine's socket. */
  socket: string;
  /** Null if the project has no containers. */
  running: RunningInstance | null;
}

interface RunningInstance {
  context: RunContext;
  instance: FoundInstance;
  installation: Installation;
}

/** Adds what the dashboard's button needs to the instance in the mounted directory, or shows what would be added. */
export async function enableInstance(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
  line: CommandLine,
): Promise<RunOutcome> {
  const { engine, log, options } = context;
  const { location, paths } = instance;
  requireUpdatesImage(options.product);
  requireUnmanagedDirectory(location.directory);
  await requireNoUpdate(location.mountedAt, engine);
  const { containers, cachedEngine } = await listProjectContainersWithCache(engine, location.name);
  requireNoUnrelatedContainers(containers, instance, options, null);
  const others = options.workers.filter((name) => name !== updatesName);
  const isCreated = containers.some((each) => serviceOf(each) === updatesName);
  const workers = isCreated ? [...others, updatesName] : others;
  const installation = await inspectInstallation({ ...context, options: { ...options, workers } }, instance, {
    containers,
    cachedEngine,
    wasInterrupted: () => false,
  });
  soFar.installation = installation;
  return changeFiles({
    line,
    log,
    compose: installation.compose,
    files: installation.files,
    directory: location.mountedAt,
    app: options.app,
    workers: installation.workers.map(({ name }) => name).filter((name) => name !== updatesName),
    socket: paths.toHost(engine.address.host.replace(/^unix:\/\//, '')) ?? defaultSocket,
    running: { context, instance, installation },
  });
}

const defaultSocket = '/var/run/docker.sock';

/** Like `enableInstance`, but reads only the files, for an instance without containers. Needs no engine. */
export async function enableFiles(given: CommandLine, log: Log, signal: AbortSignal): Promise<RunOutcome> {
  const paths = enableOptionsOf(given);
  requireUpdatesImage(given.product);
  const settingsDirectory = bumpDirectoryOf(paths);
  const line = await addSettingsFromFile(given, settingsDirectory, log);
  const { app, workers } = updateOptionsOf(line);
  const files = await readBumpProject(paths, log);
  const directory = projectDirectoryOf(files);
  requireUnmanagedDirectory(directory);
  await requireNoUpdate(directory, null);
  return withOfflineEngine(signal, (engine) =>
    changeFiles({
      line,
      log,
      compose: new Compose(engine, {
        name: '',
        directory,
        files: files.composeFiles.map(({ path }) => path),
        envFiles: paths.envFiles.length === 0 ? [] : files.envFiles.map(({ path }) => path),
      }),
      files,
      directory: settingsDirectory,
      app,
      workers: workers.filter((name) => name !== updatesName),
      socket: defaultSocket,
      running: null,
    }),
  );
}

/** Shows the changes, or writes them if the hash of the dry run is given. */
async function changeFiles(target: EnableTarget): Promise<RunOutcome> {
  const { line, log, compose, files, app, workers, socket, running } = target;
  const { product } = line;
  const { undo, yes, to } = enableOptionsOf(line);
  log.enterPhase('plan');
  log.addMaskRules(() => ({ shown: [formatWorkers(workers)] }));
  const resolve = async (edited: ProjectFiles, paths: readonly string[]) => {
    const model = await resolveProposedModel(compose, edited, paths, await createEnvPlaceholders(edited));
    log.addMaskRules(() => createModelMaskRules(model));
    return model;
  };
  const before = await resolve(files, []);
  const hasService = isServiceEnabled(before, product);
  const isEnabled = hasService && (undo || secretOf(files) !== '');
  if (isEnabled !== undo) return logUnchanged(target, isEnabled);
  if (running) {
    const { context, instance, installation } = running;
    await checkDrift(context, installation, { ownId: instance.own.id, accepted: false, planned: new Map() });
  }
  const pins = [app, ...workers].map((service) => requirePin(files, service));
  const tag = undo ? null : await chooseTag(running, pins, to);
  const planWith = (secret: string) =>
    undo
      ? planDisable(files, app)
      : planEnable(files, before, { product, app, workers, tag, socket, secret });
  const { draft, lines } = planWith(secretPlaceholder);
  const images = new Map(
    pins.map(({ service }) => [service, requirePin(draft.files, service).referenceText] as const),
  );
  if (running && !undo) {
    const { context, installation } = running;
    const repository = requireUpdatesImage(product);
    const published = { repository, pin: requirePin(files, app), tag: requirePin(draft.files, app).tag.text };
    await requirePublishedService(context.engine, installation, published);
  }
  const edited = draft.changes.map(({ path }) => path);
  const expected = {
    ...{ app, images, undo, lines },
    hasSharedPin: (service: string) => isPinShared(files, service, pins),
  };
  const changed = [
    ...requireExpectedEnableChanges(before, await resolve(draft.files, edited), expected),
    ...listServicesWithEnvFile(files, edited),
  ].filter((name, index, all) => name !== updatesName && all.indexOf(name) === index);
  const settingsPath = join(target.directory, settingsFileName);
  const old = (await readTextFileIfExists(settingsPath))?.text ?? null;
  const settings = planSettingsChange(settingsPath, old, { product, app, workers, undo });
  const planned = sortChanges(target, draft.changes, settings);
  if (!undo) await requireUntrackedFiles(files, edited);
  const hash = hashOfChanges(planned);
  const restarts = `it restarts ${joinWithAnd(changed)}, unavailable until the new containers are ready`;
  if (yes === null) {
    if (!undo) log.warn(`this gives ${updatesName} root access to this machine through the engine's socket`);
    for (const change of planned) for (const each of formatChange(change, draft.files)) log.info(each);
    log.info(`after these changes, docker compose up recreates ${joinWithAnd(changed)}`);
    return logPlanResult(log, `to write these changes, run the same command with --yes ${hash}`);
  }
  if (yes !== hash)
    throw new UpdateError('file-changed', `the changes differ from the dry run with the hash ${yes}`, {
      advice: 'Run the command without --yes, and check its changes.',
    });
  const written = planWith(randomBytes(32).toString('hex')).draft;
  const changes = sortChanges(target, written.changes, settings);
  await requireNoUpdate(projectDirectoryOf(files), running?.context.engine ?? null);
  log.enterPhase('write');
  await writeFiles(changes, target);
  log.info(`changed ${joinWithAnd(changes.map(({ path }) => displayPathOf(files, path)))}`);
  const start = formatStartCommand(compose, undo ? changed : [...changed, updatesName]);
  const removal = undo ? `. Then remove the container and the volume of ${updatesName}` : '';
  const message = `${undo ? 'removed' : 'added'} the service ${updatesName}; to apply the change, run ${start} (${restarts})${removal}`;
  return logSuccess(log, 'updated', message, {});
}

/** @throws UpdateError enable-refused */
function requireUnmanagedDirectory(directory: string): void {
  const manager = findManager(directory);
  if (manager === null) return;
  throw new UpdateError('enable-refused', `${manager} writes the compose file of this project`, {
    advice: `Add the lines in ${manager}. The documentation of the product contains them.`,
  });
}

/**
 * Returns the new tag of the services whose tag is not a version; null if their tags stay.
 * @throws UpdateError enable-refused if a service is pinned to another version than the specified one
 */
async function chooseTag(
  running: RunningInstance | null,
  pins: readonly Pin[],
  to: string | null,
): Promise<string | null> {
  if (running) return chooseVersionTag(running.context, running.installation, pins);
  const version = parsePinTag(to ?? '');
  const pin = pins.find(
    ({ tag }) => tag.kind === 'release' && !(version.kind === 'release' && version.version === tag.version),
  );
  if (pin === undefined) return to;
  throw new UpdateError('enable-refused', `${pin.service} is pinned to ${pin.tag.text}, not to ${to}`, {
    advice: 'Specify the running version with --to.',
  });
}

/** A compose file that requires the secret is written after the env file, and removed lines before it. */
function sortChanges(
  { files, line }: EnableTarget,
  changes: readonly FileReplacement[],
  settings: FileReplacement | null,
): FileReplacement[] {
  const order = enableOptionsOf(line).undo ? [true, false] : [false, true];
  const sorted = order.flatMap((kind) =>
    changes.filter(({ path }) => isComposeFilePath(files, path) === kind),
  );
  return settings === null ? sorted : [...sorted, settings];
}

/** @throws UpdateError enable-refused */
async function requireUntrackedFiles(files: ProjectFiles, edited: readonly string[]): Promise<void> {
  for (const path of edited.filter((each) => !isComposeFilePath(files, each))) {
    if (!(await isTrackedByGit(path))) continue;
    const message = `Git tracks ${displayPathOf(files, path)}, but enable writes a secret to this file`;
    const advice = 'Remove the file from the repository with git rm --cached, then run enable again.';
    throw new UpdateError('enable-refused', message, { advice });
  }
}

/** A last line without a line break is unchanged if lines are added after it. It may be secret, so it is not shown. */
function formatChange({ path, before, after }: FileReplacement, files: ProjectFiles): string[] {
  const closed = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
  const change = { path, before: before && closed(before), after: closed(after) };
  return formatFileDifference(displayPathOf(files, path), change, files, { hidden: [secretVariable] });
}

function logUnchanged({ log, compose, app, running }: EnableTarget, isEnabled: boolean): RunOutcome {
  const service = running?.installation.workers.find(({ name }) => name === updatesName);
  const isRunning = service?.containers.some(isUp) ?? false;
  const start = `is in the files; to start it, run ${formatStartCommand(compose, [app, updatesName])}`;
  const state = isEnabled ? (isRunning ? 'is running; nothing to do' : start) : 'is not in the files';
  return logSuccess(log, 'unchanged', `unchanged: the service ${updatesName} ${state}`, {});
}

const formatStartCommand = ({ project }: Compose, services: readonly string[]): string =>
  `${formatShortComposeCommand(project)} up -d ${services.join(' ')}`;

const hashOfChanges = (changes: readonly FileReplacement[]): string =>
  createHash('sha256')
    .update(JSON.stringify(changes.map(({ path, before, after }) => [path, before, after])))
    .digest('hex')
    .slice(0, 12);

async function writeFiles(
  changes: readonly FileReplacement[],
  { files, log, running }: EnableTarget,
): Promise<void> {
  const paths = changes.map(({ path }) => path);
  for (const warning of await checkReplacementPermissions(paths)) log.warn(warning);
  await requireWritableDirectories(paths);
  const directory = projectDirectoryOf(files);
  if (running) await openStateDirectory(directory);
  await replaceFiles(changes, {
    // The id is always the same, so that temporary files of a killed run are removed.
    runId: 'enable',
    backupDirectory: running && join(backupDirectoryOf(directory), formatRunName(running.context.startedAt)),
    planned: listProjectFiles(files),
    warn: (sentence) => log.warn(sentence),
  });
}
