/**
 * Returns the browser's storage, or throws an error if the browser forbids storage. Must be called for each access,
 * inside `try`.
 */
type GetStorage = () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Returns null if the stored JSON is missing or unreadable. */
function readStoredJson(storage: GetStorage, key: string): unknown {
  try {
    return JSON.parse(storage().getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

function writeStoredJson(storage: GetStorage, key: string, value: object | null): void {
  try {
    if (value === null) storage().removeItem(key);
    else storage().setItem(key, JSON.stringify(value));
  } catch {
    // The storage may be forbidden or full. Updates work without it.
  }
}

const dismissedKey = 'svc-update-closed';
/** Maximum number of stored ids. The server's history does not contain more runs. */
const maxDismissedRuns = 50;

/**
 * Ids of the runs whose results were dismissed in this browser. Without storage, only the current page remembers the
 * ids.
 */
export class DismissedRunStorage {
  readonly #storage: GetStorage;
  readonly #own = new Set<string>();

  /** @param storage - returns `localStorage`, which all tabs share */
  constructor(storage: GetStorage) {
    this.#storage = storage;
  }

  all(): ReadonlySet<string> {
    return new Set([...this.#read(), ...this.#own]);
  }

  add(id: string): void {
    this.#own.add(id);
    writeStoredJson(
      this.#storage,
      dismissedKey,
      [...this.#read().filter((one) => one !== id), id].slice(-maxDismissedRuns),
    );
  }

  #read(): string[] {
    const ids = readStoredJson(this.#storage, dismissedKey);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  }
}

/** Data that a page stores for itself before it reloads. */
export interface ReloadHandover {
  run: string;
  /** Number of queued jobs when the update started. */
  queued: number;
}

const handoverKey = 'svc-update-farewell';

/** @param storage - returns `sessionStorage`, which belongs to the tab */
export const storeReloadHandover = (storage: GetStorage, handover: ReloadHandover): void =>
  writeStoredJson(storage, handoverKey, handover);

/** Reads and deletes the data that was stored before the reload. Returns null if there is no such data. */
export function takeReloadHandover(storage: GetStorage): ReloadHandover | null {
  const { run, queued } = (readStoredJson(storage, handoverKey) ?? {}) as Partial<ReloadHandover>;
  writeStoredJson(storage, handoverKey, null);
  return typeof run === 'string' ? { run, queued: typeof queued === 'number' ? queued : 0 } : null;
}
