import type { Row } from './run-faults.ts';

/** Lines of a table: fault, tries, survived, lost. */
export function table(rows: readonly Row[]): string[] {
  const cells = [
    ['fault', 'tries', 'survived', 'lost', 'seconds'],
    ...rows.map(({ group, fault, tries, lost, seconds }) => [
      `${group}: ${fault}`,
      `${tries}`,
      `${tries - lost}`,
      `${lost}`,
      seconds.toFixed(0),
    ]),
  ];
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join(' | ');
  return cells.flatMap((row, index) =>
    index === 0 ? [line(row), widths.map((width) => '-'.repeat(width)).join('-|-')] : [line(row)],
  );
}
