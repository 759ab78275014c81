import { type StructuredPatchHunk, structuredPatch } from 'diff';

/** So many lines in all, removed and added, take a third of a second to be found; twice as many take four times as long. */
const maxEditLength = 2_000;

/**
 * A unified diff, line by line, with so many unchanged lines round each change; empty where nothing differs. A text of
 * null is a file that is not there.
 */
export function unifiedDiff(
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

/** For files that have little in common: each line beside the one of its number, and none that is the same in both. */
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

/** As `diff -u` writes it: a count of one is left out, and an empty range begins at the line before it. */
const range = (start: number, count: number): string =>
  count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
