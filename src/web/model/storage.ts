/**
 * Returns the browser's storage. It is called for each access, because the browser may forbid the storage by throwing
 * an error.
 */
type GetStorage = () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Reads a value that is stored as JSON; null if the value is missing or unreadable. */
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
    // The storage may be forbidden or full. Updates also work without the storage.
  }
}

const dismissedKey = 'svc-update-closed';
/** Maximum number of stored ids, which is the length of the history. */
const keptRuns = 50;

/**
 * Stores the ids of runs whose result was dismissed in this browser. If there is no storage, only this page remembers
 * them.
 */
export class DismissedRunStorage {
  readonly #storage: GetStorage;
  readonly #own = new Set<string>();

  /** @param storage returns `localStorage`, which all tabs share */
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

/** Data that a page leaves for the page after the reload. */
export interface ReloadHandover {
  run: string;
  /** Number of queued jobs at the start of the update. */
  queued: number;
}

const handoverKey = 'svc-update-farewell';

/**
 * Stores data for the page after the reload.
 * @param storage returns `sessionStorage`, which belongs to the tab
 */
export const storeReloadHandover = (storage: GetStorage, handover: ReloadHandover): void =>
  write(storage, handoverKey, handover);

/** Reads and deletes the data from the page before the reload. */
export function takeReloadHandover(storage: GetStorage): ReloadHandover | null {
  const { run, queued } = (read(storage, handoverKey) ?? {}) as Partial<ReloadHandover>;
  write(storage, handoverKey, null);
  return typeof run === 'string' ? { run, queued: typeof queued === 'number' ? queued : 0 } : null;
}
