import { truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PieceSize } from '../../src/client/send/piece-size.ts';
import { publisher } from '../provenance/sign.ts';
import { ArchiveRig, archiveFile } from './archive-rig.ts';
import { play, svc, type Typing } from './rig.ts';

let rig: ArchiveRig;
beforeEach(async () => {
  rig = await ArchiveRig.start();
});
afterEach(() => rig.close());

const update = (path: string, more = '', typing?: Typing) =>
  svc(rig.url, `instance update --from ${path} ${more}`, typing);
const commandOfUpdater = () => rig.engine.updater.spec.Cmd?.join(' ') ?? '';
const noUpdater = () => expect(() => rig.engine.updater).toThrow();
/** What comes beside the archive: headers, and questions. */
const little = 300_000;

describe('svc instance update --from', () => {
  it('sends the file, starts the update to what is in it, and follows that', async () => {
    const { path, size } = archiveFile();
    const { out, err, exitCode } = await update(path);
    expect([exitCode, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^Sending svc-v1\.5\.0-linux-amd64\.tar {2}6\.0 of 6\.0 MB, 100 %, [\d.]+ MB\/s {2}\d+ s\nUpdating svc v1\.4\.2 → v1\.5\.0\n/,
    );
    expect(commandOfUpdater()).toMatch(
      /^update --target v1\.5\.0 --expect .* --from \/run\/svc-updater\/archive\.tar /,
    );
    expect(rig.sent).toBeGreaterThan(size);
  });

  it('goes on where the line broke, again and again', async () => {
    const { path } = archiveFile();
    rig.breaks = [1_500_000, 2_300_000, 2_900_000].map((at) => ({ at, do: () => rig.cut() }));
    const { err, exitCode } = await update(path, '--no-follow');
    expect([exitCode, rig.breaks]).toEqual([0, []]);
    expect(err.trim().split('\n')).toEqual(
      Array(3).fill(expect.stringMatching(/closed the connection.* MB are there; it goes on in \d s\.$/)),
    );
    expect(rig.offsets.filter((offset) => offset === 0)).toHaveLength(1);
    expect(rig.offsets).toEqual(rig.offsets.toSorted((a, b) => a - b));
  });

  it('goes on at a server that began anew', async () => {
    const { path } = archiveFile();
    rig.breaks = [{ at: 3_000_000, do: () => rig.stop().then(() => rig.serve()) }];
    const { err, exitCode } = await update(path, '--no-follow');
    expect([exitCode, rig.breaks]).toEqual([0, []]);
    expect(err).toMatch(/^http\S+ (?:closed the connection|.*connection refused).* it goes on in 1 s\.\n/);
    expect(rig.offsets.filter((offset) => offset === 0)).toHaveLength(1);
    expect(rig.offsets).toEqual(rig.offsets.toSorted((a, b) => a - b));
  });

  it('begins again where another server answers, which has nothing of it', async () => {
    const { path } = archiveFile();
    let isOther = true;
    rig.before = ({ method }, response) => {
      if (method !== 'PUT' || !isOther) return false;
      isOther = false;
      const body = JSON.stringify({ status: 404, detail: 'Nothing of that archive is here: begin again.' });
      response.writeHead(404, { 'Content-Type': 'application/problem+json' }).end(body);
      return true;
    };
    const { err, exitCode } = await update(path, '--no-follow');
    expect([exitCode, err]).toEqual([0, expect.stringContaining('begin again.')]);
  });

  it('is typed again after Ctrl-C, and goes on where it was', async () => {
    const { path, size } = archiveFile();
    const { promise, resolve } = Promise.withResolvers<void>();
    // The server is silent from here on, so that it is still sending.
    rig.before = ({ url = '' }) => {
      const isLater = Number(new URL(url, 'http://x').searchParams.get('offset')) >= 3_000_000;
      if (isLater) resolve();
      return isLater;
    };
    const first = await update(path, '', { interruptAfter: promise });
    expect([first.exitCode, first.err]).toEqual([
      130,
      `3.1 of 6.0 MB are there. Go on: svc instance update --from ${path}\n`,
    ]);
    noUpdater();
    rig.before = () => false;
    rig.sent = 0;
    expect((await update(path, '--no-follow')).exitCode).toBe(0);
    expect(rig.sent).toBeLessThan(size - 3_000_000 + little);
  });

  it('sends smaller pieces where a proxy takes no larger ones', async () => {
    const { path } = archiveFile();
    const limit = 200_000;
    let refused = 0;
    rig.before = (request, response) => {
      if (Number(request.headers['content-length'] ?? 0) <= limit) return false;
      refused += 1;
      request.resume();
      response.writeHead(413, { 'Content-Type': 'text/html' }).end('<h1>413</h1>');
      return true;
    };
    const { err, exitCode } = await update(path, '--no-follow');
    expect([exitCode, err]).toEqual([0, '']);
    expect(refused).toBe(3);
  });

  it('is told as soon as the first bytes are there that somebody else has signed it', async () => {
    const { path } = archiveFile('v1.5.0', publisher());
    const { out, exitCode } = await update(path);
    expect([exitCode, out]).toEqual([
      3,
      expect.stringMatching(
        /^It cannot be updated now: the archive is not proven: it is signed by none of the keys that are trusted\.\n$/,
      ),
    ]);
    expect(rig.sent).toBeLessThan(1_048_576 + little);
    noUpdater();
  });

  it('is told what is older, and sends nothing of what runs already', async () => {
    const older = await update(archiveFile('v1.4.1').path);
    expect([older.exitCode, older.out]).toEqual([
      3,
      'v1.4.1 is older than v1.4.2, which runs: there is no downgrade.\n',
    ]);
    rig.sent = 0;
    const same = await update(archiveFile('v1.4.2').path);
    expect([same.exitCode, same.out]).toEqual([0, 'svc v1.4.2 runs already.\n']);
    expect(rig.sent).toBeLessThan(little);
  });

  it('asks before it sends where a major version is in the file', async () => {
    const { err, exitCode } = await update(archiveFile('v2.0.0').path);
    expect([exitCode, err]).toEqual([2, expect.stringContaining('v2.0.0 is a major version')]);
    expect(rig.sent).toBeLessThan(little);
    const launched = rig.engine.nextStart();
    expect((await update(archiveFile('v2.0.0').path, '--yes --no-follow')).exitCode).toBe(0);
    await launched;
    expect(commandOfUpdater()).toContain('--target v2.0.0 ');
  });

  it('tells programs events alone', async () => {
    const { out, err, exitCode } = await update(archiveFile().path, '--json');
    expect([exitCode, err]).toEqual([0, expect.stringMatching(/^Sending .* 100 %/)]);
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(new Set(events)).toEqual(new Set(['run', 'line']));
  });

  it('gives up where nothing more comes through for so long', async () => {
    const { path } = archiveFile();
    rig.before = ({ method }, response) => {
      if (method === 'PUT') response.writeHead(502, { 'Content-Type': 'text/html' }).end('Bad Gateway');
      return method === 'PUT';
    };
    const { err, exitCode } = await update(path, '--timeout 2');
    expect(exitCode).toBe(1);
    const [again, ...rest] = err.trim().split('\n');
    expect(again).toMatch(/ 0\.0 of 6\.0 MB are there; it goes on in 1 s\.$/);
    expect(rest.at(-1)).toMatch(/ 0\.0 of 6\.0 MB are there\. Go on: svc instance update --from /);
    noUpdater();
  });

  it('says where no archives are taken', async () => {
    const { path } = archiveFile();
    const { url } = await play();
    const none = await svc(url, `instance update --from ${path}`);
    expect([none.exitCode, none.out]).toEqual([
      3,
      'It cannot be updated now: the platform takes no archives.\n',
    ]);
    rig.before = ({ url: asked = '' }, response) => {
      if (!asked.endsWith('/archive')) return false;
      response.writeHead(404, { 'Content-Type': 'application/problem+json' }).end('{"status":404}');
      return true;
    };
    const older = await update(path);
    expect([older.exitCode, older.err]).toEqual([3, 'This svc takes no archives; a newer version can.\n']);
  });

  it.each([
    ['is not there', () => '/no/such.tar', /^\/no\/such\.tar cannot be read: ENOENT/],
    [
      'was cut',
      () => {
        const { path, size } = archiveFile();
        truncateSync(path, size - 512);
        return path;
      },
      /is no archive of a release: it was cut off: its end is missing\n$/,
    ],
    [
      'is something else',
      () => {
        const { path } = archiveFile();
        writeFileSync(path, 'x'.repeat(2_000));
        return path;
      },
      /is no archive of a release: /,
    ],
  ])('sends nothing of a file that %s', async (_, make, said) => {
    const { err, exitCode } = await update(make());
    expect([exitCode, err]).toEqual([2, expect.stringMatching(said)]);
    expect(rig.sent).toBe(0);
  });

  it.each(['--target v1.5.0', '--through'])('goes nowhere else: %s', async (words) => {
    const { err, exitCode } = await update(archiveFile().path, words);
    expect([exitCode, err]).toEqual([2, expect.stringContaining('--from goes to the release in the file')]);
  });
});

describe('the size of a piece', () => {
  it('is what the line takes in a few seconds', () => {
    const size = new PieceSize();
    const after = (ms: number) => {
      size.came(ms);
      return size.bytes / 1024;
    };
    expect([100, 100, 100, 100, 5_000, 16_000].map(after)).toEqual([2048, 4096, 8192, 8192, 8192, 4096]);
    for (let tries = 0; tries < 20; tries++) size.broke();
    expect(size.bytes).toBe(64 * 1024);
  });

  it('is tried again larger once so many have come that it cannot have been too large', () => {
    const size = new PieceSize();
    size.broke();
    const after = [...Array(17)].map(() => {
      size.came(100);
      return size.bytes / 1024;
    });
    expect(after).toEqual([...Array(15).fill(512), 1024, 2048]);
  });

  it('never grows again to what was too large', () => {
    const size = new PieceSize();
    expect(size.tooLarge()).toBe(true);
    for (let pieces = 0; pieces < 20; pieces++) size.came(100);
    expect(size.bytes).toBe(512 * 1024);
    const tries = [...Array(5)].map(() => size.tooLarge());
    expect([tries, size.bytes]).toEqual([[true, true, true, false, false], 64 * 1024]);
  });
});
