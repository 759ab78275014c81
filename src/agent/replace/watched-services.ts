import { type Container, serviceOf } from '../../engine/container.ts';
import { type Changeover, idsToRun, mustRun, recordsOf } from '../state/changeover.ts';
import type { WatchedService } from './health.ts';

/** Somebody who takes a container away may be about to bring another. */
export const missingMs = 10_000;

/** What must be of each moved service, and what there is of it. */
export function watchedServices(changeover: Changeover, now: readonly Container[]): WatchedService[] {
  const ids = idsToRun(changeover, now);
  const lasting = changeover.moved.filter(({ runsOnce }) => !runsOnce);
  return lasting.map((moved) => {
    const records = recordsOf(changeover, moved.name);
    const all = now.filter((container) => serviceOf(container) === moved.name);
    const containers = all.filter(({ id }) => ids.get(moved.name)?.includes(id));
    const needs = records.filter((each) => mustRun(moved, each)).length;
    const isShort = all.length >= records.length && containers.length < needs;
    return isShort
      ? { name: moved.name, containers, has: containers.length, needs }
      : { name: moved.name, containers, has: all.length, needs: records.length };
  });
}
