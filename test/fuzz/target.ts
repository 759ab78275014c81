import assert from 'node:assert/strict';
import fc from 'fast-check';

/** A reader of what comes from outside, what it is given, and what must hold whatever that is. */
export interface Target<T> {
  name: string;
  cases: fc.Arbitrary<T>;
  /** Throws where something does not hold. */
  check(value: T): void | Promise<void>;
  /** How many of its cases come to a hundred of a usual one; what asks another program has few. */
  share: number;
  /** What it needs once the cases are over. */
  end?(): Promise<void>;
}

/** Processor time in microseconds; a case of some kilobytes takes a thousandth of it where the time grows as the text does. */
const most = 3_000_000;
const own = Object.getOwnPropertyNames(Object.prototype).length;

/** Milliseconds in which a case that fails is made smaller: there are more tries than can be waited for. */
const longest = 20_000;

/** For one use. `onCase` is called before each. */
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

/** What the work gives; null where it throws what it may. */
export function attempt<T>(work: () => T, mayThrow: (error: Error) => boolean): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && mayThrow(error)) return null;
    throw error;
  }
}

/** It is plain data: what is in it has come into no prototype. */
export function expectPlain(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const known: unknown[] = [Object.prototype, Array.prototype, Date.prototype, Map.prototype];
  assert.ok(known.includes(Object.getPrototypeOf(value)), 'something is in a prototype');
  for (const one of Object.values(value)) expectPlain(one);
}
