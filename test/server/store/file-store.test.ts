import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileStore } from '../../../src/server/store/file-store.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';
import { read } from './counted.ts';

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
});

const hammer = (name: string, times: number) =>
  execa('node', [fileURLToPath(new URL('hammer.ts', import.meta.url)), directory, name, String(times)], {
    preferLocal: true,
    reject: false,
    timeout: 60_000,
    env: { NODE_NO_WARNINGS: '1' },
  });
const successes = (stdout: string) => stdout.split('\n').filter((line) => line !== '').length;

describe('a store in a directory', () => {
  it('sets a text only if the current text matches', async () => {
    const store = fileStore(directory);
    expect(await store.get('run')).toBeNull();
    expect(await store.set('run', 'x', { was: 'y' })).toBe(false);
    expect(await store.set('run', null, { was: 'y' })).toBe(false);
    expect(await store.set('run', null, { was: null })).toBe(true);
    expect(await readdir(directory)).toEqual([]);
    expect(await store.set('run', '', { was: null })).toBe(true);
    expect(await store.set('run', 'x', { was: null })).toBe(false);
    expect(await store.set('run', 'x', { was: '' })).toBe(true);
    expect(await store.set('run', 'x', { was: 'x' })).toBe(true);
    expect(await store.set('run', null, { was: 'x' })).toBe(true);
    expect(await store.get('run')).toBeNull();
    // A removed key is like a key that was never set; only `was: null` matches.
    expect(await store.set('run', 'y', { was: 'x' })).toBe(false);
    expect(await store.set('run', 'y', { was: null })).toBe(true);
    expect(await store.get('run')).toBe('y');
  });

  it('stores any key and any text', async () => {
    const store = fileStore(join(directory, 'made/with it'));
    const keys = ['', '.', '..', '../x', 'a/b', 'A', 'a', '%', '%41', 'run.0', 'ä', '\0', 'con'];
    for (const key of keys) expect(await store.set(key, `\0 ${key}\ud83d`, { was: null })).toBe(true);
    for (const key of keys) expect(await fileStore(store.directory).get(key)).toBe(`\0 ${key}\ufffd`);
    expect((await readdir(store.directory)).filter((name) => !/^[a-z0-9_%-]+$/.test(name))).toEqual([]);
  });

  it('does not grow with the number of writes', async () => {
    const store = fileStore(directory);
    for (let count = 0; count < 400; count++) {
      const was = count === 0 ? null : String(count - 1);
      expect(await store.set('run', String(count), { was })).toBe(true);
    }
    const names = await readdir(join(directory, 'run'), { recursive: true });
    expect(names.filter((name) => name.endsWith('/text')).length).toBeLessThan(12);
    const numbers = names.filter((name) => !name.includes('/'));
    expect(numbers.length).toBeLessThan(260);
    // No directory is empty, because another directory could be renamed to an empty directory.
    expect(numbers.filter((number) => !names.some((name) => name.startsWith(`${number}/`)))).toEqual([]);
  });

  it.each<[string, (string | null)[]]>([
    ['by one text', ['1']],
    ['by more than there are traces of', Array.from({ length: 300 }, (_, at) => String(at))],
    ['by the same, in the end', [...Array.from({ length: 30 }, (_, at) => String(at)), null, 'x', 'y']],
  ])('rejects outdated writes %s', async (_, texts) => {
    const store = fileStore(directory);
    await store.set('run', 'x', { was: null });
    const writing = Promise.withResolvers<void>();
    const overtaken = Promise.withResolvers<void>();
    async function* slow() {
      yield 'late';
      writing.resolve();
      await overtaken.promise;
    }
    const late = store.set('run', slow() as unknown as string, { was: 'x' });
    await writing.promise;
    let was: string | null = 'x';
    for (const text of texts) {
      expect(await fileStore(directory).set('run', text, { was })).toBe(true);
      was = text;
    }
    overtaken.resolve();
    expect([await late, await store.get('run')]).toEqual([false, was]);
  });

  it('removes leftovers of a killed server', async () => {
    const store = fileStore(directory);
    await mkdir(join(directory, 'run.0123456789abcdef/0'), { recursive: true });
    await store.set('run', '0', { was: null });
    await mkdir(join(directory, 'run/1/0123456789abcdef'));
    await mkdir(join(directory, 'run/old-0123456789abcdef/0123456789abcdef'), { recursive: true });
    for (let count = 0; count < 12; count++) {
      await store.set('run', String(count + 1), { was: String(count) });
    }
    expect(await readdir(directory)).toEqual(['run']);
    const left = await readdir(directory, { recursive: true });
    expect(left.filter((name) => name.includes('0123456789abcdef'))).toEqual([]);
    expect(await readFile(join(directory, 'run/13/text'), 'utf8')).toBe('12');
  });
});

it('servers that share a directory may be killed or stopped at any moment', async () => {
  const store = fileStore(directory);
  const steady = hammer('steady', 80);
  const stopped = hammer('stopped', 30);
  const totals = new Map<string, number>();
  for (let round = 0; round < 12; round++) {
    const name = `killed${round}`;
    const victim = hammer(name, 1_000_000);
    await new Promise((resolve) => victim.stdout.once('data', resolve));
    await sleep(Math.random() * 30);
    // This server is stopped in the middle of an action, and continues when everything has changed.
    stopped.kill(round % 2 === 0 ? 'SIGSTOP' : 'SIGCONT');
    victim.kill('SIGKILL');
    totals.set(name, successes((await victim).stdout));
    const was = await store.get('key');
    read(was);
  }
  stopped.kill('SIGCONT');
  expect([(await steady).stderr, (await stopped).stderr]).toEqual(['', '']);
  const counts = read(await store.get('key'));
  expect([counts.steady, counts.stopped]).toEqual([80, 30]);
  for (const [name, count] of totals) {
    // The server may have been killed after it set the text, before it printed the line.
    expect([count, count + 1]).toContain(counts[name]);
  }
});
