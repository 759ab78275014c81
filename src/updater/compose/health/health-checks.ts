import type { Engine } from '../../../engine/cli/engine.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { type Json, toList, toObject } from '../../../engine/objects/json.ts';

/** Time in ms that systemd, if present, gets to run the first check of a started container. */
const firstMs = 10_000;

/** Newest health check of a container, and the time at which it was first observed, from `performance.now()`. */
interface Seen {
  check: string;
  since: number;
  isOurs: boolean;
}

/**
 * Runs the health checks that Podman leaves to systemd. Without systemd, a container would stay `starting` forever,
 * however healthy it is, so Podman is requested to run its checks, at the interval in the container's definition.
 */
export class HealthChecks {
  readonly #engine: Engine;
  readonly #seen = new Map<string, Seen>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs the health checks that are due. Does nothing with an engine other than Podman. */
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
   * Returns the end time of the newest check, which is empty before the first check, and the interval between two
   * checks. Null if the container is not running.
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
