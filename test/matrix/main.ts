import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Row, report } from '../judge/report.ts';
import { runCell, sweepRuns } from './cell-process.ts';
import { allCells, type Cell, imageOf, matching, nameOf } from './cells.ts';
import { canEmulate } from './emulate.ts';
import { kindOf } from './engines.ts';
import { type CellResult, missingRows, Results, redRows, rowNames, rowsOf } from './results.ts';
import { tablesOf } from './table.ts';

// Runs the matrix after the setup by scripts/matrix. DOCKER_HOST must not be used here: each cell has its own.

const usage = `usage: scripts/matrix [--only CELL…] [--again] [--once] [--lanes N] [--image NAME]

Updates instances with every pair of composes on every engine, and puts the table into docs/matrix.md.
A cell is IMAGE/MAKER/ENGINE: the compose in the updater image, the compose that created the instance, and the engine, for
example 5.4/2.26/29-containerd. * matches everything, and missing parts at the end match everything.
An interrupted run resumes where it stopped. Rows: ${rowNames.join(', ')}; on rootless engines strangers, kills, points and restart, on Podman also podman.

  --only CELL…    run only these cells, without scripts/shares
  --again         run completed cells again
  --once          do not save results or write the table
  --lanes N       number of engines that run in parallel; 2 by default
  --image NAME    use this existing updater image instead of building images; only with --once
  --help          print this help
`;

interface Choice {
  cells: readonly Cell[];
  /** Whether no cells were selected. */
  isAll: boolean;
  again: boolean;
  once: boolean;
  lanes: number;
  given: string | undefined;
  /** The folder of scripts/matrix. */
  state: string;
  /** Only print the programs and images that the cells need, one on each line. */
  needs: boolean;
}

const page = fileURLToPath(new URL('../../docs/matrix.md', import.meta.url));
const [begin, end] = ['<!-- written by scripts/matrix -->', '<!-- end -->'];

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const choice = choose(argv);
  if (typeof choice === 'string') {
    const asked = choice === '';
    (asked ? process.stdout : process.stderr).write(asked ? usage : `matrix: ${choice}\n\n${usage}`);
    return asked ? 0 : 2;
  }
  // Named like the folders of test runs, so that the next run removes the folder if this run is killed.
  const once = join(tmpdir(), `svct-${process.pid}-${Date.now().toString(36)}-matrix-`);
  const folder = choice.once ? await mkdtemp(once) : join(choice.state, 'results');
  const results = new Results(folder);
  const open: Cell[] = [];
  for (const cell of choice.cells) {
    if (choice.again || missingRows(await results.read(cell), cell.engine).length > 0) open.push(cell);
  }
  if (choice.needs) {
    if (choice.once) await rm(folder, { recursive: true });
    for (const line of needsOf(open, choice.given)) console.log(line);
    if (choice.isAll && open.length > 0) console.log('shares all');
    return 0;
  }
  if (choice.again) for (const cell of open) await results.forget(cell);
  await sweepRuns(choice.state);
  await runCells(open, choice, results);
  const rows: Row[] = [];
  for (const cell of choice.cells) {
    const result = await results.read(cell);
    const reds = [...redRows(result), ...missingRows(result, cell.engine)];
    const seconds = Object.values(result.rows).reduce((sum, row) => sum + row.seconds, 0);
    const tries = rowsOf(cell.engine).length;
    rows.push({ group: 'matrix', name: nameOf(cell), tries, lost: reds.length, seconds });
    if (reds.length > 0) console.log(`${nameOf(cell)}: red or not tried: ${reds.join(', ')}`);
  }
  for (const line of report(rows)) console.log(line);
  const isGood = rows.every(({ lost }) => lost === 0);
  if (choice.once && isGood) await rm(folder, { recursive: true });
  return isGood ? 0 : 1;
}

