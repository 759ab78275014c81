import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Journal } from '../../src/agent/state/journal.ts';
import { writeUpdate } from '../../src/agent/write-update.ts';
import { HostPaths } from '../../src/files/host-paths.ts';
import { readTextFile } from '../../src/files/text-file.ts';
import { changeover, journalData, project } from '../build.ts';
import { composeText, engineWith, filePlan, installed, runContext } from '../build-plan.ts';

it('a run that changes files keeps their old texts, and those of the four runs before', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'write-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const state = join(directory, '.svc-updater');
  const earlier = [1, 2, 3, 4, 5].map((day) => `2026110${day}T000000Z`);
  for (const name of [...earlier, 'by-hand']) await mkdir(join(state, 'backup', name), { recursive: true });
  const path = join(directory, 'compose.yaml');
  await writeFile(path, composeText({ app: 'acme/svc:v1.0.0' }));
  const before = await readTextFile(path);
  const files = { composeFiles: [before], envFiles: [], newEnvFile: join(directory, '.env'), directory };
  const own = { ...project, directory, files: [path] };
  const after = composeText({ app: 'acme/svc:v1.1.0' });
  const { context } = runContext(await engineWith({}));
  const data = journalData({ project: own });
  const paths = new HostPaths([{ type: 'bind', source: directory, destination: directory, writable: true }]);
  const look = { found: { containers: [], leftovers: [] }, at: 0 };
  await writeUpdate(
    context,
    new Journal({ state, restore: async () => {} }, data),
    { installation: { ...installed(files), project: own, paths } },
    {
      ...{ images: new Map(), earlier: null, debris: [] },
      filePlan: filePlan({
        changes: [{ path, before: before.text, after, description: 'sets the version' }],
      }),
    },
    { changeover: changeover({ moved: [], containers: [] }), look, saved: null },
  );
  expect(await readFile(path, 'utf8')).toBe(after);
  expect((await readdir(join(state, 'backup'))).sort()).toEqual([...earlier.slice(1), data.run, 'by-hand']);
  expect(await readFile(join(state, 'backup', data.run, 'compose.yaml'), 'utf8')).toContain('v1.0.0');
});
