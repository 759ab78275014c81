import { type ErrorCode, errorCodes, explanationOf } from '../../../core/errors/update-error.ts';
import type { Product } from '../../../core/names/product.ts';
import { exitCodes } from '../../../core/progress/outcome.ts';

/** The output of `explain`: the details of one error code, or all error codes with their meanings. */
export function explainErrorCode(code: ErrorCode | null, product: Product): string {
  if (code === null) {
    const width = Math.max(...errorCodes.map(({ length }) => length));
    return errorCodes
      .map((each) => `${each.padEnd(width)}  ${explanationOf(each, product).meaning}\n`)
      .join('');
  }
  const { outcome, meaning, why, advice } = explanationOf(code, product);
  return [
    `${code}: outcome ${outcome}, exit code ${exitCodes[outcome]}`,
    `Meaning: ${meaning}`,
    ...(why === undefined ? [] : [`Why: ${why}`]),
    `What to do: ${advice}`,
    '',
  ].join('\n');
}

const mostNear = 5;
const mostTypos = 3;

/** Finds names that contain the word or differ in a few letters, the closest first. */
export function findSimilarNames(word: string, names: readonly string[]): string[] {
  const distances = names.map((name) => ({
    name,
    distance: word !== '' && name.includes(word) ? 0 : editDistance(word, name),
  }));
  return distances
    .filter(({ distance }) => distance <= Math.min(mostTypos, word.length / 2))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, mostNear)
    .map(({ name }) => name);
}

/** Levenshtein distance: number of letters that must be inserted, removed or replaced. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
