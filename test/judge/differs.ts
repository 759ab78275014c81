import { difference } from '../rig/difference.ts';

/** One fact with only the differing values; no fact if there are none. */
export function differs(what: string, expected: unknown, found: unknown): string[] {
  const between = difference(expected, found);
  if (between === undefined) return [];
  const text = (value: unknown) => JSON.stringify(value, (_, each) => each ?? null);
  return [`${what}: expected ${text(between.expected)}, found ${text(between.actual)}`];
}
