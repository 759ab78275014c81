/** As much of `localStorage` as is used. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, text: string): void;
}

const key = 'svc-update-closed';
/** An end is asked for as long as its run is the last one; the history has 50. */
const kept = 50;

/**
 * The ends that were closed in this browser, by the ids of their runs. Where the browser keeps nothing (it may forbid
 * it, or be full) they are known to this page alone.
 */
export class DismissedRuns {
  readonly #shelf: () => Shelf;
  readonly #own = new Set<string>();

  /** @param shelf asked each time, as to ask for it may throw already */
  constructor(shelf: () => Shelf) {
    this.#shelf = shelf;
  }

  all(): ReadonlySet<string> {
    return new Set([...this.#read(), ...this.#own]);
  }

  close(id: string): void {
    this.#own.add(id);
    const ids = [...this.#read().filter((one) => one !== id), id].slice(-kept);
    try {
      this.#shelf().setItem(key, JSON.stringify(ids));
    } catch {
      // It is closed for this page at least.
    }
  }

  #read(): string[] {
    try {
      const ids: unknown = JSON.parse(this.#shelf().getItem(key) ?? '[]');
      return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
    } catch {
      return [];
    }
  }
}
