import type { ContainerState, Snapshot } from '../rig/snapshot.ts';
import { differs } from './differs.ts';

export type Containers = Snapshot['containers'];

/** What happened beside the run, so that the run is not blamed for it. */
export interface Meanwhile {
  /**
   * The engine was restarted: the other containers are the same ones, started again, and so is an old worker that the
   * update had stopped already, for the engine knows nothing of the update.
   */
  restarted?: boolean;
}

/** As many of each service as before, under the names that they had. */
export const judgeNames = (before: Containers, after: Containers): string[] =>
  differs('names of containers', Object.keys(before).sort(), Object.keys(after).sort());

/** The others are the very same runs of the very same containers. */
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

/** In place of each container of these services there is a new one, well and in the same state. */
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

/** Containers of these services are of the old images and in the state that they were in; they may be new ones. */
export function judgeSameState(before: Containers, after: Containers, moved: readonly string[]): string[] {
  const state = ({ id, startedAt, reference, ...rest }: ContainerState) => rest;
  const own = (containers: Containers) => pick(containers, ({ service }) => moved.includes(service), state);
  return differs('containers brought back', own(before), own(after));
}

/** What a recreated container must be, given what is there: taken from `now` where only "not as before" is asked. */
function successor(before: ContainerState, now: ContainerState | undefined): object {
  const other = (was: string, is: string | undefined) => (is === was ? `not ${was}` : is);
  const open = { id: other(before.id, now?.id), image: now?.image, reference: now?.reference };
  if (before.status === 'running') {
    const health = before.health === undefined ? undefined : 'healthy';
    return { ...before, ...open, health, startedAt: other(before.startedAt, now?.startedAt) };
  }
  // A stopped one is left stopped: its successor has never run.
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
