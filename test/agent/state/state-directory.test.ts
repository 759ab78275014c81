import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStateDirectory, stateDirectory } from '../../../src/agent/state/state-directory.ts';

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'state-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('openStateDirectory', () => {
  it.each<[string, (path: string) => Promise<unknown>]>([
    ['that is not there', async () => {}],
    ['that somebody has loosened', (path) => mkdir(path).then(() => chmod(path, 0o755))],
  ])('gives one %s, private and kept out of repositories', async (_, make) => {
    await make(stateDirectory(directory));
    const state = await openStateDirectory(directory);
    expect(state).toBe(join(directory, '.svc-updater'));
    expect((await stat(state)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(state, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['a file', (path) => writeFile(path, 'mine\n')],
    ['a link to a file', (path) => writeFile(`${path}.mine`, '').then(() => symlink(`${path}.mine`, path))],
  ])('refuses %s in its place', async (_, make) => {
    const path = stateDirectory(directory);
    await make(path);
    await expect(openStateDirectory(directory)).rejects.toMatchObject({
      code: 'not-a-file',
      outcome: 'refused',
      message: `${path} is not the directory that the updater keeps its files in`,
      advice: `Move ${path} away, then run the update again.`,
    });
  });

  it('says that it cannot be made where the directory is gone', async () => {
    await rm(directory, { recursive: true });
    await expect(openStateDirectory(directory)).rejects.toMatchObject({
      code: 'write-failed',
      message: expect.stringContaining(`${stateDirectory(directory)} cannot be created: ENOENT`),
    });
  });
});
