/** The word that somebody has mistyped, as far as there is one so near; null where there is none. */
export function nearest(typed: string, words: readonly string[]): string | null {
  const [best] = words
    .map((word) => ({ word, far: distance(typed.toLowerCase(), word) }))
    .filter(({ word, far }) => far <= Math.max(1, Math.floor(Math.min(typed.length, word.length) / 3)))
    .sort((a, b) => a.far - b.far);
  return best?.word ?? null;
}

/** How many letters have to be put in, left out, changed, or changed with the one beside them. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1));
      rows[i]?.push(isSwapped ? Math.min(least, at(i - 2, j - 2) + 1) : least);
    }
  }
  return at(a.length, b.length);
}
