/** One try of a campaign, or all tries of the same name. */
export interface Row {
  /** Part of the campaign, such as a kind of data. */
  group: string;
  name: string;
  tries: number;
  lost: number;
  seconds: number;
  /** What is special about this try, or how it ended. */
  detail?: string;
  /** Why it was lost, a sentence each. */
  facts?: readonly string[];
  /** File with all that is known of a lost try. */
  log?: string;
  /** Command that repeats a lost try. */
  again?: string;
}

/** A try as it ends, and what is to be known of one that was lost. */
export function linesOf(row: Row): string[] {
  const { detail, facts = [], log, again } = row;
  return [
    columns(row) + (detail ? `  ${detail}` : ''),
    ...facts.map((fact) => `      ${fact.length > 1_500 ? `${fact.slice(0, 1_500)}…` : fact}`),
    ...(log ? [`      log: ${log}`] : []),
    ...(again ? [`      again: ${again}`] : []),
  ];
}

/** All tries of a campaign: a line for each name, and the verdict as the last one. */
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
