import { type Container, hasEndedWell } from '../../../engine/container.ts';
import { quoted } from '../../../engine/health-check.ts';
import { counted, seconds } from '../../run/log/wording.ts';

/** Without a health check, this long without a restart counts as well; an app takes longer to find out that it cannot. */
const steadyMs = 5_000;
const appSteadyMs = 15_000;
/** For the engine, beyond the time that a health check may take by its definition. */
const checkGraceMs = 10_000;
/** The image defines its health check, so without this limit it could block the app's updates for days. */
const longestCheckMs = 3_600_000;
/** A container that is down after so many restarts is not waited for any longer. */
const maxRestarts = 5;

/** A service whose containers must be well. */
export interface WatchedService {
  name: string;
  /** The containers of the service that must run and that the engine has. */
  containers: readonly Container[];
  /** How many there are, and how many there must be. */
  has: number;
  needs: number;
  /** Its containers run once, and are well when they have ended with code 0. */
  isToEnd?: boolean;
}

export interface HealthRules {
  /** The service that has to run for longer before it counts as well. */
  app: string;
  timeoutMs: number;
  /** So long may containers be missing: somebody else's call may be about to make them. */
  missingMs: number;
  /** What was seen to start before the watch began. */
  starts?: StartTimes;
  /** Whether the health check failed in the same way before the update. */
  failedBefore?: (container: Container) => boolean;
}

/** How long a service took, for the log: `app healthy after 1.9 s`; `app healthy` where its start was not seen. */
export interface HealthReport {
  service: string;
  how: string;
  /** Why the health check shows nothing about the service; null for one that does, or if there is none. */
  doubt: string | null;
}

/** What one look at the containers comes to. */
type HealthVerdict =
  | { kind: 'well'; reports: HealthReport[] }
  /** `dueMs`: from now until the passing of time alone may change it. */
  | { kind: 'waiting'; sentence: string; dueMs: number }
  /** A container has ended for good, or is gone, or the time is up. The logs of `worst` tell why. */
  | { kind: 'unwell'; sentence: string; worst: readonly Container[] };

/** Judges containers by what each look at the engine says of them. */
export class HealthWatch {
  readonly #rules: HealthRules;
  readonly #beganAt: number;
  readonly #starts: StartTimes;
  #isFirstLook = true;
  readonly #steady = new Map<string, { startedAt: string; since: number }>();
  readonly #wellAt = new Map<string, { afterMs: number | null; healthy: boolean }>();
  /** A container that runs has no exit code: between two crashes, the last one seen tells the story. */
  readonly #lastCode = new Map<string, number>();
  #completeAt: number;

  /** @param beganAt by `performance.now()`, as all waiting goes by a clock that cannot be set (docs/contract.md 2.17) */
  constructor(rules: HealthRules, beganAt: number) {
    this.#rules = rules;
    this.#starts = rules.starts ?? new StartTimes();
    this.#beganAt = beganAt;
    this.#completeAt = beganAt;
  }

