import { type Container, hasSucceeded } from '../../../engine/objects/container.ts';
import { formatHealthCheckOutput } from '../../../engine/objects/health-check.ts';
import { formatCount, formatSeconds } from '../../run/log/format-values.ts';

/**
 * Time in ms without a restart after which a container without a health check counts as healthy. The app gets more
 * time, because it may fail later.
 */
const steadyMs = 5_000;
const appSteadyMs = 15_000;
/** Additional time in ms for the engine to report a health check that took its maximum time. */
const checkGraceMs = 10_000;
/** Maximum time in ms to wait for an image's health check, which could otherwise block updates for days. */
const longestCheckMs = 3_600_000;
/** Number of restarts after which a container that is down counts as crashing. */
const maxRestarts = 5;

export interface WatchedService {
  name: string;
  /** Containers of the service that exist and must run. */
  containers: readonly Container[];
  /** Number of existing containers; `needs` is the required number. */
  has: number;
  needs: number;
  /** Whether the containers run to completion: they count as healthy once they have exited with code 0. */
  isToEnd?: boolean;
}

export interface HealthRules {
  /** Service that must run longer than other services to count as healthy. */
  app: string;
  timeoutMs: number;
  /** Time in ms for which containers may be missing, because another command may be about to create them. */
  missingToleranceMs: number;
  /** Starts that were observed before the watch began. */
  starts?: ContainerStartTimes;
  /** Whether the container's health check failed in the same way before the update. */
  failedBefore?: (container: Container) => boolean;
}

/**
 * How a service became healthy, for the log: `healthy after 1.9 s`, `up for 15 s without a restart`, or `healthy` if
 * its start was not observed.
 */
export interface HealthReport {
  service: string;
  summary: string;
  /** Why the health check is inconclusive; null if it passed, or if the service has no health check. */
  doubt: string | null;
}

type HealthVerdict =
  | { kind: 'well'; reports: HealthReport[] }
  /** `dueMs` is the time in ms after which the result may change without an event. */
  | { kind: 'waiting'; sentence: string; dueMs: number }
  /** A container exited permanently or was removed, or the timeout expired. The logs of `worst` show why. */
  | { kind: 'unwell'; sentence: string; worst: readonly Container[] };

/** Evaluates the health of containers from repeated inspections. */
export class HealthEvaluator {
  readonly #rules: HealthRules;
  readonly #beganAt: number;
  readonly #starts: ContainerStartTimes;
  #isFirstLook = true;
  readonly #steady = new Map<string, { startedAt: string; since: number }>();
  readonly #wellAt = new Map<string, { afterMs: number | null; healthy: boolean }>();
  /**
   * Last exit codes, keyed by container id. The engine reports no exit code while a container runs between two crashes.
   */
  readonly #lastCode = new Map<string, number>();
  #completeAt: number;

  /**
   * @param beganAt - the start of the wait, from `performance.now()`: all waiting uses a clock that cannot be set
   * (docs/contract.md 2.17)
   */
  constructor(rules: HealthRules, beganAt: number) {
    this.#rules = rules;
    this.#starts = rules.starts ?? new ContainerStartTimes();
    this.#beganAt = beganAt;
    this.#completeAt = beganAt;
  }

