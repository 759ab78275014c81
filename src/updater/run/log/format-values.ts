export const joinWithAnd = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
/** `1 row`, `2 rows` */
export const formatCount = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
export const formatSeconds = (ms: number, digits = 0): string => `${(ms / 1000).toFixed(digits)} s`;

/** `325 MB`, `1.2 GB` */
export const formatSize = (bytes: number): string =>
  bytes < 999_500_000 ? `${Math.ceil(bytes / 1_000_000)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;

/** Removes repeated lines and adds their number. A container that keeps crashing repeats its lines. */
export function collapseRepeatedLines(lines: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return [...times].map(([line, count]) => (count > 1 ? `${line} (${count} times)` : line));
}
