import {
  hasTemporaryName,
  isReplacementFor,
  type ProjectContainers,
} from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';

/** Maximum time in ms between two steps of a compose command, not counting the time that containers take to stop. */
export const maxComposeEventGapMs = 30_000;
export const concurrentComposeTimeoutMs = 120_000;
export const composePollIntervalMs = 500;

/** Whether a concurrent compose command seems to be replacing containers. */
type ComposePollResult =
  /** No command is active. `debris` lists the unfinished containers of a killed command. */
  | { kind: 'quiet'; debris: readonly Container[] }
  | { kind: 'waiting'; sentence: string }
  /** The command did not finish before the timeout. */
  | { kind: 'busy'; sentence: string; containers: readonly Container[] };

export interface ConcurrentComposeRules {
  services: ReadonlySet<string>;
  /**
   * Whether to ignore a container because no command will start or rename it. For example, an earlier poll showed that
   * it was abandoned, or the updater created it without starting it.
   */
  ignores?: (container: Container) => boolean;
}

/** Detects from repeated polls whether a concurrent compose command is replacing containers of the watched services. */
export class ConcurrentComposeWatch {
  readonly #rules: ConcurrentComposeRules;
  readonly #beganAt: number;
  readonly #seen = new Map<string, { state: string; since: number }>();

  /** @param beganAt - the start of the wait; like all times in this class, from `performance.now()` */
  constructor(rules: ConcurrentComposeRules, beganAt: number) {
    this.#rules = rules;
    this.#beganAt = beganAt;
  }

  evaluate({ containers, leftovers }: ProjectContainers, now: number): ComposePollResult {
    const { services: watched, ignores = () => false } = this.#rules;
    const own = containers.filter((container) => watched.has(serviceOf(container)));
    const made = [
      ...leftovers.filter((container) => watched.has(serviceOf(container))),
      // Compose may still start a created container with its final name, once the container's dependencies are healthy.
      ...own.filter(({ status }) => status === 'created'),
    ];
    const underWay = made.filter((each) => !ignores(each) && !this.#isDebris(each, own, now));
    if (underWay.length === 0) return { kind: 'quiet', debris: made };
    const services = joinWithAnd([...new Set(underWay.map(serviceOf))].sort());
    const names = underWay.map(({ name }) => name).join(', ');
    const sentence = `another docker compose command is replacing ${services} (${names})`;
    return now - this.#beganAt < concurrentComposeTimeoutMs
      ? { kind: 'waiting', sentence }
      : { kind: 'busy', sentence, containers: underWay };
  }

  /**
   * Whether a container was abandoned. A compose command that was still running would have taken its next step by now.
   */
  #isDebris(container: Container, others: readonly Container[], now: number): boolean {
    const predecessor = others.find((other) => isReplacementFor(container, other));
    const { id, status, startedAt } = predecessor ?? container;
    const waitsFor = hasTemporaryName(container) ? [] : others.map(({ id, health }) => `${id} ${health}`);
    const state = [container.name, id, status, startedAt, ...waitsFor].join();
    const seen = this.#seen.get(container.id);
    if (seen?.state !== state) {
      this.#seen.set(container.id, { state, since: now });
      return false;
    }
    if (waitsFor.length > 0 && others.some(({ health }) => health === 'starting')) return false;
    // Compose waits for a predecessor's grace period only while the predecessor is up.
    const graceMs = predecessor !== undefined && isUp(predecessor) ? predecessor.stopTimeout * 1000 : 0;
    return now - seen.since >= graceMs + maxComposeEventGapMs;
  }
}
