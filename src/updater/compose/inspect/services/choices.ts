import { isDatabaseImage } from '../../../../core/compose/pins/image-reference.ts';
import {
  explainRelatedService,
  formatReferenceWithoutDigest,
  type ServiceImage,
} from './related-services.ts';

/** A service that has containers. */
interface RunningService extends ServiceImage {
  /** Whether the service publishes ports or uses the host's network. */
  isReachable: boolean;
}

/** An app and the services that belong with it, which can be updated together. */
export interface ServiceChoice {
  app: RunningService;
  workers: readonly RunningService[];
}

/**
 * Returns a choice for each service except databases: the service as the app, and related services as workers
 * (docs/contract.md 2.24). If a worker publishes a port but the app does not, the choice is omitted. The choices are
 * sorted: apps that publish ports first, then apps with more workers, then by name.
 */
export function serviceChoicesOf(running: readonly RunningService[]): ServiceChoice[] {
  const able = running
    .filter(({ reference }) => !isDatabaseImage(reference))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  const belonging = (app: RunningService) =>
    able.filter((each) => each !== app && explainRelatedService(app, each) !== null);
  return able
    .map((app) => ({ app, workers: belonging(app) }))
    .filter(({ app, workers }) => app.isReachable || !workers.some(({ isReachable: isReached }) => isReached))
    .toSorted((a, b) => rank(b.app) - rank(a.app) || b.workers.length - a.workers.length);
}

const rank = ({ isReachable: isReached }: RunningService): number => Number(isReached);

/**
 * Formats each choice as a line of the settings file: `services: [server, worker]  # server runs acme/server:2.0.1`.
 */
export const formatServiceChoiceLines = (choices: readonly ServiceChoice[]): string[] =>
  choices.map(
    ({ app, workers }) =>
      `${formatSettingsLines([app, ...workers].map(({ name }) => name))}  # ${app.name} runs ${formatReferenceWithoutDigest(app.reference)}`,
  );

/** Formats lines of the settings file, with the app first: `services: [server, worker]`, `exclude: [tools]`. */
export const formatSettingsLines = (
  services: readonly string[],
  exclude: readonly string[] = [],
): string[] => [
  `services: [${services.join(', ')}]`,
  // Without quotes, YAML parses the asterisk as an alias.
  ...(exclude.length > 0
    ? [`exclude: [${exclude.map((name) => (name === '*' ? '"*"' : name)).join(', ')}]`]
    : []),
];
