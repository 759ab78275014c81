import { join, relative } from 'node:path';
import { listProject } from '../../engine/api/project-containers.ts';
import { serviceOf } from '../../engine/container.ts';
import { disk, systemCode, writeWhole } from '../../files/file-system.ts';
import { isWithin } from '../../files/host-paths.ts';
import { settingsName } from '../../progress/state-name.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { findInstance, refuseForeignContainers } from '../inspect/find-instance.ts';
import { checkNamed } from '../inspect/services/check-named.ts';
import { describeCandidate, type Proposal, proposeServices } from '../inspect/services/propose.ts';
import { type Survey, surveyProject } from '../inspect/services/survey.ts';
import type { InitOptions } from '../process/options.ts';
import type { RunContext } from '../process/run-context.ts';
import { pinOf, settingsText } from './settings-text.ts';

/**
 * Looks at the running project, shows which services belong together and what pins them, and writes the settings file that
 * says so (docs/contract.md 2.24). Nothing else changes.
 * Refusals: those of finding the project, no-app, foreign-service, left-behind, settings-exist.
 */
export async function init(doors: Omit<RunContext, 'options'>, options: InitOptions): Promise<void> {
  const { engine, log } = doors;
  const instance = await findInstance({ ...doors, options: { ...options, command: 'plan' } });
  const { place } = instance;
  const { containers } = await listProject(engine, place.name);
  refuseForeignContainers(containers, instance, options, null);
  const survey = await surveyProject({ ...doors, product: options.product }, instance, containers);
  log.enter('plan');
  const proposal = options.servicesNamed
    ? asNamed(survey, options, containers.map(serviceOf))
    : proposeServices(survey.candidates, survey.project.name, options.leave);
  if (proposal === null) throw nothingToUpdate(survey);
  const { app, workers, others } = proposal;
  for (const each of [app, ...workers]) {
    log.info(`${each.name} runs ${pinOf(each)}${each === app ? '; it is the app' : ''}`);
  }
  for (const each of others) log.info(`${describeCandidate(each)} stays as it is`);
  const { directory, files } = survey.project;
  const names = files.map((path) => (isWithin(path, directory) ? relative(directory, path) : path));
  const text = settingsText(proposal, options, names);
  const shown = join(place.directory, settingsName);
  log.info(`${shown}:`);
  for (const line of text.trimEnd().split('\n')) log.info(`+ ${line}`);
  // A link counts, too, wherever it leads.
  const isThere = await disk.owner(join(place.mountedAt, settingsName)).then(
    () => true,
    () => false,
  );
  if (!options.dryRun) {
    if (isThere && !options.force) {
      throw new UpdateError('settings-exist', `${shown} is there already, and was left as it is`);
    }
    await write(join(place.mountedAt, settingsName), text);
  }
  log.enter('done');
  if (options.dryRun) log.info('planned: nothing was changed; init without --dry-run writes it');
  else log.info(`written: ${shown}; plan shows what an update would do with it`);
}

/** What was named, once it is known to belong together. */
function asNamed(survey: Survey, options: InitOptions, running: readonly string[]): Proposal {
  const { files, model, candidates } = survey;
  const moved = [options.app, ...options.workers];
  const [app, ...workers] = moved.map((name) => candidates.find((each) => each.name === name));
  const missing = moved.filter((name) => !candidates.some((each) => each.name === name));
  if (app === undefined || missing.length > 0) {
    throw new UpdateError('no-app', `no container of service ${missing.join(' or ')} that has an image`, {
      advice: `Its services are ${candidates
        .map(({ name }) => name)
        .sort()
        .join(', ')}: name them with --service.`,
    });
  }
  checkNamed(
    { ...options, command: 'plan' },
    { files, model, kind: 'user-written', running, followers: [], migrations: [] },
  );
  const others = candidates.filter(({ name }) => !moved.includes(name));
  return { app, workers: workers.filter((each) => each !== undefined), others };
}

function nothingToUpdate({ candidates, project }: Survey): UpdateError {
  const names = candidates.map(describeCandidate).join(', ');
  return new UpdateError(
    'no-app',
    `nothing in project ${project.name} looks like an app: ${names || 'no image'}`,
    {
      advice: 'Name the services with --service, the app first.',
    },
  );
}

/** @throws UpdateError write-failed */
async function write(path: string, text: string): Promise<void> {
  try {
    await writeWhole(disk, path, text, { mode: 0o644 });
  } catch (cause) {
    if (systemCode(cause) === undefined) throw cause;
    throw new UpdateError('write-failed', `${settingsName} could not be written`, { cause });
  }
}