/** Parses the arguments. Returns a message if they are invalid, an empty one if help was requested. */
function choose(argv: readonly string[]): Choice | string {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const read = () =>
    parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        only: { ...text, multiple: true, default: [] },
        again: flag,
        once: flag,
        lanes: text,
        image: text,
        state: text,
        needs: flag,
        'without-go': flag,
        help: flag,
      },
    });
  let parsed: ReturnType<typeof read>;
  try {
    parsed = read();
  } catch (error) {
    return (error as Error).message;
  }
  const { values, positionals } = parsed;
  if (values.help) return '';
  const patterns = [...values.only, ...positionals];
  const unknown = patterns.filter((pattern) => matching(pattern).length === 0);
  if (unknown.length > 0) return `no such cell: ${unknown.join(', ')}`;
  if (values.lanes !== undefined && !/^[1-9]\d?$/.test(values.lanes))
    return '--lanes must be a whole number of at least 1';
  if (values.image !== undefined && !values.once)
    return '--image requires --once, because the table is only for images built by this script';
  if (values.state === undefined) return '--state is missing: run scripts/matrix';
  const chosen = new Set(patterns.flatMap(matching));
  const wanted = allCells.filter((cell) => patterns.length === 0 || chosen.has(cell));
  const possible = wanted.filter(({ engine }) => kindOf(engine).machine === undefined || canEmulate());
  if (possible.length < wanted.length)
    console.error(
      'skipping the arm64 updater: a user namespace needs Linux 6.7 or later for its own binfmt_misc',
    );
  const cells = possible.filter((cell) => !values['without-go'] || !isBuilt(cell, values.image));
  if (cells.length < possible.length)
    console.error(`${possible.length - cells.length} cells were skipped, because they need Go`);
  return {
    cells,
    isAll: patterns.length === 0,
    again: values.again,
    once: values.once,
    lanes: Number(values.lanes ?? 2),
    given: values.image,
    state: values.state,
    needs: values.needs,
  };
}

/** Whether a cell needs programs that only scripts/toolchain builds. */
function isBuilt({ image, maker, engine }: Cell, given: string | undefined): boolean {
  const isOurs = (compose: string) => compose.startsWith('5') || compose === '2.20';
  return (given === undefined && isOurs(image)) || isOurs(maker) || engine.startsWith('29');
}

function needsOf(cells: readonly Cell[], given: string | undefined): Set<string> {
  const lines = cells.flatMap((cell) => [
    `engine ${kindOf(cell.engine).programs}`,
    `disk ${kindOf(cell.engine).disk ?? 'any'}`,
    ...(kindOf(cell.engine).rootless === true ? ['rootless tools'] : []),
    `machine ${kindOf(cell.engine).machine ?? 'any'}`,
    `compose ${cell.maker}`,
    given === undefined ? `image ${imageOf(cell)}` : `given ${given}`,
  ]);
  return new Set(lines);
}

async function runCells(
  cells: readonly Cell[],
  { lanes, given, state, once }: Choice,
  results: Results,
): Promise<void> {
  const waiting = [...cells];
  let stopped = false;
  // Running cells handle the signal themselves; this prevents the start of further cells.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      stopped = true;
    });
  }
  const lane = async () => {
    for (let cell = waiting.shift(); cell !== undefined && !stopped; cell = waiting.shift()) {
      const began = performance.now();
      const exitCode = await runCell(cell, { directory: state, given, results });
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(`     ${nameOf(cell)} took ${seconds} s${exitCode === 0 ? '' : `, exit code ${exitCode}`}`);
      if (!once) await writeTables(results);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function writeTables(results: Results): Promise<void> {
  const known = new Map<string, CellResult>();
  for (const cell of allCells) known.set(nameOf(cell), await results.read(cell));
  const text = await readFile(page, 'utf8');
  const [head] = text.split(begin);
  const tail = text.split(end)[1] ?? '\n';
  await writeFile(page, `${head}${begin}\n\n${tablesOf(known)}${end}${tail}`);
}
