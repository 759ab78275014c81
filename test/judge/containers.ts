import type { ContainerState, Snapshot } from '../rig/snapshot.ts';
import { differs } from './differs.ts';

export type Containers = Snapshot['containers'];

/** Events beside the run, for which the run is not responsible. */
export interface Meanwhile {
  /**
   * The engine was restarted. It has restarted the unrelated containers, and also an old worker that the update had
   * already stopped, because the engine does not know about the update.
   */
  restarted?: boolean;
}

/** Each service has as many containers as before, with the same names. */
export const judgeNames = (before: Containers, after: Containers): string[] =>
  differs('names of containers', Object.keys(before).sort(), Object.keys(after).sort());

/** Unrelated containers are unchanged and were not restarted. */
export function judgeOthers(
  before: Containers,
  after: Containers,
  moved: readonly string[],
  { restarted = false }: Meanwhile = {},
): string[] {
  const others = (containers: Containers) =>
    pick(containers, ({ service }) => !moved.includes(service), restarted ? sameOne : whole);
  return differs('other containers', others(before), others(after));
}

/** Each container of these services was replaced by a new, healthy one in the same state. */
export function judgeSuccessors(
  before: Containers,
  after: Containers,
  recreated: readonly string[],
  { restarted = false }: Meanwhile = {},
): string[] {
  const replaced = ({ service }: ContainerState) => recreated.includes(service);
  const expected = Object.entries(pick(before, replaced, whole)).map(([name, state]) => {
    const now = after[name];
    const restarts = restarted ? now?.restarts : 0;
    return [name, { ...successor(state, now), restarts }];
  });
  return differs('new containers', Object.fromEntries(expected), pick(after, replaced, whole));
}

/** Containers of these services have the old images and their previous state; they may have been recreated. */
export function judgeSameState(before: Containers, after: Containers, moved: readonly string[]): string[] {
  const state = ({ id, startedAt, reference, ...rest }: ContainerState) => rest;
  const own = (containers: Containers) => pick(containers, ({ service }) => moved.includes(service), state);
  return differs('containers brought back', own(before), own(after));
}

/** The expected state of a recreated container. Values that must only differ from before are taken from `now`. */
function successor(before: ContainerState, now: ContainerState | undefined): object {
  const other = (was: string, is: string | undefined) => (is === was ? `not ${was}` : is);
  const open = { id: other(before.id, now?.id), image: now?.image, reference: now?.reference };
  if (before.status === 'running') {
    const health = before.health === undefined ? undefined : 'healthy';
    return { ...before, ...open, health, startedAt: other(before.startedAt, now?.startedAt) };
  }
  // A stopped container stays stopped: its replacement has never run.
  const status = now?.status === 'created' ? 'created' : before.status;
  return { ...before, ...open, status, health: now?.health, startedAt: now?.startedAt };
}

const whole = (state: ContainerState) => state;
const sameOne = ({ id, image, status, volumes }: ContainerState) => ({ id, image, status, volumes });

const pick = <T>(
  containers: Containers,
  which: (state: ContainerState) => boolean,
  part: (state: ContainerState) => T,
): Record<string, T> =>
  Object.fromEntries(
    Object.entries(containers)
      .filter(([, state]) => which(state))
      .map(([name, state]) => [name, part(state)]),
  );