  /**
   * Evaluates one inspection of the services.
   * @param now - the time of the inspection, from the same clock as `beganAt`
   */
  evaluate(services: readonly WatchedService[], now: number): HealthVerdict {
    for (const { containers } of services) this.#starts.record(containers, this.#isFirstLook ? null : now);
    this.#isFirstLook = false;
    const states = services.flatMap(({ name, containers, isToEnd = false }) => {
      const steady = name === this.#rules.app ? appSteadyMs : steadyMs;
      const why = (container: Container) =>
        isToEnd ? whyNotEnded(container) : this.#whyUnhealthy(container, now, steady);
      return containers.map((container) => ({ container, isToEnd, steady, why: why(container) }));
    });
    for (const { container, why } of states) this.#note(container, why, now);
    const pending = states.filter(({ why }) => why !== null);
    const missing = services
      .filter(({ has, needs }) => has < needs)
      .map(({ name, has, needs }) => `${name} has ${has} of ${needs} containers`);
    if (missing.length === 0) this.#completeAt = now;
    if (pending.length === 0 && missing.length === 0) {
      return { kind: 'well', reports: this.#reports(services, now) };
    }
    const dead = pending.filter(
      ({ container, isToEnd }) =>
        hasEnded(container) || isCrashing(container) || (isToEnd && container.status === 'exited'),
    );
    const isGone = missing.length > 0 && now - this.#completeAt >= this.#rules.missingToleranceMs;
    const base = this.#beganAt + this.#rules.timeoutMs;
    const limits = pending.map((each) => (each.isToEnd ? base : this.#limitOf(each.container)));
    const late = pending.filter((_, at) => now > (limits[at] ?? base));
    if (dead.length > 0 || isGone || late.length > 0 || (missing.length > 0 && now > base)) {
      const worst = dead.length > 0 ? dead : late.length > 0 ? late : pending;
      const sentences = worst.map(
        ({ container, why }) => `${container.name} ${why}${this.#restarts(container)}`,
      );
      const waited = dead.length > 0 || isGone ? '' : ` after ${formatSeconds(now - this.#beganAt)}`;
      return {
        kind: 'unwell',
        sentence: `${[...sentences, ...missing].join(', ')}${waited}`,
        worst: worst.map(({ container }) => container),
      };
    }
    const waited = formatSeconds(now - this.#beganAt);
    const names = [...pending.map(({ container, why }) => `${container.name} ${why}`), ...missing];
    const due = [
      ...[...limits, ...(missing.length > 0 ? [base] : [])].map((limit) => limit + 1),
      ...(missing.length > 0 ? [this.#completeAt + this.#rules.missingToleranceMs] : []),
      ...pending.flatMap(({ container, steady }) => this.#steadyAt(container, steady)),
    ];
    const latest = Math.max(base, ...limits);
    // Show the remaining time, because a restart gives the health check its full time again.
    const limit = latest > base ? `, up to ${formatSeconds(latest - now)} more` : '';
    const sentence = `waiting (${waited} so far${limit}): ${names.join(', ')}`;
    return { kind: 'waiting', sentence, dueMs: Math.ceil(Math.min(...due) - now) };
  }

  #steadyAt({ id, status, health }: Container, steady: number): number[] {
    const known = this.#steady.get(id);
    return known === undefined || status !== 'running' || health !== null ? [] : [known.since + steady];
  }

  /**
   * Returns the time by which a container must be healthy. While its health is `starting`, this deadline is extended
   * (docs/contract.md 2.13).
   */
  #limitOf(container: Container): number {
    const { id, status, health, healthCheck, restartCount } = container;
    const base = this.#beganAt + this.#rules.timeoutMs;
    const seen = this.#steady.get(id)?.since;
    if (seen === undefined || status !== 'running' || restartCount >= maxRestarts) return base;
    const since = this.#starts.observedStartOf(container) ?? seen;
    const checkMs = Math.min(healthCheck.longestDecisionMs + checkGraceMs, longestCheckMs);
    if (health === 'starting') return Math.max(base, since + checkMs);
    return this.#showsNothing(container) === null ? base : Math.max(base, seen + appSteadyMs);
  }

  /** Returns why the health check is inconclusive; null if it passed or failed, or if there is no check. */
  #doubt(container: Container, now: number): string | null {
    const { health, healthCheck, restartCount } = container;
    const isOverdue = restartCount < maxRestarts && now > this.#limitOf(container);
    return health === 'starting' && healthCheck.failureText === null && isOverdue
      ? 'has not returned a result'
      : this.#showsNothing(container);
  }

  #showsNothing(container: Container): string | null {
    const { health, healthCheck, lastHealthOutput } = container;
    if (health !== 'unhealthy') return null;
    if (healthCheck.cannotRun) return `cannot run${formatHealthCheckOutput(lastHealthOutput)}`;
    const isAsBefore = this.#rules.failedBefore?.(container) === true;
    return isAsBefore
      ? `fails as it did before the update${formatHealthCheckOutput(lastHealthOutput)}`
      : null;
  }

  #note(container: Container, why: string | null, now: number): void {
    const { id, health, exitCode } = container;
    if (isDown(container)) this.#lastCode.set(id, exitCode);
    if (why !== null) this.#wellAt.delete(id);
    else if (!this.#wellAt.has(id)) {
      // If the start was not observed, measure from the first inspection of the running container.
      const steadySince = health === 'healthy' ? undefined : this.#steady.get(id)?.since;
      const since = this.#starts.observedStartOf(container) ?? steadySince;
      const afterMs = since === undefined ? null : now - since;
      this.#wellAt.set(id, { afterMs, healthy: health === 'healthy' });
    }
  }

  /** Null if the container counts as healthy. */
  #whyUnhealthy(container: Container, now: number, steady: number): string | null {
    const { id, status, health, startedAt } = container;
    if (status !== 'running') return stateOf(container);
    const known = this.#steady.get(id);
    const since = known?.startedAt === startedAt ? known.since : now;
    this.#steady.set(id, { startedAt, since });
    if (health === 'healthy') return null;
    if (health !== null && this.#doubt(container, now) === null)
      return `is ${health}${health === 'unhealthy' ? formatHealthCheckOutput(container.lastHealthOutput) : ''}`;
    return known?.startedAt === startedAt && now - since >= steady ? null : 'has just started';
  }

  /** Mentions restarts, because between crashes a container may seem to start for the first time. */
  #restarts(container: Container): string {
    if (container.restartCount === 0) return '';
    const code = isDown(container) ? undefined : this.#lastCode.get(container.id);
    return `, restarted ${formatCount(container.restartCount, 'time')}${code === undefined ? '' : ` (last exit code ${code})`}`;
  }

  #reports(services: readonly WatchedService[], now: number): HealthReport[] {
    return services.flatMap(({ name: service, containers }) => {
      const last = containers
        .map(({ id }) => this.#wellAt.get(id))
        .sort((a, b) => (a?.afterMs ?? 0) - (b?.afterMs ?? 0))
        .at(-1);
      if (!last) return [];
      const { afterMs, healthy } = last;
      const [doubt = null] = containers.flatMap((container) => this.#doubt(container, now) ?? []);
      const after = afterMs === null ? '' : ` after ${formatSeconds(afterMs, 1)}`;
      const how = healthy ? `healthy${after}` : `up for ${formatSeconds(afterMs ?? 0)} without a restart`;
      return [{ service, summary: how, doubt }];
    });
  }
}

const stateOf = (container: Container): string => {
  const { status, exitCode, error } = container;
  const code = isDown(container) ? ` (exit code ${exitCode})` : '';
  return `is ${status}${code}${error ? `: ${error}` : ''}`;
};

const whyNotEnded = (container: Container): string | null => {
  if (hasSucceeded(container)) return null;
  return container.status === 'running' ? 'is still running' : stateOf(container);
};

const isDown = ({ status }: Container): boolean => ['restarting', 'exited', 'dead'].includes(status);

/** Whether a container has exited and its restart policy does not start it again. */
const hasEnded = (container: Container): boolean =>
  ['exited', 'dead'].includes(container.status) &&
  (container.restartPolicy === 'no' ||
    (container.restartPolicy === 'on-failure' && container.exitCode === 0));

const isCrashing = (container: Container): boolean =>
  isDown(container) && container.restartCount >= maxRestarts;

/**
 * Observed start times of containers, from `performance.now()`. The engine's times are unsuitable, because the
 * machine's clock can be set.
 */
export class ContainerStartTimes {
  /**
   * Times at which starts were observed, keyed by the result of `startOf`. Null if the container was already running at
   * the first inspection.
   */
  readonly #starts = new Map<string, number | null>();

  /**
   * Records new starts.
   * @param at - the time of the inspection; null if the containers may have been running for a long time
   */
  record(containers: readonly Container[], at: number | null): void {
    for (const container of containers) {
      const start = startOf(container);
      if (container.status === 'running' && !this.#starts.has(start)) this.#starts.set(start, at);
    }
  }

  /** Returns when the container's latest start was observed; null if it was not observed. */
  observedStartOf(container: Container): number | null {
    return this.#starts.get(startOf(container)) ?? null;
  }
}

/** Returns a key for the container's latest start. The engine assigns each start a different time. */
const startOf = ({ id, startedAt }: Container): string => `${id} ${startedAt}`;
