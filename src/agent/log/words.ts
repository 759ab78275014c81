export const and = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
export const seconds = (ms: number, digits = 0): string => `${(ms / 1000).toFixed(digits)} s`;
