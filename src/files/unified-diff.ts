// Beyond this many differing lines the shortest diff is worth neither its time nor its memory.
const mostDifferences = 400;

interface Line {
  sign: ' ' | '-' | '+';
  /** With its line end, where it has one. */
  text: string;
}

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
  const lines = compare(splitLines(before ?? ''), splitLines(after ?? ''));
  const [removed, added] = [linesUpTo(lines, '+'), linesUpTo(lines, '-')];
  return [
    `--- ${before === null ? '/dev/null' : `a/${path}`}`,
    `+++ ${after === null ? '/dev/null' : `b/${path}`}`,
    ...hunks(lines, contextLines).flatMap(({ from, to }) => {
      const head = `@@ -${range(removed, from, to)} +${range(added, from, to)} @@`;
      return [head, ...lines.slice(from, to).flatMap(shown)];
    }),
  ];
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Runs of changed lines with their context, as ranges; those that touch are one. */
function hunks(lines: readonly Line[], contextLines: number): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const [index, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const from = Math.max(0, index - contextLines);
    const to = Math.min(lines.length, index + 1 + contextLines);
    const last = found.at(-1);
    if (last && from <= last.to) last.to = to;
    else found.push({ from, to });
  }
  return found;
}

/** How many lines there are before each place, without those of a sign: summed up once, as hunks may be many. */
function linesUpTo(lines: readonly Line[], without: Line['sign']): number[] {
  const sums = [0];
  for (const [index, { sign }] of lines.entries()) sums.push((sums[index] ?? 0) + (sign === without ? 0 : 1));
  return sums;
}

function range(sums: readonly number[], from: number, to: number): string {
  const [before, until] = [sums[from] ?? 0, sums[to] ?? 0];
  const length = until - before;
  const start = before + (length === 0 ? 0 : 1);
  return length === 1 ? `${start}` : `${start},${length}`;
}

function shown({ sign, text }: Line): string[] {
  const line = `${sign}${text.replace(/\n$/, '')}`;
  return text.endsWith('\n') ? [line] : [line, '\\ No newline at end of file'];
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < Math.min(before.length, after.length) - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) {
    tail += 1;
  }
  const same = (text: string): Line => ({ sign: ' ', text });
  return [
    ...before.slice(0, head).map(same),
    ...shortest(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** Myers' greedy algorithm: the furthest that each diagonal is reached with d differences, for growing d. */
function shortest(before: readonly string[], after: readonly string[]): Line[] {
  const trail: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(before.length + after.length, mostDifferences); d += 1) {
    trail.push(reach);
    reach = new Map(reach);
    for (let k = -d; k <= d; k += 2) {
      let x = stepDown(reach, k, d) ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reach.set(k, x);
      if (x >= before.length && x - k >= after.length) return walkBack(trail, before, after);
    }
  }
  return before.length === after.length ? inPlace(before, after) : whole(before, after);
}

/** Many lines edited, none put in: each stands for the one of its number. */
const inPlace = (before: readonly string[], after: readonly string[]): Line[] =>
  before.flatMap((text, index) => {
    const now = after.slice(index, index + 1);
    return now[0] === text ? [{ sign: ' ', text } as const] : whole([text], now);
  });

const whole = (before: readonly string[], after: readonly string[]): Line[] => [
  ...before.map((text) => ({ sign: '-', text }) as const),
  ...after.map((text) => ({ sign: '+', text }) as const),
];

function walkBack(
  trail: readonly Map<number, number>[],
  before: readonly string[],
  after: readonly string[],
): Line[] {
  const lines: Line[] = [];
  let x = before.length;
  let y = after.length;
  for (let d = trail.length - 1; d >= 0; d -= 1) {
    const reach = trail[d] ?? new Map<number, number>();
    const k = x - y;
    const previous = stepDown(reach, k, d) ? k + 1 : k - 1;
    const previousX = at(reach, previous);
    while (x > 0 && y > 0 && x > previousX && y > previousX - previous) {
      x -= 1;
      y -= 1;
      lines.push({ sign: ' ', text: before[x] ?? '' });
    }
    if (d === 0) break;
    if (previous > k) {
      y -= 1;
      lines.push({ sign: '+', text: after[y] ?? '' });
    } else {
      x -= 1;
      lines.push({ sign: '-', text: before[x] ?? '' });
    }
  }
  return lines.reverse();
}

const stepDown = (reach: ReadonlyMap<number, number>, k: number, d: number): boolean =>
  k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1));

const at = (reach: ReadonlyMap<number, number>, k: number): number => reach.get(k) ?? -1;
