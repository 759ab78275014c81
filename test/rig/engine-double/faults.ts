/** What goes wrong with the answer to one request; `at` is a number of bytes, 0 by default. */
export type FaultKind =
  /** The connection breaks at `at`. */
  | { kind: 'cut'; at?: number }
  /** No byte comes from `at` on, until it is released. */
  | { kind: 'hang'; at?: number }
  /** Every byte comes by itself. */
  | { kind: 'trickle' }
  /** The engine refuses in its own way. */
  | { kind: 'refuse'; status?: number; message?: string }
  /** Something between refuses, in a language of its own. */
  | { kind: 'page'; status?: number }
  /** The first half of the body, sent as if it were the whole. */
  | { kind: 'half' };

export type Fault = FaultKind & {
  /** Of `GET /v1.45/containers/svc-updater/json`. */
  match: RegExp;
  /** Which of the matching requests from here on, the first being 1. */
  nth?: number;
  /** How many from there on; one. */
  times?: number;
};

export interface FaultHandle {
  /** How many requests it has met. */
  readonly hits: number;
  /** What hangs goes on, and the fault is over. */
  release(): void;
}

/** A fault as it meets one request. */
export interface Strike {
  fault: Fault;
  /** Told once for each request that hangs: what to do when it is released. */
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

  /** The fault that meets a request; where several would, the first one that was planned. */
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
