import type { Engine } from '../../../engine/cli/engine.ts';
import type { Container } from '../../../engine/container.ts';
import { rejections, unless } from '../../../engine/http/engine-error.ts';
import { type Json, list, object } from '../../../engine/json.ts';

/** systemd runs the first check as the container starts. */
const firstMs = 10_000;

/** The newest check of a container, and since when it is that, by `performance.now()`. */
interface Seen {
  check: string;
  since: number;
  isOurs: boolean;
}

/**
 * Podman has health checks run by systemd. Where nobody runs those of a container, it would be `starting` for ever, however
 * well it is: then Podman is asked to run them, as often as the container's definition says.
 */
export class HealthChecks {
  readonly #engine: Engine;
  readonly #seen = new Map<string, Seen>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs those that are due; with another engine than Podman none is. */
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
    await this.#engine.request('runHealthCheck', { params: { id } }).catch(unless(...rejections));
    const { check = '' } = (await this.#look(id)) ?? {};
    this.#seen.set(id, { check, since: performance.now(), isOurs: true });
  }

  /** When the newest check was over, and how long it is until the next one; null for a container that does not run. */
  async #look(id: string): Promise<{ check: string; intervalMs: number } | null> {
    const [raw] = await this.#engine.inspectRaw([id]);
    const state = object(raw?.State);
    if (state.Status !== 'running') return null;
    const { End } = list<Json>(object(state.Health).Log).at(-1) ?? {};
    const { Interval } = object(object(raw?.Config).Healthcheck);
    return { check: String(End ?? ''), intervalMs: Number(Interval ?? 0) / 1e6 };
  }
}
