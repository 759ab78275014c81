import { allCells, imageNames, makerNames } from './cells.ts';
import { type EngineName, engineNames, kindOf } from './engines.ts';
import { type CellResult, missingRows, redRows, rowsOf } from './results.ts';

/** The generated part of docs/matrix.md, from results by cell name. */
export function tablesOf(results: ReadonlyMap<string, CellResult>): string {
  const found = [...results.values()].filter(({ day }) => day !== '');
  const days = [...new Set(found.map(({ day }) => day))].sort();
  const reds = [...results].flatMap(([name, result]) =>
    redRows(result).map(
      (row) => `- \`${name}\`, ${row}: ${result.rows[row]?.facts[0]?.split('\n')[0]?.slice(0, 160)}`,
    ),
  );
  const tried = found.reduce((sum, { rows }) => sum + Object.keys(rows).length, 0);
  const when = days.length > 1 ? `from ${days[0]} to ${days.at(-1)}` : `on ${days[0] ?? 'no day yet'}`;
  const newestFirst = engineNames.toReversed();
  const everyPair = newestFirst.filter((engine) => kindOf(engine).maker === undefined);
  const others = newestFirst.filter((engine) => !everyPair.includes(engine));
  return [
    `${found.length} of ${allCells.length} combinations were tested ${when}. Of their ${tried} rows, ${reds.length} failed.`,
    ...everyPair.flatMap((engine) => tableOf(engine, results)),
    ...(others.length === 0 ? [] : otherEngines(others, results)),
    ...(reds.length === 0 ? [] : ['### Red', reds.join('\n')]),
    '',
  ].join('\n\n');
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** Table of engines with only one cell. */
function otherEngines(engines: readonly EngineName[], results: ReadonlyMap<string, CellResult>): string[] {
  const rows = engines.map((engine) => {
    const [name, result] = [...results].find(([name]) => name.endsWith(`/${engine}`)) ?? [];
    const version = result?.versions ? ` (${result.versions.engine})` : '';
    return line([`${kindOf(engine).title}${version}`, `\`${name}\``, verdict(result, engine)]);
  });
  return [
    '### Engines of another kind',
    ['| engine | cell | rows |', '| --- | --- | --- |', ...rows].join('\n'),
  ];
}

function tableOf(engine: EngineName, results: ReadonlyMap<string, CellResult>): string[] {
  const at = (image: string, maker: string) => results.get(`${image}/${maker}/${engine}`);
  const own = [...results].flatMap(([name, { versions }]) =>
    name.endsWith(`/${engine}`) && versions ? [versions] : [],
  );
  const head = line(['made by', ...imageNames.map((image) => `updated by ${image}`)]);
  const rule = line(Array.from({ length: imageNames.length + 1 }, () => '---'));
  const rows = makerNames.map((maker) =>
    line([maker, ...imageNames.map((image) => verdict(at(image, maker), engine))]),
  );
  return [
    `### ${kindOf(engine).title}${own[0] === undefined ? '' : ` (${own[0].engine})`}`,
    [head, rule, ...rows].join('\n'),
  ];
}

function verdict(result: CellResult | undefined, engine: EngineName): string {
  if (result === undefined || result.day === '') return 'not tried';
  const [red, missing] = [redRows(result), missingRows(result, engine)];
  const all = rowsOf(engine).length;
  const good = all - red.length - missing.length;
  const notes = [...red.map((row) => `**${row}**`), ...missing.map((row) => `${row} not tried`)];
  const anew = result.nextUp === null ? '?' : result.nextUp.join(', ') || 'nothing';
  return `${notes.length === 0 ? `all ${good}` : `${good} of ${all}: ${notes.join(', ')}`} → ${anew}`;
}
