import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cell, nameOf } from './cells.ts';
import { type EngineName, kindOf } from './engines.ts';

/** Tests of a cell. */
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
 * Tests of a cell. Only rootless engines have files whose owner cannot be restored; `scripts/campaign faults` does not
 * run on them, so some of its tests run here. Podman has no server, but its own refusals.
 */
export function rowsOf(engine: EngineName): readonly RowName[] {
  const { rootless, podman } = kindOf(engine);
  if (podman !== undefined) return [...rowNames.filter((name) => name !== 'server'), 'podman'];
  return rootless === true ? [...rowNames, 'strangers', 'kills', 'points', 'restart'] : rowNames;
}

export interface RowResult {
  /** One sentence for each failed check. */
  facts: string[];
  seconds: number;
  /** Path of the log of a failure. */
  log: string | null;
}

/** Results of a cell until now. */
export interface CellResult {
  rows: Partial<Record<RowName, RowResult>>;
  /** Versions that the programs report. */
  versions: { image: string; maker: string; engine: string } | null;
  /** Services that the owner's `up -d` recreated after a successful update; null if not tested yet. */
  nextUp: string[] | null;
  /** Day of the latest row, such as `2026-11-23`. */
  day: string;
}

export const empty = (): CellResult => ({ rows: {}, versions: null, nextUp: null, day: '' });

export const missingRows = ({ rows }: CellResult, engine: EngineName): RowName[] =>
  rowsOf(engine).filter((name) => rows[name] === undefined);

export const redRows = ({ rows }: CellResult): RowName[] =>
  (Object.keys(rows) as RowName[]).filter((name) => (rows[name]?.facts.length ?? 0) > 0);

/** Results in a folder, one file for each cell, so that an interrupted run can be continued. */
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

  /** Folder with the logs of failures of a cell. */
  logsOf(cell: Cell): string {
    return this.#file(cell).replace(/\.json$/, '');
  }

  #file(cell: Cell): string {
    return join(this.directory, `${nameOf(cell).replaceAll('/', '_')}.json`);
  }
}
