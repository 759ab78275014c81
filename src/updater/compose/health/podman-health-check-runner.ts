import type { Engine } from '../../../engine/cli/engine.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { type Json, toList, toObject } from '../../../engine/objects/json.ts';

/** Time in ms after a container's start within which systemd, if the host has it, runs the first check. */
const firstMs = 10_000;

/**
 * Newest health check of a container. `since` is the time, from `performance.now()`, when the check was first observed.
 */
interface ObservedCheck {
  check: string;
  since: number;
  isOurs: boolean;
}

/**
 * Runs the health checks that Podman leaves to systemd, at their defined intervals. Without systemd, a healthy
 * container would stay `starting` forever.
 */
export class PodmanHealthCheckRunner {
  readonly #engine: Engine;
  readonly #seen = new Map<string, ObservedCheck>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs the checks that are due. Does nothing if the engine is not Podman. */
  async run(containers: readonly Container[]): Promise<void> {
    if (!this.#engine.isPodman) return;
    const waiting = containers.filter(({ health }) => health !== null && health !== 'healthy');
    await Promise.all(waiting.map(({ id }) => this.#runOne(id)));
  }

  async #runOne(id: string): Promise<void> {
    const now = await this.#look(id);
    if (now === null) return;
    const before = this.#seen.get(id);
    const isSame = before?.check === now.check;
    if (!isSame) this.#seen.set(id, { check: now.check, since: performance.now(), isOurs: false });
    const dueMs = now.check === '' ? firstMs : before?.isOurs ? now.intervalMs : Number.POSITIVE_INFINITY;
    if (!isSame || performance.now() - before.since < dueMs) return;
    await this.#engine.request('runHealthCheck', { params: { id } }).catch(tolerateErrors(...rejectionCodes));
    const { check = '' } = (await this.#look(id)) ?? {};
    this.#seen.set(id, { check, since: performance.now(), isOurs: true });
  }

  /**
   * Returns null if the container is not running. `check` is the end time of the newest check; it is empty before the
   * first check.
   */
  async #look(id: string): Promise<{ check: string; intervalMs: number } | null> {
    const [raw] = await this.#engine.inspectRaw([id]);
    const state = toObject(raw?.State);
    if (state.Status !== 'running') return null;
    const { End } = toList<Json>(toObject(state.Health).Log).at(-1) ?? {};
    const { Interval } = toObject(toObject(raw?.Config).Healthcheck);
    return { check: String(End ?? ''), intervalMs: Number(Interval ?? 0) / 1e6 };
  }
}
