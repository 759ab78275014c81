import type { Container } from '../../engine/container.ts';

/**
 * When containers have started, in milliseconds by a clock that nobody sets: what the engine says of that goes by one that
 * may be set at any moment. Known of those alone that were seen to start.
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

  /** Null where nobody saw it start. */
  of(container: Container): number | null {
    return this.#starts.get(startOf(container)) ?? null;
  }
}

/** A container that is started again says another time. */
const startOf = ({ id, startedAt }: Container): string => `${id} ${startedAt}`;
