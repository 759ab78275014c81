import {
  hasTemporaryName,
  listProject,
  type ProjectContainers,
  wasToBeStarted,
} from '../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../engine/container.ts';
import { runsImage } from '../../engine/same-image.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { World } from '../process/world.ts';
import { type Changeover, staysDown } from '../state/changeover.ts';
import type { Journal } from '../state/journal.ts';
import { awaitHealthy, awaitWell } from './await-healthy.ts';
import { awaitOthers } from './await-others.ts';
import type { HealthReport, WatchedService } from './health.ts';
import { giveNames, removeLeftovers } from './leftovers.ts';
import { mendOthers } from './mend-others.ts';
import type { StartTimes } from './start-times.ts';
import { missingMs, watchedServices } from './watched-services.ts';

/** So often may somebody replace a container while it is verified. */
const maxRounds = 5;

/** The phase `verify`: what runs is what was pulled, is well, and nothing else changed. @throws UpdateError broken */
export async function verify(
  world: World,
  journal: Journal,
  changeover: Changeover,
  starts: StartTimes,
): Promise<void> {
  const { log } = world;
  log.enter('verify');
  await journal.note({ phase: 'verify' });
  const project = journal.data.project.name;
  const awaitOwn = () => awaitServices(world, project, changeover, starts);
  let { reports, found } = await awaitOwn();
  if (await mendOthers(world, project, changeover, found)) ({ reports, found } = await awaitOwn());
  const { containers } = found;
  const others = changedOthers(changeover, containers);
  if (others.length > 0) {
    log.warn(`meanwhile somebody else has replaced, added or removed ${others.join(', ')}: not this update`);
  }
  const wrong = containers.filter((container) => runsAnother(changeover, container));
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `${wrong.map(({ name }) => name).join(', ')} does not run the image that was pulled`,
    );
  }
  for (const { name, has, needs } of watchedServices(changeover, containers)) {
    if (has > needs) log.warn(`${name} has ${has} containers and not ${needs}: somebody else has added some`);
  }
  const how = reports.map((each) => `${each.service} ${each.how}`).join(', ');
  log.info(`${how}; ${changeover.words.runs}`);
  for (const warning of changeover.words.warnings) log.warn(warning);
}

/**
 * Until every service has the containers that it must have, well, under their own names, with nobody at work on them.
 * `found` is a look at all of the project after that.
 */
async function awaitServices(
  world: World,
  project: string,
  changeover: Changeover,
  starts: StartTimes,
): Promise<{ reports: HealthReport[]; found: ProjectContainers }> {
  const { engine, options } = world;
  const rules = { app: options.app, timeoutMs: options.waitTimeoutMs, missingMs, starts };
  for (let round = 1; round <= maxRounds; round++) {
    let seen = await endOthers(world, project, changeover);
    const look = async () => {
      const { containers } = seen ?? (await listProject(engine, project));
      seen = null;
      return watchedServices(changeover, containers);
    };
    const { reports, services } = await awaitWell(world, look, rules);
    const found = await listProject(engine, project);
    const { containers, leftovers } = found;
    const now = watchedServices(changeover, containers);
    const isSettled = ![...leftovers, ...containers].some(
      (container) => hasTemporaryName(container) && isMoved(changeover, container),
    );
    if (isSettled && idsOf(now) === idsOf(services)) return { reports, found };
  }
  throw new UpdateError('broken', 'somebody else replaces the same containers again and again');
}

const idsOf = (services: readonly WatchedService[]): string =>
  services.flatMap(({ containers }) => containers.map(({ id }) => id)).join();

const isMoved = ({ moved }: Changeover, container: Container): boolean =>
  moved.some(({ name }) => name === serviceOf(container));

/**
 * Waits for somebody else's compose call that replaces what was just made, and clears up what a killed one left: the run
 * itself makes nothing any more. Gives what was found of the project; null where something was done after that.
 */
async function endOthers(
  world: World,
  project: string,
  changeover: Changeover,
): Promise<ProjectContainers | null> {
  const { engine, log } = world;
  const services = new Set(changeover.moved.map(({ name }) => name));
  const ignores = (container: Container) => staysDown(changeover, container);
  const quiet = await awaitOthers(world, project, { services, ignores }).catch((error) => {
    if (!(error instanceof UpdateError) || error.code !== 'compose-busy') throw error;
    log.warn(`${error.message}: it is not waited for any longer`);
    return null;
  });
  const debris = (quiet?.debris ?? []).filter((container) => !staysDown(changeover, container));
  const leftovers = debris.filter(({ id }) => quiet?.leftovers.some((leftover) => leftover.id === id));
  await removeLeftovers(engine, leftovers, log);
  const seen = quiet === null || leftovers.length > 0 ? await listProject(engine, project) : quiet;
  const { containers } = seen;
  const nameless = containers.filter(
    (container) =>
      isMoved(changeover, container) &&
      hasTemporaryName(container) &&
      // One that a call is about to name and start is that call's.
      (!wasToBeStarted(container) || debris.some(({ id }) => id === container.id)),
  );
  await giveNames(engine, nameless, log);
  const toStart = containers.filter(({ id }) => debris.some((each) => each.id === id));
  for (const { id } of toStart) await engine.call(['start', id]);
  return nameless.length + toStart.length > 0 ? null : seen;
}

/** What runs already is held to what a new version is (docs/contract.md 3.15). @throws UpdateError not-well */
export async function verifyUnchanged(
  world: World,
  journal: Journal,
  services: readonly { name: string; containers: readonly Container[] }[],
): Promise<void> {
  world.log.enter('verify');
  // No later run takes these for containers that an update has stopped: it has not touched them.
  await journal.note({ containers: [] });
  const up = services.map(
    ({ name, containers }) => [name, containers.filter(isUp).map(({ id }) => id)] as const,
  );
  const ids = new Map(up.filter(([, list]) => list.length > 0));
  const { app, waitTimeoutMs } = world.options;
  await awaitHealthy(world, ids, waitTimeoutMs, app).catch((error: unknown) => {
    if (!(error instanceof UpdateError) || error.code !== 'broken') throw error;
    throw new UpdateError('not-well', error.message, { detail: error.detail, cause: error });
  });
}

/** A replaced container whose image is not the one that was pulled. */
export const runsAnother = ({ moved }: Changeover, container: Container): boolean => {
  const image = moved.find(({ name }) => name === serviceOf(container))?.image;
  return image !== null && image !== undefined && !runsImage(container, image);
};

/** Every other container of the project must be what it was. Gives the names of those that are not. */
export function changedOthers({ moved, containers }: Changeover, now: readonly Container[]): string[] {
  const names = new Set(moved.map(({ name }) => name));
  const before = containers.filter((record) => !names.has(record.service));
  const after = now.filter((container) => !names.has(serviceOf(container)));
  const changed = [
    ...before.filter(({ id }) => !after.some((container) => container.id === id)),
    ...after.filter(({ id }) => !before.some((record) => record.id === id)),
  ];
  return [...new Set(changed.map(({ name }) => name))];
}
