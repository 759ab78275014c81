import { requireUpdateError, UpdateError } from '../../../core/progress/update-error.ts';
import {
  finalName,
  hasTemporaryName,
  listProject,
  ofProject,
  type ProjectContainers,
  wasBeingReplaced,
  wasToBeStarted,
} from '../../../engine/api/project-containers.ts';
import { type Container, serviceOf } from '../../../engine/container.ts';
import { TryAgain } from '../../run/drive.ts';
import {
  type Changeover,
  idsToRun,
  mustRun,
  recordsOf,
  staysDown,
  toRun,
} from '../../run/state/changeover.ts';
import { awaitWell } from './await-healthy.ts';
import { awaitOthers } from './await-others.ts';
import { giveNames, removeLeftovers, startBrokenOff } from './containers.ts';
import type { HealthReport, WatchedService } from './health.ts';
import { type OthersRules, OthersWatch } from './others-watch.ts';
import type { Replacement } from './replacement.ts';

/** Somebody who takes a container away may be about to bring another. */
const missingMs = 10_000;
/** How often other calls may replace a container while it is waited for. */
const tries = 5;

/**
 * Waits until every moved service has its containers, well and under their own names, and no other call replaces them.
 * `found` is the look at all of the project that showed it.
 * @param app the service that has to run for longer before it counts as well
 * @param first a look of just now
 * @throws TryAgain; UpdateError broken
 */
export async function awaitServices(
  work: Replacement,
  app: string,
  first: ProjectContainers | null = null,
): Promise<{ reports: HealthReport[]; found: ProjectContainers }> {
  const { engine, compose, changeover, options, starts } = work;
  const failedBefore = (container: Container) =>
    recordsOf(changeover, serviceOf(container)).some(
      ({ failing }) => failing !== undefined && failing === container.healthCheck.failing,
    );
  const rules = { app, timeoutMs: options.limits.waitTimeoutMs, missingMs, starts, failedBefore };
  const about = ofProject(compose.project.name);
  const { isBusy, seen } = await endOthers(work, first);
  const rulesOfOthers = othersRules(changeover);
  const watch = new OthersWatch(rulesOfOthers, performance.now());
  const list = (containers: readonly Container[]) =>
    listProject(engine, compose.project.name, { containers, services: rulesOfOthers.services });
  let found = seen ?? (await list([]));
  let isNew = true;
  const look = async () => {
    if (!isNew) found = await list(found.containers);
    isNew = false;
    // What a call that came later is at, or was killed at, does not become well by waiting for it.
    if (!isBusy && watch.look(found, performance.now()).kind !== 'quiet') throw othersAtWork(app);
    return watchedServices(changeover, found.containers);
  };
  const reports = await awaitWell(work, { about, look }, rules);
  const isOpen = (container: Container) => hasTemporaryName(container) && isMoved(changeover, container);
  if ([...found.leftovers, ...found.containers].some(isOpen)) throw othersAtWork(app);
  return { reports, found };
}

/** Another compose call has come to the services that are waited for. */
const othersAtWork = (app: string) =>
  new TryAgain(
    `wait for ${app}`,
    new UpdateError('broken', 'another process keeps replacing the same containers'),
    {
      tries,
    },
  );

const othersRules = (changeover: Changeover): OthersRules => ({
  services: new Set(changeover.moved.map(({ name }) => name)),
  ignores: (container) => staysDown(changeover, container),
});

const isMoved = ({ moved }: Changeover, container: Container): boolean =>
  moved.some(({ name }) => name === serviceOf(container));

/**
 * Waits for somebody else's compose call that replaces what was just made, and clears up what a killed one left: the run
 * itself makes nothing any more. What it had stopped, or had made and not started, is started (docs/contract.md 2.18).
 * Gives whether a call is at work still, and the last look; null where something was done after that.
 */
async function endOthers(
  work: Replacement,
  first: ProjectContainers | null,
): Promise<{ isBusy: boolean; seen: ProjectContainers | null }> {
  const { changeover } = work;
  const project = work.compose.project.name;
  const quiet = await awaitOthers(work, project, othersRules(changeover), first).catch((error) => {
    const { message } = requireUpdateError(error, 'compose-busy');
    work.log.warn(`${message}; continuing without waiting any longer`);
    return null;
  });
  const debris = (quiet?.debris ?? []).filter((container) => !staysDown(changeover, container));
  const leftovers = debris.filter(({ id }) => quiet?.leftovers.some((leftover) => leftover.id === id));
  await removeLeftovers(work, leftovers);
  const seen = quiet === null || leftovers.length > 0 ? await listProject(work.engine, project) : quiet;
  const own = seen.containers.filter((container) => isMoved(changeover, container));
  const nameless = own.filter(
    (container) =>
      hasTemporaryName(container) &&
      // A container that another call is about to name and start belongs to that call.
      (!wasToBeStarted(container) || debris.some(({ id }) => id === container.id)),
  );
  await giveNames(work, nameless);
  const toStart = own.filter(
    (container) =>
      debris.some(({ id }) => id === container.id) ||
      (wasBeingReplaced(container, leftovers) && !staysDown(changeover, container)),
  );
  await startBrokenOff(
    work,
    toStart.map((container) => ({ id: container.id, name: finalName(container) })),
  );
  return { seen: nameless.length + toStart.length > 0 ? null : seen, isBusy: quiet === null };
}

/** The containers that each moved service must have, and those that it has. */
export function watchedServices(changeover: Changeover, now: readonly Container[]): WatchedService[] {
  const ids = idsToRun(changeover, now);
  const lasting = changeover.moved.filter(({ runsOnce, isRemoved }) => !runsOnce && !isRemoved);
  return lasting.map((moved) => {
    const total = toRun(changeover, moved);
    const all = now.filter((container) => serviceOf(container) === moved.name);
    const containers = all.filter(({ id }) => ids.get(moved.name)?.includes(id));
    const running = recordsOf(changeover, moved.name).filter((each) => mustRun(moved, each));
    const needs = moved.added ? total : running.length;
    const isShort = all.length >= total && containers.length < needs;
    return isShort
      ? { name: moved.name, containers, has: containers.length, needs }
      : { name: moved.name, containers, has: all.length, needs: total };
  });
}
