import type { ProjectFiles } from '../../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../../core/compose/variables.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import { type Container, containerNumberOf, isUp, serviceOf } from '../../../../engine/objects/container.ts';
import type { InterruptionPredicate } from '../../../run/state/rollout.ts';
import type { InstalledService } from '../installation.ts';

/**
 * Returns a run's services. `asked` are the specified workers, and `workers` are those with containers. `followers`
 * share a namespace with an updated service. `replaced` are all services whose containers are replaced.
 */
export function chooseServices(
  containers: readonly Container[],
  names: { app: string; workers: readonly string[] },
  wasInterrupted: InterruptionPredicate,
) {
  const factsOf = (name: string): InstalledService => {
    const own = containers.filter((container) => serviceOf(container) === name);
    const stopped = own.filter((each) => !isUp(each) && !wasInterrupted(each)).map(containerNumberOf);
    return { name, containers: own, running: own.length - stopped.length, stopped };
  };
  const app = factsOf(names.app);
  const requested = names.workers.map(factsOf);
  const workers = requested.filter((worker) => worker.containers.length > 0);
  const moved = [app, ...workers];
  const followers = findFollowers(
    containers,
    moved.map(({ name }) => name),
  ).map(factsOf);
  return { app, asked: requested, workers, followers, replaced: [...moved, ...followers] };
}

/**
 * Finds services with a container that shares, even indirectly, an updated container's network, PID or IPC namespace.
 */
function findFollowers(containers: readonly Container[], moved: readonly string[]): string[] {
  const names = new Set(moved);
  for (let known = -1; known < names.size; ) {
    known = names.size;
    const lost = new Set(
      containers.filter((each) => names.has(serviceOf(each))).map(({ id }) => `container:${id}`),
    );
    for (const each of containers) {
      if ([each.networkMode, each.pidMode, each.ipcMode].some((mode) => lost.has(mode)))
        names.add(serviceOf(each));
    }
  }
  return [...names].slice(new Set(moved).size);
}

/**
 * Infers the values of `--profile` from the services with containers, because compose does not record profiles.
 * Includes the profiles in `COMPOSE_PROFILES`, because `--profile` replaces this variable. Empty if the variable
 * already contains all profiles.
 */
export function inferProfiles(
  files: ProjectFiles,
  model: ComposeModel,
  containers: readonly Container[],
): string[] {
  const byVariable = (createVariableLookup(files.envFiles)('COMPOSE_PROFILES')?.text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const used = new Set(containers.flatMap((each) => model.services[serviceOf(each)]?.profiles ?? []));
  if (byVariable.includes('*') || [...used].every((name) => byVariable.includes(name))) return [];
  return [...new Set([...byVariable, ...used])].sort();
}
