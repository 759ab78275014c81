import compare from 'semver/functions/compare.js';
import major from 'semver/functions/major.js';

/**
 * Semantic version precedence: `1.6.0-canary.2` < `1.6.0-canary.10` < `1.6.0`. Negative where a comes first, positive
 * where b does, 0 where they are the same.
 */
export function compareVersions(a: string, b: string): number {
  return compare(a, b);
}

/** Whether the first number differs: then a dump of the database is recalled. */
export function isMajorChange(from: string, to: string): boolean {
  return major(from) !== major(to);
}
