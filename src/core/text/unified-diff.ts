import { type StructuredPatchHunk, structuredPatch } from 'diff';

/**
 * Maximum number of changed lines in a diff. Such a diff takes a third of a second; twice as many lines take four times
 * as long.
 */
const maxEditLength = 2_000;

/** Returns the lines of a unified diff, or no lines if the texts are equal. A null text stands for a missing file. */
export function createUnifiedDiff(
  path: string,
  before: string | null,
  after: string | null,
  contextLines = 3,
): string[] {
  if (before === after) return [];
  const [old, now] = [before ?? '', after ?? ''];
  const patch = structuredPatch('', '', old, now, '', '', { context: contextLines, maxEditLength });
  return [
    `--- ${before === null ? '/dev/null' : `a/${path}`}`,
    `+++ ${after === null ? '/dev/null' : `b/${path}`}`,
    ...(patch?.hunks ?? lineByLine(old, now)).flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
      `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
      ...lines,
    ]),
  ];
}

/**
 * Compares only lines with the same line number, for texts that differ too much for a real diff. Equal lines are
 * omitted.
 */
function lineByLine(old: string, now: string): StructuredPatchHunk[] {
  const [from = [], to = []] = [old, now].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
  return Array.from({ length: Math.max(from.length, to.length) }).flatMap((_, at) =>
    structuredPatch('', '', from[at] ?? '', to[at] ?? '').hunks.map((hunk) => ({
      ...hunk,
      oldStart: Math.min(at, from.length) + 1,
      newStart: Math.min(at, to.length) + 1,
    })),
  );
}

/** Formats a line range as `diff -u` does: a count of 1 is omitted, and an empty range begins at the previous line. */
const range = (start: number, count: number): string =>
  count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
