import { volumeExists } from '../rig/engine-api.ts';
import type { Instance } from '../rig/instance.ts';
import { containerStates, fileStates } from '../rig/snapshot.ts';
import { judgeOthers } from './containers.ts';
import { type Files, judgeEachFile } from './files.ts';
import type { Look } from './look.ts';

// Checks between a killed run and the next run.

/** Each file is complete and in one of the states. */
export const judgeDeadFiles = async ({ directory }: Instance, states: readonly Files[]): Promise<string[]> =>
  judgeEachFile(states, await fileStates(directory));

/** Each file is complete, unrelated containers are unchanged, and no anonymous volume was removed. */
export async function judgeDead(
  instance: Instance,
  before: Look,
  states: readonly Files[],
): Promise<string[]> {
  const [files, { containers }, volumes] = await Promise.all([
    judgeDeadFiles(instance, states),
    containerStates(instance.project, instance.name),
    judgeVolumesThere(before),
  ]);
  return [...files, ...judgeOthers(before.containers, containers, ['app', 'worker']), ...volumes];
}

async function judgeVolumesThere({ containers }: Look): Promise<string[]> {
  const volumes = Object.entries(containers).flatMap(([name, { volumes }]) =>
    Object.entries(volumes).map(([path, volume]) => ({ what: `${path} of ${name}`, volume })),
  );
  const there = await Promise.all(volumes.map(({ volume }) => volumeExists(volume)));
  return volumes.filter((_, at) => !there[at]).map(({ what }) => `the anonymous volume at ${what} is gone`);
}
