/** The application's functions that the library calls. */
export type Part = 'hold' | 'resume' | 'jobs' | 'get' | 'set' | 'onEnd';

/** The kind of failure of a call. */
export type FailureKind =
  /** Throws before any effect, without a promise. */
  | 'throw'
  /** Rejects before any effect. */
  | 'reject'
  /** Has no effect, and does not settle until it is released. */
  | 'hang'
  /** Has its effect, and does not settle until it is released. */
  | 'done-then-hang'
  /** Has its effect, and rejects. */
  | 'done-then-reject'
  /** Returns another value. */
  | { gives: unknown };

export interface Failure {
  how: FailureKind;
  /** The first affected call, among future calls; 1 by default. */
  nth?: number;
  /** Number of affected calls; 1 by default. */
  times?: number;
  /** Only calls with matching arguments, such as a key of the store. */
  with?: (args: readonly unknown[]) => boolean;
}

export interface FailureHandle {
  /** Number of calls affected so far. */
  readonly hits: number;
  /** Ends the failure; hanging calls continue, or reject with the error. */
  release(error?: unknown): void;
}

/** A call of the library, in a form that tests can compare. */
export interface Call {
  server: string;
  part: Part;
  args: readonly unknown[];
  end: 'open' | 'done' | 'failed';
}

interface Planned extends Failure {
  part: Part;
  seen: number;
  hits: number;
  isOver: boolean;
  held: Set<(error?: unknown) => void>;
}

/** Executes and records the calls of one server, with planned failures. */
export class CallRecorder {
  readonly server: string;
  readonly #calls: Call[];
  readonly #planned: Planned[] = [];
  #isCutOff = false;

  constructor(server: string, calls: Call[]) {
    this.server = server;
    this.#calls = calls;
  }

  fail(part: Part, failure: Failure): FailureHandle {
    const planned: Planned = { ...failure, part, seen: 0, hits: 0, isOver: false, held: new Set() };
    this.#planned.push(planned);
    return {
      get hits() {
        return planned.hits;
      },
      release: (error) => release(planned, error),
    };
  }

  recover(): void {
    for (const planned of this.#planned.splice(0)) release(planned);
  }

  /** From now on, calls have no effect and do not settle: the caller no longer exists. */
  cutOff(): void {
    this.#isCutOff = true;
  }

  /**
   * Executes a call, and returns a promise of its result. A planned failure may throw synchronously, as an application
   * may.
   */
  call<T>(part: Part, args: readonly unknown[], act: () => T): Promise<Awaited<T>> {
    if (this.#isCutOff) return new Promise(() => {});
    const call: Call = { server: this.server, part, args, end: 'open' };
    this.#calls.push(call);
    const planned = this.#meet(part, args);
    const error = new Error(`the platform fails: ${part}`);
    if (planned?.how === 'throw') {
      call.end = 'failed';
      throw error;
    }
    const doing = (async (): Promise<Awaited<T>> =>
      planned === undefined ? await act() : failing(planned, act, error))();
    doing.then(
      () => {
        call.end = 'done';
      },
      () => {
        call.end = 'failed';
      },
    );
    return doing;
  }

  #meet(part: Part, args: readonly unknown[]): Planned | undefined {
    const met = this.#planned.filter((planned) => {
      if (planned.isOver || planned.part !== part || !(planned.with?.(args) ?? true)) return false;
      planned.seen += 1;
      const { nth = 1, times = 1 } = planned;
      return planned.seen >= nth && planned.seen < nth + times;
    });
    if (met[0]) met[0].hits += 1;
    return met[0];
  }
}

async function failing<T>(planned: Planned, act: () => T, error: unknown): Promise<Awaited<T>> {
  const { how } = planned;
  if (how === 'reject') throw error;
  if (how === 'hang') {
    await held(planned);
    return await act();
  }
  if (how === 'done-then-hang') {
    const done = await act();
    await held(planned);
    return done;
  }
  if (how === 'done-then-reject') {
    await act();
    throw error;
  }
  return (typeof how === 'object' ? how.gives : undefined) as Awaited<T>;
}

const held = (planned: Planned): Promise<void> =>
  new Promise((resolve, reject) => {
    planned.held.add((error) => (error === undefined ? resolve() : reject(error)));
  });

function release(planned: Planned, error?: unknown): void {
  planned.isOver = true;
  for (const goOn of planned.held) goOn(error);
  planned.held.clear();
}
