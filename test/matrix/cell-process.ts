import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNamespaces } from '../faults/namespaces.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import { type Cell, imageOf } from './cells.ts';
import { kindOf } from './engines.ts';
import { missingRows, type Results, type RowName } from './results.ts';

/** Files that cells need, as prepared by scripts/matrix. */
export interface Workshop {
  /** Folder with the programs of engines and composes, the updater images, and temporary files of cells. */
  directory: string;
  /** Updater image that replaces the image of the cell. */
  given: string | undefined;
  results: Results;
}

/** Arguments of the process of a cell. */
export interface CellTask {
  cell: Cell;
  rows: RowName[];
  /** The updater image as written by `docker save`. */
  archive: string;
  /** Folder of the results. */
  results: string;
}

/** Runs the missing rows of a cell. Returns the exit code of its process, which does not depend on the results. */
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
  // The process of a rootless cell runs as an ordinary user, who could not write to these directories otherwise.
  if (rootless) await Promise.all([chmod(results.directory, 0o777), nodeLayer()]);
  const engine = join(directory, 'programs', `engine-${kindOf(cell.engine).programs}`);
  const podman = kindOf(cell.engine).podman !== undefined;
  const maker = join(directory, 'programs', `compose-${cell.maker}`);
  const script = fileURLToPath(new URL('run-cell.ts', import.meta.url));
  return runInNamespaces(script, [JSON.stringify(task)], {
    parent: runs,
    // The emulator is registered in the user namespace, so it does not affect this machine.
    ownUsers: kindOf(cell.engine).machine !== undefined,
    rootless,
    env: (own) => ({
      PATH: [engine, maker, process.env.PATH].join(':'),
      LD_LIBRARY_PATH: join(engine, 'lib'),
      // The docker client searches its plugins in HOME first.
      HOME: maker,
      TMPDIR: own,
      XDG_RUNTIME_DIR: own,
      DOCKER_HOST: `unix://${join(own, 'docker.sock')}`,
      SVC_UPDATER_IMAGE: image,
      // Emulated programs get ten times as much time.
      SVC_TEST_PATIENCE: kindOf(cell.engine).machine === undefined ? '180' : '1800',
      ...(podman && {
        SVC_TEST_PODMAN: engine,
        // Podman 4 does not report the exit code of a container with --rm to Docker's client.
        SVC_TEST_RUN: 'podman --remote',
        CONTAINER_HOST: `unix://${join(own, 'docker.sock')}`,
      }),
      SVC_TEST_NO_START_INTERVAL: cell.engine === '20.10' ? '1' : '0',
    }),
  });
}

const runsIn = (directory: string): string => join(directory, 'runs');

/** Removes the temporary folders of cells whose process was killed. */
export async function sweepRuns(directory: string): Promise<void> {
  const names = await readdir(runsIn(directory)).catch(() => []);
  for (const name of names) {
    const pid = /^svct-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(runsIn(directory), name), { recursive: true, force: true });
  }
}
