import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { isTrackedByGit } from '../../../../src/updater/compose/enable/is-tracked-by-git.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

it('finds whether a repository lists a file', async () => {
  const root = await temporaryDirectory();
  const git = (...args: string[]) => execa('git', ['-c', 'core.hooksPath=/dev/null', ...args], { cwd: root });
  await mkdir(join(root, 'one'));
  for (const name of ['.env', 'one/.env', 'one/x.env']) await writeFile(join(root, name), 'A=b\n');
  expect(await isTrackedByGit(join(root, 'one/.env'))).toBe(false);
  await git('init', '--quiet');
  await git('add', 'one/.env');
  expect(await isTrackedByGit(join(root, 'one/.env'))).toBe(true);
  expect(await isTrackedByGit(join(root, '.env'))).toBe(false);
  expect(await isTrackedByGit(join(root, 'one/x.env'))).toBe(false);
  await symlink('one/.env', join(root, 'link.env'));
  expect(await isTrackedByGit(join(root, 'link.env'))).toBe(true);
  for (const flag of ['--skip-worktree', '--assume-unchanged', '--index-version=4']) {
    await git('update-index', flag, 'one/.env');
    expect(await isTrackedByGit(join(root, 'one/.env')), flag).toBe(true);
  }
  await rename(join(root, '.git'), join(root, 'one/git'));
  await writeFile(join(root, '.git'), 'gitdir: one/git\n');
  expect(await isTrackedByGit(join(root, 'one/.env'))).toBe(true);
  await writeFile(join(root, 'one/git/index'), 'DIRC');
  expect(await isTrackedByGit(join(root, 'one/.env'))).toBe(false);
  await rm(join(root, 'one/git/index'));
  await mkdir(join(root, 'one/git/index'));
  await expect(isTrackedByGit(join(root, 'one/.env'))).rejects.toThrow('it is unknown whether Git tracks');
});
