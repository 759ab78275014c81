/** Gets the browser's storage each time, because access may throw if it is forbidden. */
type GetStorage = () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** A value stored as JSON; null if it is missing or unreadable. */
function read(storage: GetStorage, key: string): unknown {
  try {
    return JSON.parse(storage().getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

function write(storage: GetStorage, key: string, value: object | null): void {
  try {
    if (value === null) storage().removeItem(key);
    else storage().setItem(key, JSON.stringify(value));
  } catch {
    // The storage may be forbidden or full. Updates work without it.
  }
}

const dismissedKey = 'svc-update-closed';
/** The length of the history. */
const keptRuns = 50;

/**
 * The ids of the runs whose result was dismissed in this browser. Without storage, they are only known to this page.
 */
export class DismissedRuns {
  readonly #storage: GetStorage;
  readonly #own = new Set<string>();

  /** @param storage `localStorage`, which all tabs share */
  constructor(storage: GetStorage) {
    this.#storage = storage;
  }

  all(): ReadonlySet<string> {
    return new Set([...this.#read(), ...this.#own]);
  }

  add(id: string): void {
    this.#own.add(id);
    write(this.#storage, dismissedKey, [...this.#read().filter((one) => one !== id), id].slice(-keptRuns));
  }

  #read(): string[] {
    const ids = read(this.#storage, dismissedKey);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  }
}

/** Data that a page passes on to the page after a reload. */
export interface Handover {
  run: string;
  /** Number of queued jobs when the update started. */
  queued: number;
}

const handoverKey = 'svc-update-farewell';

/** @param storage `sessionStorage`, which belongs to the tab */
export const leaveHandover = (storage: GetStorage, handover: Handover): void =>
  write(storage, handoverKey, handover);

/** Reads and deletes the data of the previous page. */
export function takeHandover(storage: GetStorage): Handover | null {
  const { run, queued } = (read(storage, handoverKey) ?? {}) as Partial<Handover>;
  write(storage, handoverKey, null);
  return typeof run === 'string' ? { run, queued: typeof queued === 'number' ? queued : 0 } : null;
}
