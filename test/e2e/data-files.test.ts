import { randomBytes } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { files } from '../../src/agent/data/files.ts';
import { Engine } from '../../src/engine/cli/engine.ts';
import { Cancelled } from '../../src/progress/stops.ts';
import { docker, judged, makeTree, type Stage, sh, spoil, stage } from './support/file-stage.ts';

// What an app has mounted is kept, and put back exactly.

test('a tree with all that there is comes back as it was, and what took its place, too', {
  timeout: 600_000,
}, async () => {
  const { directory, work, place, run } = await stage();
  const [data, one] = [join(directory, 'data'), join(directory, 'app.db')];
  await mkdir(data);
  await makeTree(data);
  await writeFile(one, randomBytes(300_000));
  await sh('setfattr -n user.one -v 1 "$1"; chown 12:13 "$1"; chmod 640 "$1"', one);
  const volume = `${work.project}_uploads`;
  const app = await run('app', [
    '-v',
    `${data}:/data`,
    '-v',
    `${data}/plain:/data/plain`,
    '-v',
    `${one}:/app.db`,
    '-v',
    `${volume}:/uploads`,
  ]);
  const inVolume = await docker('volume', 'inspect', '--format', '{{.Mountpoint}}', volume);
  await makeTree(inVolume);
  const all = async () => (await Promise.all([data, one, inVolume].map(judged))).join('\n\n');
  const before = await all();

  const survey = await files.survey(['app'], place, work);
  expect(survey.refusals).toEqual([]);
  expect(files.isSource(JSON.parse(JSON.stringify(survey.source)))).toBe(true);
  expect(survey.source.mounts.map(({ where, isFile }) => [where, isFile])).toEqual([
    ['app:/app.db', true],
    ['app:/data', false],
    ['app:/uploads', false],
  ]);
  await expect(files.close(survey.source, work)).rejects.toMatchObject({ code: 'data-busy' });
  await docker('stop', app);
  await files.close(survey.source, work);
  const part = await files.save(survey.source, place, work);
  expect(await all()).toBe(before);
  expect(files.isPart(JSON.parse(JSON.stringify(part)))).toBe(true);
  await files.check(survey.source, part, place, work);
  expect(await files.compare(survey.source, part, place, work)).toEqual({ rows: null, things: 0, words: [] });

  await Promise.all([data, inVolume].map(spoil));
  await sh('echo new >"$1"; chown 1:1 "$1"; chmod 666 "$1"', one);
  const spoilt = await all();
  const difference = await files.compare(survey.source, part, place, work);
  expect(difference.words).toHaveLength(3);
  expect(await all()).toBe(spoilt);
  const kept = await files.keep(
    survey.source,
    { ...place, here: await other(directory), host: await other(directory) },
    work,
  );
  await files.restore(survey.source, part, kept, place, work);
  expect(await all()).toBe(before);
  expect(await files.compare(survey.source, part, place, work)).toMatchObject({ things: 0 });

  await Promise.all([data, inVolume].map(spoil));
  await files.restore(
    survey.source,
    kept,
    part,
    { ...place, here: await other(directory), host: await other(directory) },
    work,
  );
  expect(await all()).toBe(spoilt);
});

/** Kills, at that moment, the container that reads or writes files, as the engine's end or somebody would. */
async function killTools({ work }: Stage, afterMs: number): Promise<boolean> {
  const made = ['ps', '-q', '--filter', `label=svc-updater.scratch=${work.project}`];
  let id = '';
  for (let tries = 0; id === '' && tries < 200; tries++) id = await docker(...made);
  await sleep(afterMs);
  const killed = await execa('docker', ['kill', id], { reject: false });
  return killed.exitCode === 0;
}

test('killed at any moment and begun again, keeping and putting back end exactly', {
  timeout: 900_000,
}, async () => {
  const here = await stage();
  const { directory, work, place, run } = here;
  const data = join(directory, 'data');
  await mkdir(data);
  await makeTree(data);
  await sh(
    'cd "$1"; dd if=/dev/urandom of=large bs=1M count=60 status=none; for d in {1..40}; do mkdir many/$d; for f in {1..100}; do echo $f >many/$d/$f; done; done',
    data,
  );
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  const before = await judged(data);
  const { source } = await files.survey(['app'], place, work);
  await files.close(source, work);
  /** Begun again by another process, as it were, while the killed one's container may still be there. */
  const again = async <T>(call: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await call();
    const took = performance.now() - began;
    // A kill that comes after the end is none.
    for (let round = 0, killed = 0; killed < 4; round++) {
      const first = call().then(
        () => 'done',
        (error) => error.code,
      );
      if (await killTools(here, (took * (round % 4)) / 5)) killed++;
      expect(['done', 'engine-away']).toContain(await first);
    }
    return (await call()) ?? result;
  };
  const part = await again(() => files.save(source, place, work));
  expect(await judged(data)).toBe(before);
  await files.check(source, part, place, work);
  await spoil(data);
  const kept = { archives: [] };
  await again(() => files.restore(source, part, kept, place, work));
  expect(await judged(data)).toBe(before);
});

