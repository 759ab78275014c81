import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTextFile } from '../../../../src/core/files/text-file.ts';
import { HostPaths } from '../../../../src/core/mounts/host-paths.ts';
import { runWritePhase } from '../../../../src/updater/compose/loop/run-write-phase.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { writeStackFiles } from '../../../../src/updater/swarm/rollout/write-stack-files.ts';
import { changeover, journalData, project } from '../../../build.ts';
import { composeText, engineWith, installed, planTo, preparedPlan, runContext } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

/** A compose directory with backups of five runs, a compose file, and the change of this run. */
async function place() {
  const directory = await temporaryDirectory();
  const path = join(directory, 'compose.yaml');
  await writeFile(path, composeText({ app: 'acme/svc:v1.0.0' }));
  for (const name of [...earlier, 'by-hand'])
    await mkdir(join(directory, '.svc-updater/backup', name), { recursive: true });
  const before = await readTextFile(path);
  return {
    directory,
    files: { composeFiles: [before], envFiles: [], newEnvFile: join(directory, '.env'), directory },
    changes: [{ path, before: before.text, after, description: 'sets the version' }],
    paths: new HostPaths([{ type: 'bind', source: directory, destination: directory, writable: true }]),
    context: runContext(await engineWith({})).context,
  };
}
type Place = Awaited<ReturnType<typeof place>>;
const earlier = [1, 2, 3, 4, 5].map((day) => `2026110${day}T000000Z`);
const after = composeText({ app: 'acme/svc:v1.1.0' });
const { run } = journalData();

async function ofProject({ directory, files, changes, paths, context }: Place): Promise<void> {
  const own = { ...project, directory, files: changes.map(({ path }) => path) };
  const state = join(directory, '.svc-updater');
  const journal = new Journal({ state, restore: async () => {} }, journalData({ project: own }));
  await runWritePhase(
    { ...context, journal },
    preparedPlan(planTo('v1.1.0', { ...installed(files), project: own, paths }), { changes }),
    { changeover: changeover({ moved: [], containers: [] }), saved: null },
  );
}

const ofStack = ({ directory, files, changes, paths, context }: Place): Promise<void> =>
  writeStackFiles(
    context,
    { directory, project: files, draft: { changes, files }, paths: [], needsEnvFile: false, reader: 'stack' },
    { paths, run },
  );

it.each([
  ['of a project', ofProject],
  ['of a stack', ofStack],
])(
  'a run that changes files %s keeps its own backup and those of the four previous runs',
  async (_, write) => {
    const given = await place();
    await write(given);
    const backups = join(given.directory, '.svc-updater/backup');
    expect(await readFile(join(given.directory, 'compose.yaml'), 'utf8')).toBe(after);
    expect((await readdir(backups)).sort()).toEqual([...earlier.slice(1), run, 'by-hand']);
    expect(await readFile(join(backups, run, 'compose.yaml'), 'utf8')).toContain('v1.0.0');
  },
);
