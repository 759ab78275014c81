import { setTimeout as sleep } from 'node:timers/promises';
import {
  hasTemporaryName,
  isMadeFor,
  listProject,
  type ProjectContainers,
} from '../../engine/api/project-containers.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../engine/container.ts';
import { breakSilence } from '../log/heartbeat.ts';
import type { Changeover } from '../state/changeover.ts';
import { giveNames, namesOf, startBrokenOff } from './containers.ts';
import { lookEveryMs, patienceMs, stillMs } from './others-watch.ts';
import type { Replacement } from './replacement.ts';

/**
 * Starts what another compose call has begun to replace, among the services that do not move, and has left down: such a
 * call breaks off as a whole where it meets this run at one service, and what it was stopping goes down after that. What
 * somebody has stopped stays stopped. Gives whether anything was begun: the same call may have come to the moved services
 * meanwhile.
 * @param first what was just found of the project
 */
export async function startAbandoned(work: Replacement, first: ProjectContainers): Promise<boolean> {
  const beganAt = performance.now();
  let seen = { state: '', since: beganAt };
  let begun: Container[];
  for (let found = first, wasBegun = false; ; wasBegun = true) {
    begun = begunByOthers(work.changeover, found);
    if (begun.length === 0) return wasBegun;
    const now = performance.now();
    const state = [...found.containers, ...found.leftovers]
      .map(({ id, name, status }) => `${id} ${name} ${status}`)
      .join();
    if (state !== seen.state) seen = { state, since: now };
    const graceMs = Math.max(...begun.map((each) => (isUp(each) ? each.stopTimeout * 1000 : 0)));
    if (now - seen.since >= graceMs + stillMs || now - beganAt >= patienceMs) break;
    breakSilence(
      work.log,
      `another docker compose command is replacing ${namesOf(begun)}; waiting for it to finish`,
    );
    await sleep(lookEveryMs);
    found = await listProject(work.engine, work.compose.project.name);
  }
  // What runs still beside such a leftover does so since before a call was killed.
  const down = begun.filter((container) => !isUp(container));
  await giveNames(work, down.filter(hasTemporaryName));
  await startBrokenOff(work, down);
  return true;
}

/** Containers of other services that were up, and that a compose call has begun to replace and not started again. */
export function begunByOthers(
  { moved, containers: records }: Changeover,
  { containers, leftovers }: ProjectContainers,
): Container[] {
  const others = records.filter(({ runs, service }) => runs && !moved.some(({ name }) => name === service));
  return others.flatMap(({ service, number }) => {
    const own = containers.filter((each) => serviceOf(each) === service && numberOf(each) === number);
    const isBegun = (container: Container) => leftovers.some((leftover) => isMadeFor(leftover, container));
    const up = own.find(isUp);
    const begun =
      up === undefined
        ? (own.find(({ status }) => status === 'created') ?? own.find(isBegun))
        : [up].find(isBegun);
    return begun === undefined ? [] : [begun];
  });
}
