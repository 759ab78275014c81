import {
  hasTemporaryName,
  isMadeFor,
  type ProjectContainers,
} from '../../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/container.ts';
import { and } from '../../run/log/wording.ts';

/** Between two steps of a compose call, none of which is a stop, no more than this passes. */
export const stillMs = 30_000;
/** The longest wait for another docker compose command. */
export const patienceMs = 120_000;
/** How often the engine is asked while waiting. */
export const lookEveryMs = 500;

/** Whether another compose call seems to be replacing containers. */
type OthersVerdict =
  /** No call is under way. `debris` are containers that a killed call has left unfinished. */
  | { kind: 'quiet'; debris: readonly Container[] }
  | { kind: 'waiting'; sentence: string }
  /** It was waited for long enough. */
  | { kind: 'busy'; sentence: string; containers: readonly Container[] };

/** What a watch is about. */
export interface OthersRules {
  services: ReadonlySet<string>;
  /** Containers that no call is about to start or name: the updater has left them so, or they are known for debris. */
  ignores?: (container: Container) => boolean;
}

/** Judges by each look at the containers of services what other compose calls are doing to them. */
export class OthersWatch {
  readonly #rules: OthersRules;
  readonly #beganAt: number;
  readonly #seen = new Map<string, { state: string; since: number }>();

  /** @param beganAt by `performance.now()`, as every other time here */
  constructor(rules: OthersRules, beganAt: number) {
    this.#rules = rules;
    this.#beganAt = beganAt;
  }

  look({ containers, leftovers }: ProjectContainers, now: number): OthersVerdict {
    const { services: watched, ignores = () => false } = this.#rules;
    const own = containers.filter((container) => watched.has(serviceOf(container)));
    const made = [
      ...leftovers.filter((container) => watched.has(serviceOf(container))),
      // Compose has named it, and may start it once others that it depends on are well.
      ...own.filter(({ status }) => status === 'created'),
    ];
    const underWay = made.filter((each) => !ignores(each) && !this.#isDebris(each, own, now));
    if (underWay.length === 0) return { kind: 'quiet', debris: made };
    const services = and([...new Set(underWay.map(serviceOf))].sort());
    const names = underWay.map(({ name }) => name).join(', ');
    const sentence = `another docker compose command is replacing ${services} (${names})`;
    return now - this.#beganAt < patienceMs
      ? { kind: 'waiting', sentence }
      : { kind: 'busy', sentence, containers: underWay };
  }

  /** Whoever made it would have come to the next step by now. */
  #isDebris(container: Container, others: readonly Container[], now: number): boolean {
    const predecessor = others.find((other) => isMadeFor(container, other));
    const { id, status, startedAt } = predecessor ?? container;
    const waitsFor = hasTemporaryName(container) ? [] : others.map(({ id, health }) => `${id} ${health}`);
    const state = [container.name, id, status, startedAt, ...waitsFor].join();
    const seen = this.#seen.get(container.id);
    if (seen?.state !== state) {
      this.#seen.set(container.id, { state, since: now });
      return false;
    }
    if (waitsFor.length > 0 && others.some(({ health }) => health === 'starting')) return false;
    // After the stop of the predecessor, the next step takes compose no time.
    const graceMs = predecessor !== undefined && isUp(predecessor) ? predecessor.stopTimeout * 1000 : 0;
    return now - seen.since >= graceMs + stillMs;
  }
}
