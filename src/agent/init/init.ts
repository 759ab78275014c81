import { join, relative } from 'node:path';
import { listProject } from '../../engine/api/project-containers.ts';
import { serviceOf } from '../../engine/container.ts';
import { disk, systemCode, writeWhole } from '../../files/file-system.ts';
import { isWithin } from '../../files/host-paths.ts';
import { settingsName } from '../../progress/state-name.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { judgeData } from '../data/declare.ts';
import { ownFiles } from '../facts/plan-point.ts';
import { findInstance, refuseForeignContainers } from '../inspect/find-instance.ts';
import { checkNamed } from '../inspect/services/check-named.ts';
import {
  type Choice,
  certainChoice,
  choiceLines,
  choicesOf,
  describeService,
} from '../inspect/services/choices.ts';
import { type Survey, surveyProject } from '../inspect/survey.ts';
import type { InitOptions } from '../process/options.ts';
import type { RunContext } from '../process/run-context.ts';
import { pinOf, settingsText } from './settings-text.ts';

/**
 * Looks at the running project, shows which services are updated together and what pins them, and writes the settings file
 * that says so (docs/contract.md 2.24). Nothing else changes.
 * Refusals: those of finding the project, no-app, foreign-service, left-behind, settings-exist, write-failed.
 */
export async function init(doors: Omit<RunContext, 'options'>, options: InitOptions): Promise<void> {
  const { engine, log } = doors;
  const instance = await findInstance({ ...doors, options });
  await instance.composed;
  const { place } = instance;
  const { containers } = await listProject(engine, place.name);
  refuseForeignContainers(containers, instance, options, null);
  const survey = await surveyProject({ ...doors, product: options.product }, instance, containers);
  log.enter('plan');
  const started = containers.map(serviceOf);
  const choice = options.servicesNamed ? asNamed(survey, options, started) : chosen(survey, options);
  const { app } = choice;
  const moved = [app, ...choice.workers];
  const others = survey.running.filter((each) => !moved.includes(each));
  for (const each of moved) {
    log.info(`${each.name} runs ${pinOf(each)}${each === app ? '; it is the app' : ''}`);
  }
  for (const each of others) log.info(`${describeService(each)} stays as it is`);
  const { directory, files } = survey.project;
  const names = files.map((path) => (isWithin(path, directory) ? relative(directory, path) : path));
  const { undecided } = judgeData({
    ...{ model: survey.model, containers, product: options.product, said: [] },
    updated: moved.map(({ name }) => name),
    files: ownFiles(survey.project),
  });
  const text = settingsText({ ...choice, others, undecided }, options, names);
  const shown = join(place.directory, settingsName);
  log.info(`${shown}:`);
  for (const line of text.trimEnd().split('\n')) log.info(`+ ${line}`);
  if (!options.dryRun) {
    const path = join(place.mountedAt, settingsName);
    // A link counts, too, wherever it leads.
    const owner = await disk.owner(path).catch(() => null);
    if (owner !== null && !options.force) {
      throw new UpdateError('settings-exist', `${shown} is there already, and was left as it is`);
    }
    await writeWhole(disk, path, text, { mode: 0o644 }).catch((cause) => {
      if (systemCode(cause) === undefined) throw cause;
      throw new UpdateError('write-failed', `${settingsName} could not be written`, { cause });
    });
  }
  log.enter('done');
  if (options.dryRun) log.info('planned: nothing was changed; init without --dry-run writes it');
  else log.info(`written: ${shown}; plan shows what an update would do with it`);
}

/** What was named, once it is known to belong together. */
function asNamed(
  { files, model, running }: Survey,
  options: InitOptions,
  started: readonly string[],
): Choice {
  const named = [options.app, ...options.workers];
  const [app, ...workers] = named.flatMap((name) => running.filter((each) => each.name === name));
  const missing = named.filter((name) => !running.some((each) => each.name === name));
  if (app === undefined || missing.length > 0) {
    const known = running.map(({ name }) => name).sort();
    throw new UpdateError('no-app', `no container of service ${missing.join(' or ')} that has an image`, {
      advice: `Its services are ${known.join(', ')}: name them with --service.`,
    });
  }
  checkNamed(options, {
    files,
    model,
    kind: 'user-written',
    running: started,
    followers: [],
    migrations: [],
  });
  return { app, workers };
}

/** What is updated where nobody has named any. @throws UpdateError no-app where that has to be chosen */
function chosen({ running, project: { name } }: Survey, { app, leave }: InitOptions): Choice {
  const choices = choicesOf(running, leave);
  const certain = certainChoice(choices, app);
  if (certain !== undefined) return certain;
  if (choices.length > 0) {
    throw new UpdateError('no-app', `${choices.length} services of project ${name} may be the app`, {
      detail: choiceLines(choices),
      advice: 'Run init again with the flags of one of the lines above.',
    });
  }
  const names = running.map(describeService).join(', ');
  throw new UpdateError('no-app', `nothing in project ${name} looks like an app: ${names || 'no image'}`, {
    advice: 'Name the services with --service, the app first.',
  });
}
