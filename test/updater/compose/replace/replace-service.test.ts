import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { diskFileSystem, type FileSystem } from '../../../../src/core/files/file-system.ts';
import { Engine } from '../../../../src/engine/cli/engine.ts';
import { ComposeRun } from '../../../../src/updater/compose/loop/compose-run.ts';
import { computeUpTimeoutMs } from '../../../../src/updater/compose/replace/replace-service.ts';
import { runSteps } from '../../../../src/updater/run/run-steps.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { changeover, container, journalData, movedService, project, record } from '../../../build.ts';
import { runContext } from '../../../build-plan.ts';
import { startPlainEngine } from '../../../engine/http-engine.ts';

let directory = '';
const called = () =>
  stat(join(directory, 'called')).then(
    () => true,
    () => false,
  );

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recreate-'));
  const docker = `#!/bin/sh\n: >${directory}/called\necho 'no hook today' >&2\nexit 1\n`;
  await writeFile(join(directory, 'docker'), docker);
  await chmod(join(directory, 'docker'), 0o755);
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

it('records a start hook in the journal before compose runs the hook', async () => {
  const host = await startPlainEngine(
    ({ url = '' }, to) => void to.end(url.startsWith('/containers/json') ? '[]' : '{}'),
  );
  const engine = new Engine({ host, tls: [], configDirectory: directory }, { home: '/' });
  const told: boolean[] = [];
  const state = await mkdtemp(join(directory, 'state-'));
  const noting: FileSystem = {
    ...diskFileSystem,
    write: async (path, bytes, ...rest) => {
      if (String(bytes).includes('"started": true')) told.push(await called());
      return diskFileSystem.write(path, bytes, ...rest);
    },
  };
  const update = async (hasStartHook: boolean) => {
    const planned = changeover({
      moved: [movedService('app', { hasStartHook })],
      containers: [record(container('app-1'))],
    });
    const data = journalData({
      project: { ...project, directory },
      changeover: planned,
      state: { at: 'replacing' },
    });
    const journal = new Journal({ state, restore: async () => {} }, data, noting);
    const { context } = runContext(engine);
    return runSteps(new ComposeRun(context, journal, { without: ['announce'] }), 'update', context.log);
  };
  await expect(update(true)).rejects.toThrow('compose could not replace app: no hook today');
  expect(told).toEqual([false]);
  expect(await called()).toBe(true);
  await expect(update(false)).rejects.toThrow('compose could not replace app');
  expect(told).toHaveLength(1);
});

it.each<[what: string, stopTimeouts: number[], minutes: number]>([
  ['one may take an hour to stop', [3_600], 75],
  ['two are stopped one after another', [3_600, 60], 76],
  ['one is never ended hard', [10, Number.POSITIVE_INFINITY], Number.POSITIVE_INFINITY],
])('computes a timeout for up that interrupts no stop if %s', (_, stopTimeouts, minutes) => {
  const app = stopTimeouts.map((stopTimeout, index) => container(`app-${index + 1}`, { stopTimeout }));
  const others = [container('db-1', { stopTimeout: 600 }), container('app-9', { status: 'exited' })];
  expect(computeUpTimeoutMs('app', [...app, ...others])).toBe(minutes * 60_000);
});
