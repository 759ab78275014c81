import { isPinShared as sharesText } from '../../../../core/compose/pins/find-pin.ts';
import { isDatabaseImage, parseImageReference } from '../../../../core/compose/pins/image-reference.ts';
import type { ProjectFiles } from '../../../../core/compose/project-files.ts';
import { type ErrorCode, UpdateError } from '../../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import { type Container, serviceOf } from '../../../../engine/objects/container.ts';
import { joinWithAnd } from '../../../run/log/format-values.ts';
import type { UpdateOptions } from '../../../run/options/update-options.ts';
import {
  explainRelatedService,
  explainUnrelatedService,
  formatReferenceWithoutDigest,
  formatRepeatedOption,
  type ServiceImage,
  serviceImagesOf,
} from './related-services.ts';

/** Value of `--exclude` that excludes all services that belong with the app. */
export const excludeAllWildcard = '*';

interface SpecifiedServicesInput {
  files: ProjectFiles;
  model: ComposeModel;
  kind: 'generated' | 'user-written';
  /** Names of the services that have containers. */
  running: readonly string[];
  /** Names of the services that share a namespace with an updated service and are recreated with it. */
  followers: readonly string[];
  /** Names of the services that run once, before the other services start (docs/contract.md 2.11). */
  migrations: readonly string[];
  /** Containers of services that no file defines, if they are running or their service was specified. */
  orphans: readonly Container[];
}

/**
 * Checks that the specified services belong with the app, and that no service of the app was forgotten
 * (docs/contract.md 2.23). Returns a sentence for each excluded service that belongs with the app or does not exist.
 * @throws UpdateError unrelated-service, unlisted-services
 */
export function checkSpecifiedServices(
  { app: first, workers, exclude, servicesNamed }: UpdateOptions,
  { files, model, kind, running, followers, migrations, orphans }: SpecifiedServicesInput,
): string[] {
  const images = serviceImagesOf(files, model);
  const app = images.find(({ name }) => name === first);
  if (app === undefined) return [];
  const moved = [first, ...workers.filter((name) => name in model.services)];
  const named = images.filter(({ name }) => workers.includes(name));
  const isSameText = (name: string) => app.pin !== null && sharesText(files, name, [app.pin]);
  // A service that shares the app's pin and namespace is recreated, so it is always updated.
  const moves = (name: string) =>
    [...moved, ...migrations].includes(name) || (followers.includes(name) && isSameText(name));
  const bound = images.flatMap((each) => {
    // The compose file of a generated installation is complete, so no service can have been forgotten.
    const isAsked = kind !== 'generated' && running.includes(each.name) && !moves(each.name);
    const bond = isAsked ? explainRelatedService(app, each) : null;
    return bond === null ? [] : [{ each, bond }];
  });
  const isLeft = (name: string) => exclude.includes(name) || exclude.includes(excludeAllWildcard);
  const forgotten = bound.filter(({ each }) => !isLeft(each.name));
  const isOfApp = (each: Container) => {
    const reference = parseImageReference(each.imageReference);
    const image = reference && { name: serviceOf(each), reference, pin: null };
    return (
      workers.includes(serviceOf(each)) || (image !== null && explainRelatedService(app, image) !== null)
    );
  };
  const lost = orphans.filter((each) => !isLeft(serviceOf(each)) && isOfApp(each));
  if (lost.length > 0) throw unlistedContainers(app, lost);
  // The default services are not checked, because they belong to the product.
  if (servicesNamed) requireRelatedServices(app, named, forgotten);
  if (forgotten.length > 0) throw unlisted(app, moved, forgotten);
  if (kind === 'generated') return [];
  const unknown = exclude.filter((name) => name !== excludeAllWildcard && !(name in model.services));
  return [
    ...bound.map(
      ({ each, bond }) =>
        `${each.name} is excluded and will stay at ${formatReferenceWithoutDigest(each.reference)}, although it belongs with ${app.name} (${bond})`,
    ),
    ...unknown.map((name) => `--exclude lists ${name}, but the project has no such service`),
  ];
}

/**
 * Requires that the app is not a database and that all specified services belong with the app.
 * @param forgotten - the services that belong with the app but were not specified
 * @throws UpdateError unrelated-service
 */
function requireRelatedServices(
  app: ServiceImage,
  named: readonly ServiceImage[],
  forgotten: readonly { each: ServiceImage }[],
): void {
  if (isDatabaseImage(app.reference)) {
    const message = `${app.name} runs ${formatReferenceWithoutDigest(app.reference)}, which is a database; databases are never updated`;
    const advice =
      'Specify the app in the first --service option. To update a database, back it up and follow its documentation.';
    throw new UpdateError('unrelated-service', message, { advice });
  }
  const judged = named.map((each) => ({ name: each.name, why: explainUnrelatedService(app, each) }));
  const namesWhere = (isForeign: boolean) =>
    judged.filter(({ why }) => (why !== null) === isForeign).map(({ name }) => name);
  const foreign = namesWhere(true);
  if (foreign.length === 0) return;
  const sentences = judged.flatMap(({ why }) => why ?? []);
  const own = [app.name, ...namesWhere(false), ...forgotten.map(({ each }) => each.name)];
  const next = `To update without ${joinWithAnd(foreign)}, run the update with ${formatRepeatedOption('service', own)}.`;
  throw createServicesError('unrelated-service', sentences, next);
}

function unlisted(
  app: ServiceImage,
  moved: readonly string[],
  forgotten: readonly { each: ServiceImage; bond: string }[],
): UpdateError {
  const sentences = forgotten.map(
    ({ each, bond }) =>
      `${each.name} belongs with ${app.name} (${bond}) but was not specified with --service`,
  );
  const names = forgotten.map(({ each }) => each.name);
  const them = names.length > 1 ? 'them' : 'it';
  const next = `Run the update with ${formatRepeatedOption('service', [...moved, ...names])}, or add ${formatRepeatedOption('exclude', names)} to keep ${them} at the old version.`;
  return createServicesError('unlisted-services', sentences, next);
}

function unlistedContainers(app: ServiceImage, lost: readonly Container[]): UpdateError {
  const sentences = lost.map(
    (each) =>
      `${each.name} belongs with ${app.name}, but the compose files no longer have the service ${serviceOf(each)}`,
  );
  const names = lost.map(({ name }) => name).join(' ');
  const services = [...new Set(lost.map(serviceOf))];
  const next = `Remove ${lost.length > 1 ? 'these containers if you no longer need them' : 'this container if you no longer need it'}: docker stop ${names} && docker rm ${names}. Otherwise, add ${joinWithAnd(services)} back to the compose file, or keep the old version running with ${formatRepeatedOption('exclude', services)}.`;
  return createServicesError('unlisted-services', sentences, next);
}

/** The last sentence becomes the message of the error, and the other sentences its details. */
const createServicesError = (code: ErrorCode, sentences: readonly string[], advice: string): UpdateError =>
  new UpdateError(code, sentences.at(-1) ?? '', { detail: sentences.slice(0, -1), advice });
