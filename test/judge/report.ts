/** One try of a campaign, or all tries with the same name. */
export interface Row {
  /** A part of the campaign, such as a kind of data. */
  group: string;
  name: string;
  tries: number;
  lost: number;
  seconds: number;
  /** The variant of this try, or its outcome. */
  detail?: string;
  /** The errors of a failed try, one sentence each. */
  facts?: readonly string[];
  /** The log file of a failed try. */
  log?: string;
  /** The command that repeats a failed try. */
  again?: string;
}

/** The lines for a finished try, with details if it failed. */
export function linesOf(row: Row): string[] {
  const { detail, facts = [], log, again } = row;
  return [
    columns(row) + (detail ? `  ${detail}` : ''),
    ...facts.map((fact) => `      ${fact.length > 1_500 ? `${fact.slice(0, 1_500)}…` : fact}`),
    ...(log ? [`      log: ${log}`] : []),
    ...(again ? [`      again: ${again}`] : []),
  ];
}

/** The report of a campaign: a line for each name, and the overall result as the last line. */
export function report(rows: readonly Row[]): string[] {
  const sum = (some: readonly Row[], what: 'tries' | 'lost' | 'seconds') =>
    some.reduce((total, row) => total + row[what], 0);
  const names = Map.groupBy(rows, ({ group, name }) => `${group}: ${name}`);
  const merged = [...names.values()].flatMap((same) =>
    same.slice(0, 1).map(({ group, name }) =>
      columns({
        group,
        name,
        tries: sum(same, 'tries'),
        lost: sum(same, 'lost'),
        seconds: sum(same, 'seconds'),
      }),
    ),
  );
  return ['', ...merged, '', `${sum(rows, 'tries')} tries, ${sum(rows, 'lost')} lost`];
}

const columns = ({ group, name, tries, lost, seconds }: Row): string =>
  [
    lost > 0 ? 'LOST' : 'ok  ',
    `${group}: ${name}`.padEnd(60),
    `${tries}`.padStart(4) + (tries === 1 ? ' try  ' : ' tries'),
    `${lost} lost`.padStart(8),
    `${seconds.toFixed(0)} s`.padStart(8),
  ].join('  ');
