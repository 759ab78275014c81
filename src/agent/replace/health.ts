import type { Container } from '../../engine/container.ts';
import { seconds } from '../log/words.ts';

/** Without a health check, this long without a restart counts as well. */
const steadyMs = 5_000;

/** How long a service took, for the log: `app healthy after 1.9 s`. */
export interface HealthReport {
  service: string;
  how: string;
}

/** What one look at the containers comes to. */
export type HealthVerdict =
  | { kind: 'well'; reports: HealthReport[] }
  | { kind: 'waiting'; sentence: string }
  /** One has ended for good, or is gone, or the time is up. `worst` are those whose logs tell why. */
  | { kind: 'unwell'; sentence: string; worst: readonly Container[] };

/** Judges containers by what the engine says of them, look after look; asks nobody and knows no clock of its own. */
export class HealthWatch {
  readonly #ids: ReadonlyMap<string, readonly string[]>;
  readonly #timeoutMs: number;
  readonly #beganAt: number;
  readonly #steady = new Map<string, { startedAt: string; since: number }>();
  readonly #wellAt = new Map<string, { afterMs: number; healthy: boolean }>();
  /** A container that runs has no exit code: between two crashes, the last one seen tells the story. */
  readonly #lastCode = new Map<string, number>();

  /**
   * @param ids of the containers that must be well, by service
   * @param beganAt and every other time in milliseconds since the epoch, as containers say when they started
   */
  constructor(ids: ReadonlyMap<string, readonly string[]>, timeoutMs: number, beganAt: number) {
    this.#ids = ids;
    this.#timeoutMs = timeoutMs;
    this.#beganAt = beganAt;
  }

  /** @param containers what the engine has of those that are watched */
  look(containers: readonly Container[], now: number): HealthVerdict {
    const states = containers.map((container) => ({ container, why: this.#whyUnhealthy(container, now) }));
    for (const { container, why } of states) this.#note(container, why, now);
    const pending = states.filter(({ why }) => why !== null);
    const gone = [...this.#ids.values()].flat().filter((id) => !containers.some((each) => each.id === id));
    if (pending.length === 0 && gone.length === 0) return { kind: 'well', reports: this.#reports() };
    const dead = pending.filter(({ container }) => hasEnded(container));
    const isLate = now - this.#beganAt > this.#timeoutMs;
    if (dead.length > 0 || gone.length > 0 || isLate) {
      const worst = dead.length > 0 ? dead : pending;
      const sentences = worst.map(
        ({ container, why }) => `${container.name} ${why}${this.#restarts(container)}`,
      );
      const lost = gone.length > 0 ? [`${gone.length} container(s) vanished`] : [];
      const waited = dead.length > 0 || gone.length > 0 ? '' : ` after ${seconds(this.#timeoutMs)}`;
      return {
        kind: 'unwell',
        sentence: `${[...sentences, ...lost].join(', ')}${waited}`,
        worst: worst.map(({ container }) => container),
      };
    }
    const waited = seconds(now - this.#beganAt);
    const names = pending.map(({ container, why }) => `${container.name}: ${why}`).join(', ');
    return { kind: 'waiting', sentence: `waiting for ${names} (${waited})` };
  }

  #note(container: Container, why: string | null, now: number): void {
    const { id, health, startedAt, exitCode } = container;
    if (isDown(container)) this.#lastCode.set(id, exitCode);
    if (why !== null) this.#wellAt.delete(id);
    else if (!this.#wellAt.has(id)) {
      const afterMs = Math.max(0, now - Date.parse(startedAt));
      this.#wellAt.set(id, { afterMs, healthy: health !== null });
    }
  }

  /** Why a container does not count as well yet, or null. */
  #whyUnhealthy(container: Container, now: number): string | null {
    const { id, status, health, startedAt, exitCode, error } = container;
    if (status !== 'running') {
      const code = isDown(container) ? ` (exit code ${exitCode})` : '';
      return `is ${status}${code}${error ? `: ${error}` : ''}`;
    }
    if (health === 'healthy') return null;
    if (health !== null) {
      const output = health === 'unhealthy' && container.lastHealthOutput.trim();
      return `is ${health}${output ? ` (${output.split('\n', 1)[0]?.slice(0, 200)})` : ''}`;
    }
    const known = this.#steady.get(id);
    if (known?.startedAt !== startedAt) {
      this.#steady.set(id, { startedAt, since: now });
      return 'has just started';
    }
    return now - known.since >= steadyMs ? null : 'has just started';
  }

  /** Between two crashes a container may look as if it were just starting. */
  #restarts(container: Container): string {
    if (container.restartCount === 0) return '';
    const code = isDown(container) ? undefined : this.#lastCode.get(container.id);
    return `, restarted ${container.restartCount} times${code === undefined ? '' : ` (last exit code ${code})`}`;
  }

  #reports(): HealthReport[] {
    return [...this.#ids].flatMap(([service, list]) => {
      const last = list
        .map((id) => this.#wellAt.get(id))
        .sort((a, b) => (a?.afterMs ?? 0) - (b?.afterMs ?? 0))
        .at(-1);
      if (!last) return [];
      const how = last.healthy
        ? `healthy after ${seconds(last.afterMs, 1)}`
        : `up for ${seconds(last.afterMs)} without a restart`;
      return [{ service, how }];
    });
  }
}

const isDown = ({ status }: Container): boolean => ['restarting', 'exited', 'dead'].includes(status);

/** Ended for good: no restart policy brings it back. */
const hasEnded = (container: Container): boolean =>
  ['exited', 'dead'].includes(container.status) &&
  (container.restartPolicy === 'no' ||
    (container.restartPolicy === 'on-failure' && container.exitCode === 0));
