import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import {
  type CachedProjectContainers,
  hasTemporaryName,
  listProjectContainers,
  listProjectContainersWithCache,
  type ProjectContainers,
} from '../../../engine/containers/project-containers.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { formatSeconds } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { EngineContext, RunContext } from '../../run/run-context.ts';
import { createUnstartedContainerFilter } from '../../run/state/interruption-predicate.ts';
import type { JournalData } from '../../run/state/journal.ts';
import {
  type ConcurrentComposeRules,
  ConcurrentComposeWatch,
  composePollIntervalMs,
  concurrentComposeTimeoutMs,
} from './concurrent-compose-watch.ts';

/** Containers of a project, listed while no docker compose command is replacing any of them. */
interface IdleProject extends ProjectContainers {
  /** Unfinished containers of a killed compose command. They are also in `containers` or `leftovers`. */
  debris: readonly Container[];
}

/**
 * Waits until no concurrent compose command is replacing the services to update. Returns the containers, and the view of
 * the engine that has read them.
 * @throws UpdateError compose-busy
 */
export async function awaitIdleProject(
  context: RunContext,
  project: string,
  previous: JournalData | null,
): Promise<IdleProject & CachedProjectContainers> {
  const first = await listProjectContainersWithCache(context.engine, project);
  const rules = {
    services: new Set([context.options.app, ...context.options.workers]),
    ignores: createUnstartedContainerFilter(previous),
  };
  const idle = await awaitConcurrentCompose(context, project, rules, first);
  // The cached responses are outdated if another command had to finish first.
  const hasWaited = idle.containers !== first.containers;
  return { ...idle, cachedEngine: hasWaited ? context.engine.cached() : first.cachedEngine };
}

/**
 * Waits until no concurrent compose command is replacing the containers of the services in `rules`. Otherwise, removing
 * the command's new container could leave the service without a container.
 * @param first - the current list of containers, used instead of a first poll
 * @throws UpdateError compose-busy after two minutes
 */
export async function awaitConcurrentCompose(
  { engine, log }: EngineContext,
  project: string,
  rules: ConcurrentComposeRules,
  first: ProjectContainers | null = null,
): Promise<IdleProject> {
  const beganAt = performance.now();
  const watch = new ConcurrentComposeWatch(rules, beganAt);
  let isTold = false;
  let seen = first;
  const observe = async () => {
    const found = seen ?? (await listProjectContainers(engine, project));
    seen = null;
    return found;
  };
  const evaluate = (found: ProjectContainers): IdleProject | undefined => {
    const now = performance.now();
    const verdict = watch.evaluate(found, now);
    if (verdict.kind === 'quiet') return { ...found, debris: verdict.debris };
    if (verdict.kind === 'busy') {
      const left = verdict.containers.filter(hasTemporaryName);
      throw new UpdateError(
        'compose-busy',
        `${verdict.sentence}; the command has not finished after ${formatSeconds(concurrentComposeTimeoutMs)}`,
        left.length > 0 ? { advice: formatCleanupAdvice(left) } : {},
      );
    }
    const limit = `${formatSeconds(now - beganAt)} of at most ${formatSeconds(concurrentComposeTimeoutMs)}`;
    const sentence = `${verdict.sentence}; waiting for the command to finish (${limit})`;
    if (isTold) logWaitIfQuiet(log, sentence);
    else log.info(sentence);
    isTold = true;
  };
  return waitUntil(observe, evaluate, { pause: composePollIntervalMs, signal: engine.aborted });
}

const formatCleanupAdvice = (containers: readonly Container[]): string =>
  `Wait until that command finishes, then run {command} again. If no docker compose command is running, remove the containers of the interrupted one: docker rm ${containers
    .map(({ name }) => name)
    .join(' ')}.`;
