import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { formatShortComposeCommand } from '../../core/command-line/compose-command.ts';
import { isPinShared, requirePin } from '../../core/compose/pins/find-pin.ts';
import type { Pin } from '../../core/compose/pins/pin.ts';
import {
  displayPathOf,
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
import { Compose } from '../../engine/cli/compose.ts';
import { listProjectContainersWithCache } from '../../engine/containers/project-containers.ts';
import { isUp, serviceOf } from '../../engine/objects/container.ts';
import { createEnvPlaceholders } from '../compose/bump/plan-bump.ts';
import { bumpDirectoryOf, readBumpProject } from '../compose/bump/read-bump-project.ts';
import { checkDrift } from '../compose/drift/index.ts';
import { chooseVersionTag, requirePublishedService } from '../compose/enable/choose-version-tag.ts';
import { findManager } from '../compose/enable/find-manager.ts';
import { isTrackedByGit } from '../compose/enable/is-tracked-by-git.ts';
import { planDisable, planEnable, requireUpdatesImage } from '../compose/enable/plan-enable.ts';
import { planSettingsChange } from '../compose/enable/settings-change.ts';
import { formatWorkers, secretVariable, updatesName } from '../compose/enable/updates-service.ts';
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
import { createUnfinishedRunError, readUnfinishedJournal } from '../run/state/journal.ts';
import { findRunningLockHolder } from '../run/state/lock.ts';
import { formatRunName } from '../run/state/run-names.ts';
import { backupDirectoryOf, openStateDirectory, stateDirectoryOf } from '../run/state/state-directory.ts';
import { withOfflineEngine } from './bump.ts';

/** Shown instead of the secret in a dry run, and part of its hash. The secret is generated when the files are written. */
const secretPlaceholder = 'generated';

/** The project that `enable` changes, and the services that the product's updates replace. */
interface EnableTarget {
  line: CommandLine;
  log: Log;
  compose: Compose;
  files: ProjectFiles;
  app: string;
  workers: readonly string[];
  socket: string;
  /** Name of the backup of the old files; null for none. */
  backup: string | null;
  /** Whether the service `updates` has a running container. */
  isRunning: boolean;
  /** Requires that files and containers are the same. */
  checkInstance(): Promise<void>;
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
  const journal = await readUnfinishedJournal(stateDirectoryOf(location.mountedAt));
  if (journal !== null) throw createUnfinishedRunError(journal);
  const holder = await findRunningLockHolder(engine, location.mountedAt);
  if (holder !== null)
    throw new UpdateError('update-running', `an update has been running since ${holder.since}`);
  const manager = findManager(location.directory);
  if (manager !== null)
    throw new UpdateError('enable-refused', `${manager} writes the compose file of this project`, {
      advice: `Add the lines in ${manager}. The documentation of the product contains them.`,
    });
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
    app: options.app,
    workers: installation.workers.map(({ name }) => name).filter((name) => name !== updatesName),
    socket: paths.toHost(engine.address.host.replace(/^unix:\/\//, '')) ?? defaultSocket,
    backup: formatRunName(context.startedAt),
    isRunning: own.some(isUp),
    checkInstance: () => checkDrift({ engine, log }, installation, drift),
    chooseTag: (pins) => chooseVersionTag({ engine, log }, installation, pins),
    checkRelease: (pin, tag) => requirePublishedService(engine, installation, { repository, pin, tag }),
  });
}

const defaultSocket = '/var/run/docker.sock';

/** Like `enableInstance`, but reads only the files, for an instance without containers. Needs no engine. */
export async function enableFiles(given: CommandLine, log: Log, signal: AbortSignal): Promise<RunOutcome> {
  const { dir, to, files: paths, envFiles } = enableOptionsOf(given);
  requireUpdatesImage(given.product);
  const line = await addSettingsFromFile(given, bumpDirectoryOf({ dir, files: paths }), log);
  const { app, workers } = updateOptionsOf(line);
  const files = await readBumpProject({ dir, files: paths, envFiles }, log);
  return withOfflineEngine(signal, (engine) =>
    changeFiles({
      line,
      log,
      compose: new Compose(engine, {
        name: '',
        directory: projectDirectoryOf(files),
        files: files.composeFiles.map(({ path }) => path),
        envFiles: envFiles.length === 0 ? [] : files.envFiles.map(({ path }) => path),
      }),
      files,
      app,
      workers: workers.filter((name) => name !== updatesName),
      socket: defaultSocket,
      backup: null,
      isRunning: false,
      checkInstance: async () => {},
      chooseTag: async () => to,
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
  const isEnabled = before.services[updatesName]?.image?.startsWith(`${product.updatesImage}:`) ?? false;
  if (isEnabled !== undo) return logUnchanged(target, isEnabled);
  await target.checkInstance();
  const pins = [app, ...workers].map((service) => requirePin(files, service));
  const tag = undo ? null : await target.chooseTag(pins);
  const planWith = (secret: string) =>
    undo
      ? planDisable(files, app)
      : planEnable(files, before, { product, app, workers, tag, socket, secret });
  const draft = planWith(secretPlaceholder);
  const images = new Map(
    pins.map(({ service }) => [service, requirePin(draft.files, service).referenceText] as const),
  );
  const pin = pins[0];
  if (!undo && pin) await target.checkRelease(pin, requirePin(draft.files, app).tag.text);
  const after = await resolve(
    draft.files,
    draft.changes.map(({ path }) => path),
  );
  const changed = requireExpectedEnableChanges(before, after, {
    app,
    images,
    hasSharedPin: (service) => isPinShared(files, service, pins),
  });
  const settingsPath = join(projectDirectoryOf(files), settingsFileName);
  const old = (await readTextFileIfExists(settingsPath))?.text ?? null;
  const settings = planSettingsChange(settingsPath, old, { product, app, workers, undo });
  const withSettings = (changes: readonly FileReplacement[]) => [...changes, ...(settings ? [settings] : [])];
  const planned = withSettings(draft.changes);
  for (const { path } of undo ? [] : draft.files.envFiles) {
    if (!(await isTrackedByGit(path))) continue;
    throw new UpdateError(
      'enable-refused',
      `Git tracks ${displayPathOf(files, path)}, which would contain a secret`,
      {
        advice: 'Remove the file from the repository with git rm --cached, then run enable again.',
      },
    );
  }
  const hash = hashOfChanges(planned);
  if (yes === null) {
    if (!undo) log.warn(`this gives ${updatesName} root access to this machine through the engine's socket`);
    for (const change of planned) {
      const name = displayPathOf(files, change.path);
      for (const each of formatFileDifference(name, change, draft.files, { hidden: [secretVariable] }))
        log.info(each);
    }
    return logPlanResult(log, `to write these changes, run the same command with --yes ${hash}`);
  }
  if (yes !== hash)
    throw new UpdateError('file-changed', `the changes are not those of the dry run with the hash ${yes}`, {
      advice: `Run the command without --yes, and check its changes.`,
    });
  const changes = withSettings(planWith(randomBytes(32).toString('hex')).changes);
  log.enterPhase('write');
  await writeFiles(changes, target);
  log.info(`changed ${joinWithAnd(changes.map(({ path }) => displayPathOf(files, path)))}`);
  const services = changed.filter((name) => name !== updatesName);
  const restarts = `it restarts ${joinWithAnd(services)}, unavailable until the new containers are ready`;
  const start = formatStartCommand(compose, undo ? services : [...services, updatesName]);
  const removal = undo ? `. Then remove the container and the volume of ${updatesName}` : '';
  const word = undo ? 'removed' : 'added';
  return logSuccess(
    log,
    'updated',
    `${word} the service ${updatesName}; to apply the change, run ${start} (${restarts})${removal}`,
    {},
  );
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
    runId: backup ?? randomBytes(4).toString('hex'),
    backupDirectory: backup && join(backupDirectoryOf(directory), backup),
    planned: listProjectFiles(files),
    warn: (sentence) => log.warn(sentence),
  });
}
