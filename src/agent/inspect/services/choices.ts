import { isDatabase } from '../../../compose/reference.ts';
import { bondOf, flags, type ServiceImage, shown } from './together.ts';

/** In place of a name, `--leave` says it of all that belongs with the app. */
export const leaveAll = '*';

/** A service that has containers. */
export interface RunningService extends ServiceImage {
  /** It publishes ports, or is on the host's network. */
  isReached: boolean;
}

/** What may be updated together: an app, and all that belongs with it. */
export interface Choice {
  app: RunningService;
  workers: readonly RunningService[];
}

/**
 * Each service that is no database as the app, with what belongs with it (docs/contract.md 2.24). One that publishes no
 * port is not offered as the app where one that belongs with it does. Apps that publish ports come first, of those the
 * ones with the most workers, then by name.
 * @param leave names of services that stay behind, or `*` for all but the app
 */
export function choicesOf(running: readonly RunningService[], leave: readonly string[] = []): Choice[] {
  const able = running
    .filter(({ name, reference }) => !isDatabase(reference) && !leave.includes(name))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  const belonging = (app: RunningService) =>
    able.filter((each) => each !== app && bondOf(app, each) !== null);
  return able
    .map((app) => ({ app, workers: belonging(app) }))
    .filter(({ app, workers }) => app.isReached || !workers.some(({ isReached }) => isReached))
    .toSorted((a, b) => rank(b.app) - rank(a.app) || b.workers.length - a.workers.length)
    .map(({ app, workers }) => ({ app, workers: leave.includes(leaveAll) ? [] : workers }));
}

/** The one that needs no word: that of the service which `update` takes for the app, or the only one there is. */
export const certainChoice = (choices: readonly Choice[], app: string): Choice | undefined =>
  choices.find((each) => each.app.name === app) ?? (choices.length === 1 ? choices[0] : undefined);

const rank = ({ isReached }: RunningService): number => Number(isReached);

/** What is typed for a choice: `--service server --service worker`. */
export const flagsOf = ({ app, workers }: Choice): string =>
  flags(
    'service',
    [app, ...workers].map(({ name }) => name),
  );

/** A line for each choice: `server (acme/server:2.0.1): --service server --service worker`. */
export const choiceLines = (choices: readonly Choice[]): string[] =>
  choices.map((choice) => `${describeService(choice.app)}: ${flagsOf(choice)}`);

/** `server (ghcr.io/acme/server:2.0.1)` */
export const describeService = ({ name, reference }: ServiceImage): string => `${name} (${shown(reference)})`;
