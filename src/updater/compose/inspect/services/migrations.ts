import { pinOrNull, sharesPin } from '../../../../core/compose/find-pin.ts';
import { serviceOf } from '../../../../engine/container.ts';
import { awaitedEnds, type Installation, movedServices } from '../installation.ts';

/** What decides which services are migrations of those that move. */
interface MigrationFacts extends Pick<Installation, 'files' | 'exclude' | 'containers' | 'model'> {
  /** Names of the services that move. */
  moved: readonly string[];
  /** Names of those that are recreated with one of them. */
  followers: readonly string[];
}

/**
 * Services that run once, and to whose end one that moves waits, where their image moves with the others'
 * (docs/contract.md 2.11): named with them, pinned by the same text, or, where no container tells of another, of the same image.
 */
export function findMigrations(facts: MigrationFacts): string[] {
  const { files, exclude, containers, moved, followers } = facts;
  const { services } = facts.model;
  const pins = moved.flatMap((name) => pinOrNull(files, name) ?? []);
  const images = moved.flatMap((name) => services[name]?.image ?? []);
  const isOfSameImage = (name: string) =>
    images.includes(services[name]?.image ?? '') && !containers.some((each) => serviceOf(each) === name);
  const isOwn = (name: string) => moved.includes(name) || sharesPin(files, name, pins) || isOfSameImage(name);
  const awaited = new Set(moved.flatMap((name) => awaitedEnds(services[name])));
  // Grows while it is gone through: one may wait for another, also by one that does not move.
  for (const name of awaited) for (const next of awaitedEnds(services[name])) awaited.add(next);
  return [...awaited].filter(
    (name) => name in services && isOwn(name) && !exclude.includes(name) && !followers.includes(name),
  );
}

/** Those of an installation, by the model of today or by another. */
export const migrationsOf = (installation: Installation, model = installation.model): string[] =>
  findMigrations({
    ...installation,
    model,
    moved: movedServices(installation).map(({ name }) => name),
    followers: installation.followers.map(({ name }) => name),
  });
