import { availableParallelism, cpus, loadavg } from 'node:os';

/** Measurements of the updater and of the alternative, in pairs, so that other load on the machine affects both. */
export interface Comparison {
  figure: string;
  against: string;
  unit: 'ms' | 'MB';
  /** The maximum ratio to reach; null if the figure is only reported. */
  reach: number | null;
  ours: readonly number[];
  theirs: readonly number[];
}

/**
 * Measures both alternately; each is first in every second pair. The functions return the measurement and get the
 * number of the pair, from 0 on.
 */
export async function inPairs<T>(
  pairs: number,
  measure: Record<'ours' | 'theirs', (pair: number) => Promise<T>>,
): Promise<Record<'ours' | 'theirs', T[]>> {
  const all = { ours: [] as T[], theirs: [] as T[] };
  // The first measurement of each fills caches and does not count.
  for (const who of ['ours', 'theirs'] as const) await measure[who](0);
  for (let pair = 0; pair < pairs; pair++) {
    for (const who of pair % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
      all[who].push(await measure[who](pair));
    }
  }
  return all;
}

/** The quantile `part` (0 to 1) of a sorted list, interpolated between neighbours. */
export function quantile(list: readonly number[], part: number): number {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (list: readonly number[]): number => quantile(list, 0.5);

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/**
 * The processor time of the whole machine in ms, which includes the engine, its helpers and the app. On an idle machine,
 * the difference between two runs that start the same app is the difference between their commands.
 */
export async function processorTimeOf(work: () => Promise<unknown>): Promise<number> {
  const spent = () =>
    cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  const before = spent();
  await work();
  return spent() - before;
}

/** A line that describes the machine, because figures depend on it. */
export function describeMachine(): string {
  const [load = 0] = loadavg();
  const count = availableParallelism();
  const busy = load > count / 2 ? ': busy, the figures say little' : '';
  return `${count} CPUs, load ${load.toFixed(1)} at the beginning${busy}`;
}

/** Prints the table, and the figures as one line of JSON. */
export function report(comparisons: readonly Comparison[]): void {
  const rows = comparisons.map(summary);
  const head = [
    'figure',
    'against',
    'pairs',
    'ours',
    'theirs',
    'ratio',
    'half the pairs',
    'all pairs',
    'reach',
    '',
  ];
  const cells = rows.map((row) => [
    row.figure,
    row.against,
    String(row.pairs),
    amount(row.ours, row.unit),
    amount(row.theirs, row.unit),
    row.ratio.toFixed(2),
    row.quartiles.map((ratio) => ratio.toFixed(2)).join(' – '),
    row.range.map((ratio) => ratio.toFixed(2)).join(' – '),
    row.reach === null ? '' : `≤ ${row.reach.toFixed(2)}`,
    row.reach === null ? '' : row.ratio <= row.reach ? 'REACHED' : 'NOT REACHED',
  ]);
  printTable([head, ...cells]);
  console.log(JSON.stringify(rows));
}

/** The ratio of the medians; and of the single pairs, the middle half of the ratios and their range. */
function summary({ figure, against, unit, reach, ours, theirs }: Comparison) {
  const ratios = ours.map((value, pair) => value / (theirs[pair] ?? Number.NaN));
  const rounded = (value: number) => Math.round(value * 1000) / 1000;
  return {
    figure,
    against,
    unit,
    pairs: ratios.length,
    ours: rounded(median(ours)),
    theirs: rounded(median(theirs)),
    ratio: rounded(median(ours) / median(theirs)),
    quartiles: [0.25, 0.75].map((part) => rounded(quantile(ratios, part))),
    range: [0, 1].map((part) => rounded(quantile(ratios, part))),
    reach,
  };
}

const amount = (value: number, unit: string): string => `${value.toFixed(unit === 'ms' ? 0 : 2)} ${unit}`;

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
