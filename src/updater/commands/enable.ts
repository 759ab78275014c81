import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { formatShortComposeCommand } from '../../core/command-line/compose-command.ts';
import type { ProjectDraft } from '../../core/compose/draft.ts';
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
import {
  formatWorkers,
  secretReference,
  secretVariable,
  updatesName,
} from '../compose/enable/updates-service.ts';
import { requireExpectedEnableChanges } from '../compose/enable/verify-enable.ts';
import {
  type FoundInstance,
  requireNoUnrelatedContainers,
} from '../compose/inspect/find-project/find-instance.ts';
import { inspectInstallation } from '../compose/inspect/inspect-installation.ts';
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
import { findRunningLockHolder } from '../run/state/lock.ts';
import { formatRunName } from '../run/state/run-names.ts';
import { backupDirectoryOf, openStateDirectory } from '../run/state/state-directory.ts';
import { requireNoUnfinishedUpdate, withOfflineEngine } from './bump.ts';

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
  socket: string;
  /** Name of the backup of the old files; null for none. */
  backup: string | null;
  /** Whether the service `updates` has a running container. */
  isRunning: boolean;
  /** Requires that no update is running or unfinished. Called before files are written. */
  checkIdle(): Promise<void>;
  /** Requires that files and containers are the same. */
  checkDrift(): Promise<void>;
  /** Chooses the tag of the services whose tag is not a version. If null, their tags stay. */
  chooseTag(pins: readonly Pin[]): Promise<string | null>;
  /** Requires that the registry has the service `updates` with this tag. */
  checkRelease(pin: Pin, tag: string): Promise<void>;
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
  const repository = requireUpdatesImage(options.product);
  requireUnmanagedDirectory(location.directory);
  const checkIdle = async () => {
    await requireNoUnfinishedUpdate(location.mountedAt);
    const holder = await findRunningLockHolder(engine, location.mountedAt);
    if (holder === null) return;
    throw new UpdateError('update-running', `an update has been running since ${holder.since}`);
  };
  await checkIdle();
  const { containers, cachedEngine } = await listProjectContainersWithCache(engine, location.name);
  requireNoUnrelatedContainers(containers, instance, options, null);
  const own = containers.filter((each) => serviceOf(each) === updatesName);
  const others = options.workers.filter((name) => name !== updatesName);
  const workers = own.length > 0 ? [...others, updatesName] : others;
  const installation = await inspectInstallation({ ...context, options: { ...options, workers } }, instance, {
    containers,
    cachedEngine,
    wasInterrupted: () => false,
  });
  soFar.installation = installation;
  const { compose, files } = installation;
  const drift = { ownId: instance.own.id, accepted: false, planned: new Map() };
  return changeFiles({
    line,
    log,
    compose,
    files,
    directory: location.mountedAt,
    app: options.app,
    workers: installation.workers.map(({ name }) => name).filter((name) => name !== updatesName),
    socket: paths.toHost(engine.address.host.replace(/^unix:\/\//, '')) ?? defaultSocket,
    backup: formatRunName(context.startedAt),
    isRunning: own.some(isUp),
    checkIdle,
    checkDrift: () => checkDrift({ engine, log }, installation, drift),
    chooseTag: (pins) => chooseVersionTag({ engine, log }, installation, pins),
    checkRelease: (pin, tag) => requirePublishedService(engine, installation, { repository, pin, tag }),
  });
}

const defaultSocket = '/var/run/docker.sock';

/** Like `enableInstance`, but reads only the files, for an instance without containers. Needs no engine. */
export async function enableFiles(given: CommandLine, log: Log, signal: AbortSignal): Promise<RunOutcome> {
  const { dir, to, files: paths, envFiles } = enableOptionsOf(given);
  requireUpdatesImage(given.product);
  const settingsDirectory = bumpDirectoryOf({ dir, files: paths });
  const line = await addSettingsFromFile(given, settingsDirectory, log);
  const { app, workers } = updateOptionsOf(line);
  const files = await readBumpProject({ dir, files: paths, envFiles }, log);
  const directory = projectDirectoryOf(files);
  requireUnmanagedDirectory(directory);
  await requireNoUnfinishedUpdate(directory);
  return withOfflineEngine(signal, (engine) =>
    changeFiles({
      line,
      log,
      compose: new Compose(engine, {
        name: '',
        directory,
        files: files.composeFiles.map(({ path }) => path),
        envFiles: envFiles.length === 0 ? [] : files.envFiles.map(({ path }) => path),
      }),
      files,
      directory: settingsDirectory,
      app,
      workers: workers.filter((name) => name !== updatesName),
      socket: defaultSocket,
      backup: null,
      isRunning: false,
      checkIdle: () => requireNoUnfinishedUpdate(directory),
      checkDrift: async () => {},
      chooseTag: async (pins) => requireSameVersion(pins, to),
      checkRelease: async () => {},
    }),
  );
}

/** Shows the changes, or writes them if the hash of the dry run is given. */
async function changeFiles(target: EnableTarget): Promise<RunOutcome> {
  const { line, log, compose, files, app, workers, socket } = target;
  const { product } = line;
  const { undo, yes } = enableOptionsOf(line);
  log.enterPhase('plan');
  log.addMaskRules(() => ({ shown: [formatWorkers(workers)] }));
  const resolve = async (edited: ProjectFiles, paths: readonly string[]) => {
    const model = await resolveProposedModel(compose, edited, paths, await createEnvPlaceholders(edited));
    log.addMaskRules(() => createModelMaskRules(model));
    return model;
  };
  const before = await resolve(files, []);
  const isThere = isServiceEnabled(before, product);
  const isEnabled = isThere && (undo || secretOf(files) !== '');
  if (isEnabled !== undo) return logUnchanged(target, isEnabled);
  await target.checkDrift();
  const pins = [app, ...workers].map((service) => requirePin(files, service));
  const tag = undo ? null : await target.chooseTag(pins);
  const planWith = (secret: string) =>
    undo
      ? planDisable(files, app)
      : planEnable(files, before, { product, app, workers, tag, socket, secret });
  const { draft, lines } = planWith(secretPlaceholder);
  const images = new Map(
    pins.map(({ service }) => [service, requirePin(draft.files, service).referenceText] as const),
  );
  const [pin] = pins;
  if (!undo && pin) await target.checkRelease(pin, requirePin(draft.files, app).tag.text);
  const edited = draft.changes.map(({ path }) => path);
  const expected = {
    ...{ app, images, undo, lines },
    hasReference: listProjectFiles(draft.files).some(({ text }) => text.includes(secretReference)),
    hasSharedPin: (service: string) => isPinShared(files, service, pins),
  };
  const changed = [
    ...requireExpectedEnableChanges(before, await resolve(draft.files, edited), expected),
    ...listServicesWithEnvFile(files, edited),
  ].filter((name, index, all) => name !== updatesName && all.indexOf(name) === index);
  const settingsPath = join(target.directory, settingsFileName);
  const old = (await readTextFileIfExists(settingsPath))?.text ?? null;
  const settings = planSettingsChange(settingsPath, old, { product, app, workers, undo });
  const list = ({ changes }: ProjectDraft) => sortChanges(files, changes, settings);
  const planned = list(draft);
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
  const changes = list(planWith(randomBytes(32).toString('hex')).draft);
  await target.checkIdle();
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

/** @throws UpdateError enable-refused if a service is pinned to another version than the specified one */
function requireSameVersion(pins: readonly Pin[], to: string | null): string | null {
  const running = parsePinTag(to ?? '');
  const pin = pins.find(
    ({ tag }) => tag.kind === 'release' && !(running.kind === 'release' && running.version === tag.version),
  );
  if (pin === undefined) return to;
  throw new UpdateError('enable-refused', `${pin.service} is pinned to ${pin.tag.text}, not to ${to}`, {
    advice: 'Specify the running version with --to.',
  });
}

/** The env file is written first, because the compose file requires the secret, but not the other way round. */
function sortChanges(
  files: ProjectFiles,
  changes: readonly FileReplacement[],
  settings: FileReplacement | null,
): FileReplacement[] {
  const isCompose = ({ path }: FileReplacement) => isComposeFilePath(files, path);
  return [
    ...changes.filter((change) => !isCompose(change)),
    ...changes.filter(isCompose),
    ...(settings === null ? [] : [settings]),
  ];
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

function logUnchanged({ log, compose, app, isRunning }: EnableTarget, isEnabled: boolean): RunOutcome {
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
  { files, log, backup }: EnableTarget,
): Promise<void> {
  const paths = changes.map(({ path }) => path);
  for (const warning of await checkReplacementPermissions(paths)) log.warn(warning);
  await requireWritableDirectories(paths);
  const directory = projectDirectoryOf(files);
  if (backup !== null) await openStateDirectory(directory);
  await replaceFiles(changes, {
    // The id is always the same, so that temporary files of a killed run are removed.
    runId: 'enable',
    backupDirectory: backup && join(backupDirectoryOf(directory), backup),
    planned: listProjectFiles(files),
    warn: (sentence) => log.warn(sentence),
  });
}
