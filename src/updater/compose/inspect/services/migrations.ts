import { findUsablePin, isPinShared } from '../../../../core/compose/pins/find-pin.ts';
import { serviceOf } from '../../../../engine/objects/container.ts';
import { completionDependenciesOf, type Installation, updatedServicesOf } from '../installation.ts';

interface MigrationSearchInput extends Pick<Installation, 'files' | 'exclude' | 'containers' | 'model'> {
  /** Names of the updated services. */
  moved: readonly string[];
  /** Names of the services that are recreated with an updated service. */
  followers: readonly string[];
}

/**
 * Finds updated services that must complete before an updated service starts (docs/contract.md 2.11). Such a service
 * was specified, shares an updated service's pin, or has no containers but an updated service's image.
 */
export function findMigrationServices(facts: MigrationSearchInput): string[] {
  const { files, exclude, containers, moved, followers } = facts;
  const { services } = facts.model;
  const pins = moved.flatMap((name) => findUsablePin(files, name) ?? []);
  const images = moved.flatMap((name) => services[name]?.image ?? []);
  const isOfSameImage = (name: string) =>
    images.includes(services[name]?.image ?? '') && !containers.some((each) => serviceOf(each) === name);
  const isOwn = (name: string) =>
    moved.includes(name) || isPinShared(files, name, pins) || isOfSameImage(name);
  const awaited = new Set(moved.flatMap((name) => completionDependenciesOf(services[name])));
  // The set grows during the loop, because a migration may depend on another, even indirectly.
  for (const name of awaited) for (const next of completionDependenciesOf(services[name])) awaited.add(next);
  return [...awaited].filter(
    (name) => name in services && isOwn(name) && !exclude.includes(name) && !followers.includes(name),
  );
}

export const migrationServicesOf = (installation: Installation, model = installation.model): string[] =>
  findMigrationServices({
    ...installation,
    model,
    moved: updatedServicesOf(installation).map(({ name }) => name),
    followers: installation.followers.map(({ name }) => name),
  });
