/** A fault of the response to one request; `at` is a number of bytes, 0 by default. */
export type FaultKind =
  /** The connection is closed at `at`. */
  | { kind: 'cut'; at?: number }
  /** No byte is sent from `at` on, until the fault is released. */
  | { kind: 'hang'; at?: number }
  /** Every byte is sent separately. */
  | { kind: 'trickle' }
  /** The engine rejects the request in its usual form. */
  | { kind: 'refuse'; status?: number; message?: string }
  /** A proxy rejects the request with a page of its own. */
  | { kind: 'page'; status?: number }
  /** The first half of the body, sent as if it were complete. */
  | { kind: 'half' };

export type Fault = FaultKind & {
  /** Pattern for requests such as `GET /v1.45/containers/svc-updater/json`. */
  match: RegExp;
  /** The first affected request, among future matching requests; 1 by default. */
  nth?: number;
  /** Number of affected requests; 1 by default. */
  times?: number;
};

export interface FaultHandle {
  /** Number of requests affected so far. */
  readonly hits: number;
  /** Ends the fault; hanging requests continue. */
  release(): void;
}

/** The fault of one request. */
export interface Strike {
  fault: Fault;
  /** Called once for each hanging request, with the function to call on release. */
  held(goOn: () => void): void;
}

export class FaultPlan {
  readonly #planned: PlannedFault[] = [];

  add(fault: Fault): FaultHandle {
    const planned = new PlannedFault(fault);
    this.#planned.push(planned);
    return planned;
  }

  clear(): void {
    for (const planned of this.#planned.splice(0)) planned.release();
  }

  /** The fault of a request; if there are several, the one planned first. */
  meet(line: string): Strike | null {
    const met = this.#planned.filter((planned) => planned.meets(line));
    return met[0]?.strike() ?? null;
  }
}

class PlannedFault implements FaultHandle {
  readonly #fault: Fault;
  readonly #held = new Set<() => void>();
  #seen = 0;
  #hits = 0;
  #isOver = false;

  constructor(fault: Fault) {
    this.#fault = fault;
  }

  get hits(): number {
    return this.#hits;
  }

  meets(line: string): boolean {
    const { match, nth = 1, times = 1 } = this.#fault;
    if (this.#isOver || !match.test(line)) return false;
    this.#seen += 1;
    return this.#seen >= nth && this.#seen < nth + times;
  }

  strike(): Strike {
    this.#hits += 1;
    return { fault: this.#fault, held: (goOn) => void this.#held.add(goOn) };
  }

  release(): void {
    this.#isOver = true;
    for (const goOn of this.#held) goOn();
    this.#held.clear();
  }
}
