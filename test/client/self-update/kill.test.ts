import { link, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { text } from '../../feed/forge.ts';
import { clientOf, type Rig, sha256, startRig, workerAsset, workerOf } from './rig.ts';

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
const next = workerOf('v1.5.0');
const args = () => ['--program', rig.worker, '--', rig.worker, 'restart'];
const killAt = (step: number) => ({
  NODE_OPTIONS: `--import=${new URL('kill-at-step.mjs', import.meta.url)}`,
  KILL_AT: String(step),
});

/** What lies beside the programs, but for the lock, which whoever is killed leaves to the next one. */
const namesBeside = async () =>
  (await rig.names()).filter((name) => !/^(?:svc(?:-worker|\.mjs)|\.svc-updating-.*)$/.test(name));

describe('an update that is killed', () => {
  it.each([
    ['half of the sums has come', 'SHA256SUMS', []],
    ['half of the new file has come', workerAsset, ['half']],
    ['the new file says its version', '--version', ['half']],
  ])('while %s leaves the old file, whole, and the next one ends it', async (_, moment, left) => {
    const isMet = join(rig.directory, 'met');
    const kill = `[ "$1" = ${moment} ] && [ ! -e '${isMet}' ] && touch '${isMet}' && kill -KILL $PPID`;
    const program = workerOf('v1.5.0').replace('\n', `\n${kill}\n`);
    const files = { [workerAsset]: program, SHA256SUMS: `${sha256(program)}  ${workerAsset}\n` };
    const writtenSize = async () => {
      const name = (await rig.names()).find((name) => name.startsWith('.svc-update-'));
      return name === undefined ? 0 : (await stat(join(rig.bin, name))).size;
    };
    const path = rig.forge.fileAt('v1.5.0', moment);
    rig.publish('v1.5.0', { [workerAsset]: program });
    rig.forge.host(path, async (_, response) => {
      const half = Math.floor((files[moment]?.length ?? 0) / 2);
      response.write(files[moment]?.slice(0, half));
      if (moment === workerAsset) await expect.poll(writtenSize).toBe(half);
      running.kill('SIGKILL');
      response.destroy();
    });
    const running = rig.start(args());
    expect(await running).toMatchObject({ signal: 'SIGKILL' });
    expect(await rig.read(rig.worker)).toBe(before);
    expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
    expect((await namesBeside()).map((name) => name.replace(/^\.svc-update-.*/, 'half'))).toEqual(left);

    rig.forge.host(path, text(200, files[moment] ?? '', { 'content-type': 'application/octet-stream' }));
    expect(await rig.run(args())).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await rig.read(rig.worker)).toBe(program);
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });

  it('right before any of its steps is ended by the next one', async () => {
    rig.publish('v1.5.0', { [workerAsset]: next });
    const states: string[] = [];
    for (let step = 0; ; step++) {
      await writeFile(rig.worker, before);
      const { exitCode, signal } = await rig.run(args(), killAt(step));
      const found = await readFile(rig.worker, 'utf8');
      expect([before, next]).toContain(found);
      expect((await stat(rig.worker)).mode & 0o7777).toBe(0o750);
      const beside = await namesBeside();
      states.push(
        [
          found === next ? 'new' : 'old',
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
    // Two runs for each step of an update: what they take together is no measure of anything.
  }, 600_000);

  it('before its command had ended has the next one run it, though nothing is newer', async () => {
    const started = join(rig.directory, 'started');
    rig.publish('v1.5.0', {
      [workerAsset]: workerOf('v1.5.0', `[ -e '${started}' ] || { touch '${started}'; kill -KILL $PPID; }`),
    });
    expect(await rig.run(args())).toMatchObject({ signal: 'SIGKILL' });
    expect(await namesBeside()).toEqual(['svc-worker.svc-old']);

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
