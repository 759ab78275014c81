import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNamespaces } from '../faults/namespaces.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import { type Cell, imageOf } from './cells.ts';
import { kindOf } from './engines.ts';
import { missingRows, type Results, type RowName } from './results.ts';

/** Where everything is that cells are made of; scripts/matrix puts it there. */
export interface Workshop {
  /** Folder with the programs of engines and composes, with the updater's images, and with what goes with its cell. */
  directory: string;
  /** The updater's image in place of the one that the cell names. */
  given: string | undefined;
  results: Results;
}

/** What the process of a cell is told. */
export interface CellTask {
  cell: Cell;
  rows: RowName[];
  /** The updater's image as `docker save` gives it. */
  archive: string;
  /** Folder of the results. */
  results: string;
}

/** Runs what has not been run of a cell; gives the exit code of its process, which says nothing of the rows. */
export async function runCell(cell: Cell, { directory, given, results }: Workshop): Promise<number> {
  const image = given ?? `svc-updater:matrix-${imageOf(cell)}`;
  const task: CellTask = {
    cell,
    rows: missingRows(await results.read(cell), cell.engine),
    archive: join(directory, 'images', `${image.replace(/[:/]/g, '_')}.tar`),
    results: results.directory,
  };
  const runs = runsIn(directory);
  await mkdir(runs, { recursive: true });
  const rootless = kindOf(cell.engine).rootless === true;
  await mkdir(results.directory, { recursive: true });
  // The process of such a cell is an ordinary user's, who may not write what is kept beside the sources either.
  if (rootless) await Promise.all([chmod(results.directory, 0o777), nodeLayer()]);
  const engine = join(directory, 'programs', `engine-${kindOf(cell.engine).programs}`);
  const podman = kindOf(cell.engine).podman !== undefined;
  const maker = join(directory, 'programs', `compose-${cell.maker}`);
  const script = fileURLToPath(new URL('run-cell.ts', import.meta.url));
  return runInNamespaces(script, [JSON.stringify(task)], {
    parent: runs,
    // What runs another machine's programs is registered there, and this machine never sees it.
    ownUsers: kindOf(cell.engine).machine !== undefined,
    rootless,
    env: (own) => ({
      PATH: [engine, maker, process.env.PATH].join(':'),
      LD_LIBRARY_PATH: join(engine, 'lib'),
      // Below it the client looks for its plugins first.
      HOME: maker,
      TMPDIR: own,
      XDG_RUNTIME_DIR: own,
      DOCKER_HOST: `unix://${join(own, 'docker.sock')}`,
      SVC_UPDATER_IMAGE: image,
      // Ten times as long as otherwise, on a machine that is as busy.
      SVC_TEST_PATIENCE: kindOf(cell.engine).machine === undefined ? '180' : '1800',
      ...(podman && {
        SVC_TEST_PODMAN: engine,
        // Of a container that goes at its end, Podman 4 does not tell Docker's client how it has ended.
        SVC_TEST_RUN: 'podman --remote',
        CONTAINER_HOST: `unix://${join(own, 'docker.sock')}`,
      }),
      SVC_TEST_NO_START_INTERVAL: cell.engine === '20.10' ? '1' : '0',
    }),
  });
}

const runsIn = (directory: string): string => join(directory, 'runs');

/** Removes what cells have left whose process was killed with everything else. */
export async function sweepRuns(directory: string): Promise<void> {
  const names = await readdir(runsIn(directory)).catch(() => []);
  for (const name of names) {
    const pid = /^svct-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(runsIn(directory), name), { recursive: true, force: true });
  }
}
