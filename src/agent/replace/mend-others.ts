import { setTimeout as sleep } from 'node:timers/promises';
import {
  hasTemporaryName,
  listProject,
  type ProjectContainers,
  wasBeingReplaced,
} from '../../engine/api/project-containers.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../engine/container.ts';
import { heartbeatMs } from '../log/heartbeat.ts';
import type { Log } from '../log/log.ts';
import type { Changeover } from '../state/changeover.ts';
import { giveNames } from './leftovers.ts';
import { lookEveryMs, patienceMs, stillMs } from './others-watch.ts';

/**
 * Starts what another compose call has begun to replace, among the services that do not move, and has left down: such a
 * call breaks off as a whole where it meets this run at one service. What somebody has stopped stays stopped.
 */
export async function mendOthers(
  { engine, log }: { engine: Engine; log: Log },
  project: string,
  changeover: Changeover,
): Promise<void> {
  const beganAt = performance.now();
  let seen = { state: '', since: beganAt };
  let nextBeat = beganAt + heartbeatMs;
  let down: Container[];
  for (;;) {
    const found = await listProject(engine, project);
    down = cutOff(changeover, found);
    if (down.length === 0) return;
    const now = performance.now();
    const state = [...found.containers, ...found.leftovers]
      .map(({ id, name, status }) => `${id} ${name} ${status}`)
      .join();
    if (state !== seen.state) seen = { state, since: now };
    if (now - seen.since >= stillMs || now - beganAt >= patienceMs) break;
    if (now >= nextBeat) {
      nextBeat += heartbeatMs;
      log.info(`another compose call has not started ${namesOf(down)} yet: waiting for it`);
    }
    await sleep(lookEveryMs);
  }
  await giveNames(engine, down.filter(hasTemporaryName), log);
  for (const { id } of down) await engine.call(['start', id]);
  log.warn(`another compose call broke off before it had started ${namesOf(down)}: started by the updater`);
}

/** Containers of other services that were up, and that a compose call has begun to replace and not started again. */
export function cutOff(
  { moved, containers: records }: Changeover,
  { containers, leftovers }: ProjectContainers,
): Container[] {
  const others = records.filter(({ runs, service }) => runs && !moved.some(({ name }) => name === service));
  return others.flatMap(({ service, number }) => {
    const own = containers.filter((each) => serviceOf(each) === service && numberOf(each) === number);
    if (own.some(isUp)) return [];
    const begun =
      own.find(({ status }) => status === 'created') ??
      own.find((container) => wasBeingReplaced(container, leftovers));
    return begun === undefined ? [] : [begun];
  });
}

const namesOf = (containers: readonly Container[]): string => containers.map(({ name }) => name).join(', ');