test('a cancelled run leaves nothing running', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(data);
  await sh('dd if=/dev/urandom of="$1/large" bs=1M count=300 status=none', data);
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  const { source } = await files.survey(['app'], place, work);
  const cancel = new AbortController();
  const engine = new Engine(work.engine.address, { home: '/', signal: cancel.signal });
  const saving = files.save(source, place, { ...work, engine, onProgress: () => cancel.abort() });
  await expect(saving).rejects.toBeInstanceOf(Cancelled);
  expect(await docker('ps', '-aq', '--filter', `label=svc-updater.scratch=${work.project}`)).toBe('');
});

test('a disk that is full is told of, and what was half kept is taken away', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(data);
  await sh('dd if=/dev/urandom of="$1/large" bs=1M count=8 status=none', data);
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  await sh('mount -t tmpfs -o size=4m,mode=700 tmpfs "$1"', place.here);
  onTestFinished(async () => {
    await sh('umount "$1"', place.here);
  });
  const { source, rooms, bytes } = await files.survey(['app'], place, work);
  expect(rooms[0]?.free).toBeLessThan(bytes);
  await expect(files.save(source, place, work)).rejects.toMatchObject({ code: 'no-space' });
  await files.discard(source, null, place, work);
  expect(await readdir(place.here)).toEqual([]);
});

test('an app works on while its data are looked at', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(data);
  await sh('mkdir "$1/kept"; for n in {1..2000}; do : >"$1/kept/$n"; done', data);
  const works = 'while :; do cp -r /data/kept /data/passing; rm -r /data/passing; done';
  await run('app', ['-v', `${data}:/data`, '--entrypoint', '/bin/sh'], ['-c', works]);
  await expect.poll(() => readdir(data)).toContain('passing');
  for (let looks = 0; looks < 10; looks++) {
    const { source } = await files.survey(['app'], place, work);
    expect(source.mounts).toHaveLength(1);
  }
});

test('a database of SQLite comes back with what stands only in its log', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(data);
  const open = () => new DatabaseSync(join(data, 'app.db'));
  const rows = () => {
    const database = open();
    const { n } = database.prepare('SELECT count(*) AS n FROM t').get() as { n: number };
    database.close();
    return n;
  };
  const writer = open();
  writer.exec(
    'PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)',
  );
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  const { source } = await files.survey(['app'], place, work);
  await files.close(source, work);
  const part = await files.save(source, place, work);
  writer.exec('DROP TABLE t');
  writer.close();
  await files.restore(source, part, { archives: [] }, place, work);
  expect(rows()).toBe(2);
});

test('who may write into the same files is named', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(join(data, 'in'), { recursive: true });
  await docker('stop', await run('app', ['-v', `${data}:/data`, '--tmpfs', '/state', '--tmpfs', '/tmp']));
  await run('worker', ['-v', `${data}/in:/in`]);
  await run('cache', ['-v', `${data}/in:/in:ro`]);
  const backup = await run('backup', ['-v', `${directory}:/all`]);
  const name = (await docker('inspect', '--format', '{{.Name}}', backup)).slice(1);
  const { refusals, source } = await files.survey(['app', 'backup'], place, work);
  expect(refusals.map((sentence) => sentence.split(':')[0])).toEqual([
    'backup is not stopped for the update, and may write its files meanwhile',
    'backup',
    'app',
    `container ${name} has app`,
  ]);
  await expect(files.close(source, work)).rejects.toMatchObject({ code: 'data-busy' });
});

test('what was changed on the disk is not put back', async () => {
  const { directory, work, place, run } = await stage();
  const data = join(directory, 'data');
  await mkdir(data);
  await writeFile(join(data, 'file'), 'text');
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  const { source } = await files.survey(['app'], place, work);
  const part = await files.save(source, place, work);
  await sh('printf T | dd of="$1" bs=1 seek=1024 conv=notrunc status=none', join(place.here, 'files-0.tar'));
  await expect(files.check(source, part, place, work)).rejects.toMatchObject({ code: 'point-damaged' });
  await expect(files.restore(source, part, part, place, work)).rejects.toMatchObject({
    code: 'data-not-back',
  });
  await files.discard(source, part, place, work);
  await expect(files.check(source, part, place, work)).rejects.toMatchObject({ code: 'point-damaged' });
});

const other = async (directory: string) => {
  await mkdir(join(directory, 'other'), { mode: 0o700, recursive: true });
  return join(directory, 'other');
};
