import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { takeLock } from '../../../src/client/self-update/lock.ts';

let directory: string;
let file: string;
let lock: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-lock-'));
  file = join(directory, 'svc.mjs');
  lock = join(directory, '.svc-updating-svc.mjs');
  await writeFile(file, '');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const boot = async () => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
const startOf = async (pid: number) =>
  (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[19];
/** The lock as a process has left it. */
async function leave(marks: string): Promise<void> {
  await mkdir(lock);
  await writeFile(join(lock, marks), '');
}

it('is one name beside the file, and nothing is left of it', async () => {
  const held = await takeLock(file);
  expect(held.isHeld).toBe(true);
  expect(await readdir(directory)).toEqual([basename(lock), 'svc.mjs']);
  await held.release();
  expect(await readdir(directory)).toEqual(['svc.mjs']);
});

it('is in the way of nobody who holds a socket of the kernel: anybody can', async () => {
  const { dev, ino } = await stat(dirname(file));
  const name = createHash('sha256')
    .update(`${dev}:${ino}/${basename(file)}`)
    .digest('hex')
    .slice(0, 40);
  const server = createServer().listen(`\0svc-update-${name}`);
  await once(server, 'listening');
  await (await takeLock(file)).release();
  server.close();
});

it('holds as long as its process runs, and no longer', async () => {
  const other = execa('sleep', ['60'], { reject: false });
  await leave(`${other.pid}-${await startOf(other.pid ?? 0)}-${await boot()}`);
  await expect(takeLock(file)).rejects.toThrow('is being replaced by another svc update');
  expect(await readdir(directory)).toEqual([basename(lock), 'svc.mjs']);
  other.kill('SIGKILL');
  await other;
  await (await takeLock(file)).release();
  expect(await readdir(directory)).toEqual(['svc.mjs']);
});

it.each<[string, () => Promise<string>]>([
  ['another process by now', async () => `${process.pid}-1-${await boot()}`],
  ['of another start of the machine', async () => `${process.pid}-${await startOf(process.pid)}-0000`],
  ['nothing', async () => 'x'],
])('is taken over where what holds it is %s', async (_, marks) => {
  await leave(await marks());
  await mkdir(`${lock}.999999999-1-${await boot()}`);
  await (await takeLock(file)).release();
  expect(await readdir(directory)).toEqual(['svc.mjs']);
});

it('is taken over where its process was killed before it had written its name, or when it let go', async () => {
  await mkdir(lock);
  await (await takeLock(file)).release();
  expect(await readdir(directory)).toEqual(['svc.mjs']);
});

it('is one process alone, of all that find what another has left', async () => {
  const module = fileURLToPath(new URL('../../../src/client/self-update/lock.ts', import.meta.url));
  const text = `
    const { takeLock } = await import(${JSON.stringify(module)});
    process.stdin.once('data', () => takeLock(${JSON.stringify(file)}).then(() => 'held', () => 'refused').then(console.log));
    process.stdin.once('end', () => process.exit());
    console.log('ready');`;
  const all = Array.from({ length: 6 }, () =>
    execa(process.execPath, ['--input-type=module', '-e', text], { reject: false }),
  );
  const lines = all.map((one) => one.iterable());
  const next = async () => (await Promise.all(lines.map((one) => one.next()))).map(({ value }) => value);
  await leave(`999999999-1-${await boot()}`);
  expect(new Set(await next())).toEqual(new Set(['ready']));
  for (const one of all) one.stdin?.write('go\n');
  expect((await next()).sort()).toEqual(['held', ...Array(5).fill('refused')]);
  for (const one of all) one.stdin?.end();
  await Promise.all(all);
});
