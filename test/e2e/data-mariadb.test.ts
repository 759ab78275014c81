import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import type { DataWork, PointPlace } from '../../src/agent/data/kind.ts';
import { mariadb } from '../../src/agent/data/mariadb.ts';
import { Log } from '../../src/agent/log/log.ts';
import { engineFacts } from '../../src/engine/api/query.ts';
import { Engine } from '../../src/engine/cli/engine.ts';
import { badRelease, everything } from '../rig/databases/mariadb-data.ts';
import { MariadbServer } from '../rig/databases/mariadb-server.ts';
import { engineSocket } from '../rig/engine-api.ts';

// Restore points of MariaDB, on a real one. Who judges asks the server by programs of its own.

const lines: string[] = [];
let server: MariadbServer;
let work: DataWork;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), `${inject('host').run}-mariadb-`));
  server = await MariadbServer.start(inject('host').run);
  await server.sql(everything);
  const engine = new Engine(
    { host: `unix://${engineSocket}`, tls: [], configDirectory: directory },
    { home: '/' },
  );
  await engineFacts(engine);
  const log = new Log(({ message }) => lines.push(message));
  work = { engine, log, project: server.name, moved: [], toolsImage: '' };
});

afterAll(async () => {
  await server?.remove();
  await rm(directory, { recursive: true, force: true });
});

async function newPlace(): Promise<PointPlace> {
  const here = await mkdtemp(join(directory, 'point-'));
  return { name: 'p', here, host: here, isElsewhere: false };
}

async function surveyed(place: PointPlace) {
  const { source, refusals, ...rest } = await mariadb.survey(['db'], place, work);
  expect(refusals).toEqual([]);
  expect(mariadb.isSource(JSON.parse(JSON.stringify(source)))).toBe(true);
  return { source, ...rest };
}

async function saved() {
  const place = await newPlace();
  const { source } = await surveyed(place);
  await mariadb.close(source, work);
  const part = await mariadb.save(source, place, work);
  await mariadb.open(source, work);
  return { place, source, part };
}

/** Only what differs: a dump is long. */
async function expectAs(before: string): Promise<void> {
  const [then, now] = [before.split('\n'), (await server.look()).split('\n')];
  const beside = (lines: string[], others: string[]) =>
    lines.filter((line) => !others.includes(line)).map((line) => line.slice(0, 200));
  expect({ gone: beside(then, now), more: beside(now, then), lines: now.length }).toEqual({
    gone: [],
    more: [],
    lines: then.length,
  });
}

test('all of it comes back, forwards and backwards', async () => {
  const before = await server.look();
  const point = await saved();
  await expectAs(before);
  expect(await readdir(point.place.here)).toHaveLength(2);
  for (const name of await readdir(point.place.here)) {
    const file = join(point.place.here, name);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  }
  expect(mariadb.isPart(JSON.parse(JSON.stringify(point.part)))).toBe(true);

  await server.sql(badRelease);
  const bad = await server.look();
  const difference = await mariadb.compare(point.source, point.part, point.place, work);
  expect(difference.words).toContain('added.t: a new table with 1 row');
  expect(difference.words).toContain('svc.parted: the table with 100 rows is gone');
  expect(difference.words.join('\n')).toMatch(/svc\.orders: \d+ rows more/);

  const after = await newPlace();
  await mariadb.close(point.source, work);
  const kept = await mariadb.keep(point.source, after, work);
  await mariadb.restore(point.source, point.part, kept, point.place, work);
  await mariadb.open(point.source, work);
  await expectAs(before);
  expect(await mariadb.compare(point.source, point.part, point.place, work)).toEqual({
    rows: 0,
    things: 0,
    words: [],
  });
  expect((await server.as('svc', 'secret', 'SELECT COUNT(*) FROM svc.people')).stdout).toBe('3001');

  await mariadb.close(point.source, work);
  await mariadb.restore(point.source, kept, point.part, after, work);
  await mariadb.open(point.source, work);
  await expectAs(bad);
  await mariadb.close(point.source, work);
  await mariadb.restore(point.source, point.part, kept, point.place, work);
  await mariadb.open(point.source, work);
  await expectAs(before);
  await mariadb.discard(point.source, kept, after, work);
  expect(await readdir(after.here)).toEqual([]);
});

test('a view whose definer is gone comes back; one that reads nothing is told of', async () => {
  await server.sql(
    "CREATE USER lost@'%'; GRANT SELECT ON svc.* TO lost@'%'; CREATE DATABASE views; USE views;",
  );
  await server.sql(
    "USE views; CREATE DEFINER = lost@'%' VIEW a AS SELECT 1 AS n; CREATE VIEW b AS SELECT n FROM a;",
  );
  onTestFinished(async () => {
    await server.sql('DROP DATABASE IF EXISTS views;');
  });
  await server.sql("DROP USER lost@'%'");
  const before = await server.look();
  const { source, part, place } = await saved();
  await server.sql('DROP DATABASE views');
  await mariadb.close(source, work);
  await mariadb.restore(source, part, part, place, work);
  await mariadb.open(source, work);
  await expectAs(before);

  await server.sql('USE views; CREATE TABLE t (a INT); CREATE VIEW c AS SELECT a FROM t; DROP TABLE t;');
  const { refusals } = await mariadb.survey(['db'], place, work);
  expect(refusals).toEqual([
    'db has a view that reads what is not there: views.c would be lost; mend it or drop it',
  ]);
  await mariadb.close(source, work);
  await mariadb.keep(source, await newPlace(), work);
  await mariadb.restore(source, part, part, place, work);
  await mariadb.open(source, work);
  await expectAs(before);
});

