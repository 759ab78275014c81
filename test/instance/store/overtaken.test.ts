import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fileStore } from '../../../src/instance/store/file-store.ts';

const meanwhile = vi.hoisted(() => ({ happens: null as null | (() => Promise<unknown>) }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const writeFile: typeof real.writeFile = async (...args) => {
    const { happens } = meanwhile;
    meanwhile.happens = null;
    await happens?.();
    return real.writeFile(...args);
  };
  return { ...real, writeFile };
});

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-store-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it('a server that another one overtakes while both set a key for the first time sees what is there', async () => {
  const faster = fileStore(directory);
  meanwhile.happens = async () => expect(await faster.set('run', 'one', { was: null })).toBe(true);
  const slower = fileStore(directory);
  expect(await slower.set('run', 'two', { was: null })).toBe(false);
  expect(await slower.get('run')).toBe('one');
  expect(await readdir(directory)).toEqual(['run']);
});

it('a directory that cannot be written is said, whoever else is at work', async () => {
  meanwhile.happens = () => rm(directory, { recursive: true });
  await expect(fileStore(directory).set('run', 'one', { was: null })).rejects.toThrow('ENOENT');
});
