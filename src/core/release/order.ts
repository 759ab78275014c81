import compare from 'semver/functions/compare.js';
import valid from 'semver/functions/valid.js';

/**
 * Semantic version precedence: `1.6.0-canary.2` < `1.6.0-canary.10` < `1.6.0`. Negative where a comes first, positive
 * where b does, 0 where they are the same. Versions of fewer or more than three numbers, and such as `2025.08.4`, go by
 * their numbers; a number that is missing counts as 0.
 */
export function compareVersions(a: string, b: string): number {
  if (valid(a) !== null && valid(b) !== null) return compare(a, b);
  const [x, y] = [numbersOf(a), numbersOf(b)];
  for (let at = 0; at < Math.max(x.length, y.length); at++) {
    const difference = (x[at] ?? 0) - (y[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** By the numbers that both have: 0 for `2025.10` and `2025.10.3`. Negative where a comes first, positive where b does. */
export function compareTold(a: string, b: string): number {
  const count = Math.min(countOf(a), countOf(b));
  return countOf(a) === countOf(b)
    ? compareVersions(a, b)
    : compareVersions(cutVersion(a, count), cutVersion(b, count));
}

/** The first numbers of a version as they are written: 2 of `2025.08.4` are `2025.08`. */
export const cutVersion = (version: string, count: number): string =>
  plain(version).split('.').slice(0, count).join('.');

/** How many numbers a version has. */
export const countOf = (version: string): number => plain(version).split('.').length;

/** From here on a first number is a year: it says when a release was made, and nothing about what has changed in it. */
const firstYear = 1900;

/** Whether the first numbers differ and are no years: people are then told to dump the database first. */
export function isMajorChange(from: string, to: string): boolean {
  const [a = 0, b = 0] = [from, to].map((version) => numbersOf(version)[0]);
  return a !== b && !(a >= firstYear && b >= firstYear);
}

const plain = (version: string): string => version.replace(/^v/, '').replace(/-.*$/, '');

const numbersOf = (version: string): number[] => plain(version).split('.').map(Number);
