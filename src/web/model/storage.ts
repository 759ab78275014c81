/** The browser's storage, asked for each time: where it is forbidden, to ask for it throws already. */
type GetStorage = () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** A value that was kept as JSON; null where there is none that can be read. */
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
    // It may be full, too. No update needs what is kept here.
  }
}

const dismissedKey = 'svc-update-closed';
/** As many as the history has: a run is asked for while it is the last one. */
const keptRuns = 50;

/**
 * The runs whose end was closed in this browser, by their ids. Where the browser keeps nothing, they are known to this
 * page alone.
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

/** What a page that reloads leaves to the one that takes its place. */
export interface Handover {
  run: string;
  /** Jobs that were queued when the update began. */
  queued: number;
}

const handoverKey = 'svc-update-farewell';

/** @param storage `sessionStorage`, which is the tab's */
export const leaveHandover = (storage: GetStorage, handover: Handover): void =>
  write(storage, handoverKey, handover);

/** What the page before has left, once. */
export function takeHandover(storage: GetStorage): Handover | null {
  const { run, queued } = (read(storage, handoverKey) ?? {}) as Partial<Handover>;
  write(storage, handoverKey, null);
  return typeof run === 'string' ? { run, queued: typeof queued === 'number' ? queued : 0 } : null;
}
