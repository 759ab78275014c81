import { link, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../../feed/forge.ts';
import { clientOf, type Rig, startRig, workerAsset, workerOf } from './rig.ts';

let client = '';
let rig: Rig;

beforeAll(async () => {
  client = await clientOf('v1.4.2');
});
beforeEach(async () => {
  rig = await startRig(client);
});
afterEach(() => rig.close());

const before = workerOf('v1.4.2');
const next = workerOf('v1.5.0', '[ "$1" = restart ] && sleep 0.05');
const args = () => ['--program', rig.worker, '--', rig.worker, 'restart'];
const killAt = (step: number) => ({
  NODE_OPTIONS: `--import=${new URL('kill-at-step.mjs', import.meta.url)}`,
  KILL_AT: String(step),
});
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** In four pieces, so that a kill meets a download. */
const slowly: Reply = async (_, response) => {
  const quarter = Math.ceil(next.length / 4);
  for (let at = 0; at < next.length; at += quarter) {
    response.write(next.slice(at, at + quarter));
    await pause(8);
  }
  response.end();
};

describe('an update that is killed', () => {
  it('at any moment leaves the old file or the new one, whole, and the next one ends it', {
    timeout: 120_000,
  }, async () => {
    rig.publish('v1.5.0', { [workerAsset]: next }, { [workerAsset]: slowly });
    const began = performance.now();
    await rig.start(args());
    const whole = performance.now() - began;
    await writeFile(rig.worker, before);
    const seen = new Map<string, number>();
    /** More of them: `KILLS=300 npx vitest run --project unit test/client/self-update/kill.test.ts`. */
    const tries = Number(process.env.KILLS ?? 8);
    for (let n = 0; n < tries; n++) {
      const running = rig.start(args());
      // Most of the time goes by before the first byte comes: it is skipped, but once, as a machine that has become
      // quicker since would meet the end alone.
      await pause(whole * (n === 0 ? 0.2 : 0.4 + (0.7 * (n + Math.random())) / tries));
      running.kill('SIGKILL');
      await running;
      const text = await readFile(rig.worker, 'utf8');
      expect([before, next]).toContain(text);
      const { mode } = await stat(rig.worker);
      expect(mode & 0o7777).toBe(0o750);
      const { stdout } = await execa(rig.worker, ['--version']);
      const beside = (await rig.names()).map((name) => name.replace(/\.svc-update-.*/, '.new'));
      const state = `${stdout} ${beside.filter((name) => !/^svc(-worker|\.mjs)$/.test(name)).join(' ')}`;
      seen.set(state, (seen.get(state) ?? 0) + 1);
      // It begins anew from there; what was left half done stays for the next one.
      if (text === next && beside.length === 2) await writeFile(rig.worker, before);
      if (beside.includes('svc-worker.svc-old')) {
        expect(await readFile(`${rig.worker}.svc-old`, 'utf8')).toBe(before);
        const { exitCode, stdout: told } = await rig.run(args());
        expect([exitCode, told.split('\n').at(-1)]).toEqual([
          0,
          expect.stringContaining('✓ svc-worker v1.5.0 is in place'),
        ]);
        expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
        await writeFile(rig.worker, before);
      }
    }
    expect(await rig.run(args())).toMatchObject({ exitCode: 0 });
    expect(await rig.read(rig.worker)).toBe(next);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
    // The kills have met more than one moment.
    expect(seen.size, JSON.stringify([...seen])).toBeGreaterThan(1);
  });

  it('right before any of its steps is ended by the next one', { timeout: 120_000 }, async () => {
    rig.publish('v1.5.0', { [workerAsset]: next });
    const states: string[] = [];
    for (let step = 0; ; step++) {
      await writeFile(rig.worker, before);
      const { exitCode, signal } = await rig.run(args(), killAt(step));
      const text = await readFile(rig.worker, 'utf8');
      expect([before, next]).toContain(text);
      expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
      const beside = (await rig.names()).filter((name) => !/^svc(-worker|\.mjs)$/.test(name));
      states.push(
        [
          text === next ? 'new' : 'old',
          ...beside.map((name) => name.replace(/\.svc-update-.*/, 'half')),
        ].join(),
      );
      if (exitCode === 0) break;
      expect(signal).toBe('SIGKILL');
      const after = await rig.run(args());
      expect(after).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await rig.read(rig.worker)).toBe(next);
      expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
    }
    expect(states.filter((state, at) => state !== states[at - 1])).toEqual([
      'old',
      'old,half',
      'old,half,svc-worker.svc-old',
      'new,svc-worker.svc-old',
      'new',
    ]);
  });

  it('before its command had ended has the next one run it, though nothing is newer', async () => {
    const started = join(rig.directory, 'started');
    rig.publish('v1.5.0', {
      [workerAsset]: workerOf('v1.5.0', `echo x >> '${started}'; [ $(wc -l < '${started}') = 2 ] || sleep 1`),
    });
    const running = rig.start(args());
    await expect.poll(() => stat(started).catch(() => null), { timeout: 10_000 }).not.toBeNull();
    running.kill('SIGKILL');
    await running;
    expect(await rig.names()).toEqual(['svc-worker', 'svc-worker.svc-old', 'svc.mjs']);

    const { exitCode, stdout } = await rig.run(args());
    expect(stdout.split('\n')).toEqual([
      'An earlier update to svc-worker v1.5.0 was ended before its command had.',
      'Running: DIR/bin/svc-worker restart',
      '✓ svc-worker v1.5.0 is in place, and its command ended with exit code 0.',
    ]);
    expect(exitCode).toBe(0);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('before its command had ended still has the old file to come back', async () => {
    await writeFile(`${rig.worker}.svc-old`, before, { mode: 0o750 });
    await writeFile(rig.worker, workerOf('v1.5.0', 'exit 9'));
    rig.publish('v1.5.0', { [workerAsset]: next });
    const { exitCode, stderr } = await rig.run(args());
    expect(stderr).toContain('v1.5.0 was taken back: its command ended with exit code 9.');
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(before);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('keeps the file that was known to work when a newer one comes meanwhile', async () => {
    await writeFile(`${rig.worker}.svc-old`, before, { mode: 0o750 });
    await writeFile(rig.worker, workerOf('v1.5.0', 'exit 9'));
    rig.publish('v1.6.0', { [workerAsset]: workerOf('v1.6.0', 'exit 8') });
    const { exitCode, stderr } = await rig.run(args());
    expect(stderr).toContain('v1.6.0 was taken back: its command ended with exit code 8.');
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(before);
  });

  it('between the second name and the replacement leaves nothing to be put back', async () => {
    await link(rig.worker, `${rig.worker}.svc-old`);
    await writeFile(join(rig.bin, '.svc-update-1-abc-svc-worker'), 'half');
    await writeFile(join(rig.bin, '.svc-update-1-abc-another'), 'half');
    rig.publish('v1.4.2', { [workerAsset]: before });
    expect(await rig.run(args())).toMatchObject({
      exitCode: 0,
      stdout: 'svc-worker v1.4.2 is the newest on stable.',
    });
    // That of another program is not this one's to remove.
    expect((await readdir(rig.bin)).sort()).toEqual(['.svc-update-1-abc-another', 'svc-worker', 'svc.mjs']);
  });
});
