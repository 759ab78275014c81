import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledError } from '../../core/cancellation/cancelled.ts';
import { formatComposeCommand } from '../../core/command-line/compose-command.ts';
import { describeEdit } from '../../core/compose/draft.ts';
import {
  displayPathOf,
  listProjectFiles,
  type ProjectFiles,
  projectDirectoryOf,
} from '../../core/compose/project-files.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import type { TextFile } from '../../core/files/text-file.ts';
import {
  checkReplacementPermissions,
  requireWritableDirectories,
} from '../../core/files/transaction/check-replaceable-files.ts';
import { replaceFiles } from '../../core/files/transaction/replace-files.ts';
import { Engine } from '../../engine/cli/engine.ts';
import { planBump } from '../compose/bump/plan-bump.ts';
import { bumpDirectoryOf, readBumpProject } from '../compose/bump/read-bump-project.ts';
import { formatFileDifference } from '../run/log/difference.ts';
import type { Log } from '../run/log/run-log.ts';
import { type CommandLine, missingServiceMessage } from '../run/options/command-line.ts';
import { addSettingsFromFile } from '../run/options/settings-file.ts';
import { type BumpOptions, bumpOptionsOf } from '../run/options/update-options.ts';
import { requireNoUpdate } from '../run/state/journal.ts';

/**
 * Reads the options of `bump`. Services and files that are not on the command line are taken from the settings file in
 * the compose directory.
 * @throws UpdateError settings-invalid; usage if no services are specified
 */
export async function readBumpOptions(line: CommandLine, log: Log): Promise<BumpOptions> {
  const given = bumpOptionsOf(line);
  if (given.services.length > 0 && given.files.length > 0) return given;
  const options = bumpOptionsOf(await addSettingsFromFile(line, bumpDirectoryOf(given), log));
  if (options.services.length === 0) throw new UpdateError('usage', missingServiceMessage);
  return options;
}

/** Edits version pins in files and checks the edits with compose's model. Needs no engine. */
export async function bumpVersionPins(
  line: CommandLine,
  log: Log,
  signal: AbortSignal,
): Promise<'updated' | 'unchanged'> {
  const options = await readBumpOptions(line, log);
  log.enterPhase('plan');
  const project = await readBumpProject(options, log);
  await requireNoUpdate(projectDirectoryOf(project), null);
  return withOfflineEngine(signal, async (engine) => {
    const { draft, edits } = await planBump(project, engine, options, log);
    const paths = draft.changes.map(({ path }) => path);
    for (const warning of await checkReplacementPermissions(paths)) log.warn(warning);
    if (options.dryRun || paths.length === 0) {
      for (const change of draft.changes) {
        for (const line of formatFileDifference(displayPathOf(project, change.path), change, project))
          log.info(line);
      }
      log.enterPhase('done');
      const outcome = paths.length === 0 ? 'unchanged: nothing to do' : 'planned: nothing was changed';
      log.info(outcome, { outcome: 'unchanged' });
      return 'unchanged';
    }
    await requireWritableDirectories(paths);
    if (signal.aborted) throw new CancelledError();
    log.enterPhase('write');
    const run = randomBytes(4).toString('hex');
    await replaceFiles(draft.changes, {
      runId: run,
      backupDirectory: null,
      planned: listProjectFiles(project),
      warn: (sentence) => log.warn(sentence),
    });
    for (const edit of edits) log.info(describeEdit(draft.files, edit));
    log.enterPhase('done');
    const next = `to apply the change, run ${nextCommands(options, project)}`;
    log.info(`updated to ${options.to.tag}; ${next}`, { outcome: 'updated' });
    return 'updated';
  });
}

/** Calls `use` with an engine that can only run compose commands that read files. */
export async function withOfflineEngine<T>(
  signal: AbortSignal,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const config = await mkdtemp(join(tmpdir(), 'svc-updater-'));
  try {
    // Docker looks for plugins in its configuration directory, which is a temporary directory here. List the user's
    // plugin directory, so that Docker finds compose.
    const cliPluginsExtraDirs = [join(homedir(), '.docker/cli-plugins')];
    await writeFile(join(config, 'config.json'), JSON.stringify({ cliPluginsExtraDirs }));
    const address = { host: 'unix:///nonexistent', tls: [], configDirectory: config };
    return await use(new Engine(address, { home: homedir(), signal }));
  } finally {
    await rm(config, { recursive: true, force: true });
  }
}

/**
 * Returns the commands that apply the edits. They list the files from the command line, because compose would not find
 * these files otherwise.
 */
function nextCommands({ files, envFiles }: BumpOptions, project: ProjectFiles): string {
  const pathsOf = (named: readonly string[], found: readonly TextFile[]) =>
    named.length === 0 ? [] : found.map(({ path }) => path);
  const compose = formatComposeCommand({
    name: '',
    directory: projectDirectoryOf(project),
    files: pathsOf(files, project.composeFiles),
    envFiles: pathsOf(envFiles, project.envFiles),
  });
  return `${compose} pull && ${compose} up -d`;
}
