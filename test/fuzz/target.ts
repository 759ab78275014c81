import assert from 'node:assert/strict';
import fc from 'fast-check';

/** A parser of external input, with inputs and the conditions that must hold for all of them. */
export interface Target<T> {
  name: string;
  cases: fc.Arbitrary<T>;
  /** Throws if a condition does not hold. */
  check(value: T): void | Promise<void>;
  /** The number of cases for each hundred cases of a usual target; a target that calls another program has few. */
  share: number;
  /** Cleanup after all cases. */
  end?(): Promise<void>;
}

/** Processor time in microseconds. A case of some kilobytes takes a thousandth of it if the time is linear. */
const most = 3_000_000;
const own = Object.getOwnPropertyNames(Object.prototype).length;

/** Milliseconds for shrinking a failed case, which could take much longer. */
const longest = 20_000;

/** A property for one use. `onCase` is called before each case. */
export function propertyOf<T>({ cases, check }: Target<T>, onCase: () => unknown = () => {}) {
  let until = Number.POSITIVE_INFINITY;
  return fc.asyncProperty(cases, async (value) => {
    onCase();
    if (performance.now() > until) return;
    try {
      await measured(value);
    } catch (error) {
      until = Math.min(until, performance.now() + longest);
      throw error;
    }
  });

  async function measured(value: T): Promise<void> {
    const before = process.cpuUsage();
    await check(value);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < most, `it took ${(user + system) / 1e6} s`);
    assert.equal(Object.getOwnPropertyNames(Object.prototype).length, own, 'something is in every object');
  }
}

/** The result of the work; null if it throws an allowed error. */
export function attempt<T>(work: () => T, mayThrow: (error: Error) => boolean): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && mayThrow(error)) return null;
    throw error;
  }
}

/** The value is plain data, and has changed no prototype. */
export function expectPlain(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const known: unknown[] = [Object.prototype, Array.prototype, Date.prototype, Map.prototype];
  assert.ok(known.includes(Object.getPrototypeOf(value)), 'something is in a prototype');
  for (const one of Object.values(value)) expectPlain(one);
}