  /** @param now by the clock of `beganAt` */
  look(services: readonly WatchedService[], now: number): HealthVerdict {
    for (const { containers } of services) this.#starts.note(containers, this.#isFirstLook ? null : now);
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
    const isGone = missing.length > 0 && now - this.#completeAt >= this.#rules.missingMs;
    const base = this.#beganAt + this.#rules.timeoutMs;
    const limits = pending.map((each) => (each.isToEnd ? base : this.#limitOf(each.container)));
    const late = pending.filter((_, at) => now > (limits[at] ?? base));
    if (dead.length > 0 || isGone || late.length > 0 || (missing.length > 0 && now > base)) {
      const worst = dead.length > 0 ? dead : late.length > 0 ? late : pending;
      const sentences = worst.map(
        ({ container, why }) => `${container.name} ${why}${this.#restarts(container)}`,
      );
      const waited = dead.length > 0 || isGone ? '' : ` after ${seconds(now - this.#beganAt)}`;
      return {
        kind: 'unwell',
        sentence: `${[...sentences, ...missing].join(', ')}${waited}`,
        worst: worst.map(({ container }) => container),
      };
    }
    const waited = seconds(now - this.#beganAt);
    const names = [...pending.map(({ container, why }) => `${container.name} ${why}`), ...missing];
    const due = [
      ...[...limits, ...(missing.length > 0 ? [base] : [])].map((limit) => limit + 1),
      ...(missing.length > 0 ? [this.#completeAt + this.#rules.missingMs] : []),
      ...pending.flatMap(({ container, steady }) => this.#steadyAt(container, steady)),
    ];
    const latest = Math.max(base, ...limits);
    // A restart begins the check again, so the remaining time is the only bound that stays true.
    const limit = latest > base ? `; this may take up to ${seconds(latest - now)} more` : '';
    const sentence = `waiting because ${names.join(', ')} (${waited}${limit})`;
    return { kind: 'waiting', sentence, dueMs: Math.ceil(Math.min(...due) - now) };
  }

  #steadyAt({ id, status, health }: Container, steady: number): number[] {
    const known = this.#steady.get(id);
    return known === undefined || status !== 'running' || health !== null ? [] : [known.since + steady];
  }

  /** Until when a container is waited for: until its health check has decided, `starting` says nothing (docs/contract.md 2.13). */
  #limitOf(container: Container): number {
    const { id, status, health, healthCheck, restartCount } = container;
    const base = this.#beganAt + this.#rules.timeoutMs;
    const seen = this.#steady.get(id)?.since;
    if (seen === undefined || status !== 'running' || restartCount >= maxRestarts) return base;
    const since = this.#starts.of(container) ?? seen;
    const checkMs = Math.min(healthCheck.decidedMs + checkGraceMs, longestCheckMs);
    if (health === 'starting') return Math.max(base, since + checkMs);
    return this.#showsNothing(container) === null ? base : Math.max(base, seen + appSteadyMs);
  }

  /** Why the result of a health check shows nothing about the container, or null. */
  #doubt(container: Container, now: number): string | null {
    const { health, healthCheck, restartCount } = container;
    const isOverdue = restartCount < maxRestarts && now > this.#limitOf(container);
    return health === 'starting' && healthCheck.failing === null && isOverdue
      ? 'has not returned a result'
      : this.#showsNothing(container);
  }

  #showsNothing(container: Container): string | null {
    const { health, healthCheck, lastHealthOutput } = container;
    if (health !== 'unhealthy') return null;
    if (healthCheck.cannotRun) return `cannot run${quoted(lastHealthOutput)}`;
    const isAsBefore = this.#rules.failedBefore?.(container) === true;
    return isAsBefore ? `fails as it did before the update${quoted(lastHealthOutput)}` : null;
  }

  #note(container: Container, why: string | null, now: number): void {
    const { id, health, exitCode } = container;
    if (isDown(container)) this.#lastCode.set(id, exitCode);
    if (why !== null) this.#wellAt.delete(id);
    else if (!this.#wellAt.has(id)) {
      // A container that was not seen to start has run without a restart since it was first seen, at least.
      const steadySince = health === 'healthy' ? undefined : this.#steady.get(id)?.since;
      const since = this.#starts.of(container) ?? steadySince;
      const afterMs = since === undefined ? null : now - since;
      this.#wellAt.set(id, { afterMs, healthy: health === 'healthy' });
    }
  }

  /** Why a container does not count as well yet, or null. */
  #whyUnhealthy(container: Container, now: number, steady: number): string | null {
    const { id, status, health, startedAt } = container;
    if (status !== 'running') return stateOf(container);
    const known = this.#steady.get(id);
    const since = known?.startedAt === startedAt ? known.since : now;
    this.#steady.set(id, { startedAt, since });
    if (health === 'healthy') return null;
    if (health !== null && this.#doubt(container, now) === null)
      return `is ${health}${health === 'unhealthy' ? quoted(container.lastHealthOutput) : ''}`;
    return known?.startedAt === startedAt && now - since >= steady ? null : 'has just started';
  }

  /** Between two crashes a container may look as if it were just starting. */
  #restarts(container: Container): string {
    if (container.restartCount === 0) return '';
    const code = isDown(container) ? undefined : this.#lastCode.get(container.id);
    return `, restarted ${counted(container.restartCount, 'time')}${code === undefined ? '' : ` (last exit code ${code})`}`;
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
      const after = afterMs === null ? '' : ` after ${seconds(afterMs, 1)}`;
      const how = healthy ? `healthy${after}` : `up for ${seconds(afterMs ?? 0)} without a restart`;
      return [{ service, how, doubt }];
    });
  }
}

const stateOf = (container: Container): string => {
  const { status, exitCode, error } = container;
  const code = isDown(container) ? ` (exit code ${exitCode})` : '';
  return `is ${status}${code}${error ? `: ${error}` : ''}`;
};

const whyNotEnded = (container: Container): string | null => {
  if (hasEndedWell(container)) return null;
  return container.status === 'running' ? 'is still running' : stateOf(container);
};

const isDown = ({ status }: Container): boolean => ['restarting', 'exited', 'dead'].includes(status);

/** Ended for good: no restart policy brings it back. */
const hasEnded = (container: Container): boolean =>
  ['exited', 'dead'].includes(container.status) &&
  (container.restartPolicy === 'no' ||
    (container.restartPolicy === 'on-failure' && container.exitCode === 0));

/** Between two of many crashes. */
const isCrashing = (container: Container): boolean =>
  isDown(container) && container.restartCount >= maxRestarts;

/**
 * When containers were seen to start, by `performance.now()`: the times that the engine tells go by the machine's clock,
 * which may be set at any moment. The start of a container that already ran at the first look is not known.
 */
export class StartTimes {
  /** Null for a start that lies before the first look at it. */
  readonly #starts = new Map<string, number | null>();

  /**
   * Notes the starts that are not known yet.
   * @param at the moment of the look; null where they may have run for long
   */
  note(containers: readonly Container[], at: number | null): void {
    for (const container of containers) {
      const start = startOf(container);
      if (container.status === 'running' && !this.#starts.has(start)) this.#starts.set(start, at);
    }
  }

  /** Null where the start was not seen. */
  of(container: Container): number | null {
    return this.#starts.get(startOf(container)) ?? null;
  }
}

/** The engine gives each start of a container its own time. */
const startOf = ({ id, startedAt }: Container): string => `${id} ${startedAt}`;
