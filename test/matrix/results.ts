import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cell, nameOf } from './cells.ts';
import { type EngineName, kindOf } from './engines.ts';

/** The kinds of what is tried in a cell. */
export const rowNames = [
  'generated',
  'variable',
  'literal',
  'digest',
  'floating',
  'no-start',
  'kill',
  'server',
] as const;
export type RowName = (typeof rowNames)[number] | 'strangers' | 'kills' | 'points' | 'restart' | 'podman';

/**
 * Those of a cell: whose files a user may not give away is a question of rootless engines alone, on which `scripts/campaign faults` is not run
 * either. Podman has no server, and refusals of its own.
 */
export function rowsOf(engine: EngineName): readonly RowName[] {
  const { rootless, podman } = kindOf(engine);
  if (podman !== undefined) return [...rowNames.filter((name) => name !== 'server'), 'podman'];
  return rootless === true ? [...rowNames, 'strangers', 'kills', 'points', 'restart'] : rowNames;
}

export interface RowResult {
  /** One sentence for each thing that is not as it must be. */
  facts: string[];
  seconds: number;
  /** Where the log of what went wrong is kept. */
  log: string | null;
}

/** All that is known of a cell so far. */
export interface CellResult {
  rows: Partial<Record<RowName, RowResult>>;
  /** What the programs say that they are. */
  versions: { image: string; maker: string; engine: string } | null;
  /** Services that the owner's own `up -d` made anew after a good update; null while that has not been looked at. */
  nextUp: string[] | null;
  /** Day of the last of its rows, `2026-11-23`. */
  day: string;
}

export const empty = (): CellResult => ({ rows: {}, versions: null, nextUp: null, day: '' });

export const missingRows = ({ rows }: CellResult, engine: EngineName): RowName[] =>
  rowsOf(engine).filter((name) => rows[name] === undefined);

export const redRows = ({ rows }: CellResult): RowName[] =>
  (Object.keys(rows) as RowName[]).filter((name) => (rows[name]?.facts.length ?? 0) > 0);

/** Results in a folder, a file for each cell, so that a broken-off run goes on where it was. */
export class Results {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  async read(cell: Cell): Promise<CellResult> {
    const text = await readFile(this.#file(cell), 'utf8').catch(() => null);
    return text === null ? empty() : (JSON.parse(text) as CellResult);
  }

  async write(cell: Cell, result: CellResult): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    const file = this.#file(cell);
    await writeFile(`${file}.new`, `${JSON.stringify(result, null, 2)}\n`);
    await rename(`${file}.new`, file);
  }

  async forget(cell: Cell): Promise<void> {
    await rm(this.#file(cell), { force: true });
  }

  /** Where the logs of that cell's losses are kept. */
  logsOf(cell: Cell): string {
    return this.#file(cell).replace(/\.json$/, '');
  }

  #file(cell: Cell): string {
    return join(this.directory, `${nameOf(cell).replaceAll('/', '_')}.json`);
  }
}