test('nobody is let in while it is closed, and who is in is named, and ended only when asked to', async () => {
  const before = await server.look();
  const place = await newPlace();
  const { source } = await surveyed(place);
  const busy = server.as('svc', 'secret', 'USE svc; LOCK TABLES people WRITE; SELECT SLEEP(60);');
  await expect.poll(() => server.sql('SHOW PROCESSLIST')).toContain('SLEEP');
  const error = await mariadb.close(source, work).catch((cause) => cause);
  expect(error).toMatchObject({
    code: 'data-busy',
    message: 'db has sessions of others: svc from 127.0.0.1, in svc',
  });
  expect((await server.as('svc', 'secret', 'SELECT 1')).stdout).toBe('1');
  await server.sql("XA START 'left'; UPDATE svc.orders SET total = 0; XA END 'left'; XA PREPARE 'left';");
  const { refusals } = await mariadb.survey(['db'], place, work);
  expect(refusals).toEqual(['db has 1 prepared transactions (XA RECOVER), which nobody has ended']);

  await mariadb.evict(source, work);
  expect((await busy).exitCode).not.toBe(0);
  expect(lines).toContain("at db: XA ROLLBACK 'left';");
  expect((await server.as('svc', 'secret', 'SELECT 1')).all).toContain('account is locked');
  await mariadb.open(source, work);
  await expectAs(before);
});

test('closed, it stays so over a restart of the server, and opens as it was', async () => {
  const before = await server.look();
  const { source } = await surveyed(await newPlace());
  await mariadb.close(source, work);
  await server.kill();
  await mariadb.close(source, work);
  expect(await server.sql('SELECT @@GLOBAL.event_scheduler')).toBe('OFF');
  const refused = await server.as('svc', 'secret', 'SELECT 1');
  expect(refused.all).toContain('account is locked');
  await mariadb.open(source, work);
  await mariadb.open(source, work);
  await expectAs(before);
});

test('what was changed or cut off on the disk is told, before anything is dropped', async () => {
  const before = await server.look();
  const { source, part, place } = await saved();
  const file = join(place.here, 'mariadb-db.sql.zst');
  await mariadb.check(source, part, place, work);
  await truncate(file, (await stat(file)).size - 100);
  await expect(mariadb.check(source, part, place, work)).rejects.toMatchObject({ code: 'point-damaged' });
  await mariadb.close(source, work);
  await expect(mariadb.restore(source, part, part, place, work)).rejects.toMatchObject({
    code: 'point-damaged',
  });
  await mariadb.open(source, work);
  await expectAs(before);
});

const rounds = Number(process.env.SVC_TEST_KILLS ?? 1);

test('killed anywhere, and called again: exact', { timeout: 3_600_000 }, async () => {
  // A kill alone has InnoDB forget the numbers that it had put by for AUTO_INCREMENT.
  await server.kill();
  await server.ready();
  const before = await server.look();
  const { source, part, place } = await saved();
  const later = await newPlace();
  await mariadb.close(source, work);
  const steps = {
    save: (each: DataWork) => mariadb.save(source, later, each),
    restore: (each: DataWork) => mariadb.restore(source, part, part, place, each),
  };
  for (let round = 0; round < rounds; round++) {
    for (const [name, step] of Object.entries(steps)) {
      for (const victim of ['server', 'ourselves'] as const) {
        if (name === 'restore') await server.sql(badRelease);
        const beganAt = performance.now();
        await step(work);
        const took = performance.now() - beganAt;
        if (name === 'restore') await server.sql(badRelease);
        const abort = new AbortController();
        const cut = new Engine(work.engine.address, { home: '/', signal: abort.signal });
        await engineFacts(cut);
        const after = randomInt(Math.ceil(took));
        const ended = step({ ...work, engine: cut }).then(
          () => 'well',
          (error) => String(error),
        );
        await sleep(after);
        if (victim === 'server') await server.kill();
        else abort.abort();
        console.log(`${name}: ${victim} killed after ${after} of ${Math.round(took)} ms: ${await ended}`);
        await mariadb.close(source, work);
        await mariadb.evict(source, work);
        const again = await step(work);
        if (name === 'save') expect(again).toEqual(part);
        await mariadb.open(source, work);
        await expectAs(before);
        await mariadb.close(source, work);
      }
    }
  }
  await mariadb.open(source, work);
});

test('no password is in a command, a log or a file that is not the accounts', async () => {
  const { place } = await saved();
  const { stdout } = await execa('zstd', ['-dc', join(place.here, 'mariadb-db.sql.zst')], { reject: false });
  expect(stdout).not.toContain("o't$");
  expect(lines.join('\n')).not.toContain('secret');
});
