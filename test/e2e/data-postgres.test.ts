// Databases on real servers: kept, spoilt by a "new version", and back. The judge is the server's own pg_dump and pg_dumpall.

import { mkdirSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DataWork, PointPlace } from '../../src/agent/data/kind.ts';
import { type PostgresPart, type PostgresSource, postgres } from '../../src/agent/data/postgres.ts';
import { Log } from '../../src/agent/log/log.ts';
import { Engine } from '../../src/engine/cli/engine.ts';
import { type PostgresServer, startPostgres } from '../rig/databases/postgres-server.ts';
import { engineSocket } from '../rig/engine-api.ts';

let server: PostgresServer;
let place: PointPlace;
let lines: string[];

const workOf = (signal?: AbortSignal): DataWork => ({
  engine: new Engine(
    { host: `unix://${engineSocket}`, tls: [], configDirectory: '/nonexistent' },
    { home: '/', ...(signal && { signal }) },
  ),
  log: new Log(({ message }) => lines.push(message)),
  project: server.project,
  moved: ['app', 'worker'],
  toolsImage: '',
});

const odd = `o"d'd $do$ \\ ü a=b`;
const oddName = `"${odd.replaceAll('"', '""')}"`;

const old = `
CREATE ROLE app LOGIN PASSWORD 'first' CONNECTION LIMIT 40;
CREATE ROLE readers NOLOGIN;
CREATE ROLE ${oddName} LOGIN PASSWORD 'it''s' VALID UNTIL '2031-01-01';
CREATE ROLE reporting LOGIN IN ROLE readers;
GRANT readers TO app WITH ADMIN OPTION;
ALTER ROLE app SET work_mem = '7MB';
COMMENT ON ROLE app IS 'of the app';
ALTER DATABASE app OWNER TO app;
REVOKE ALL ON DATABASE app FROM PUBLIC;
GRANT CONNECT ON DATABASE app TO reporting WITH GRANT OPTION;
ALTER DATABASE app CONNECTION LIMIT 50;
ALTER DATABASE app SET timezone = 'Asia/Tokyo';
ALTER ROLE reporting IN DATABASE app SET statement_timeout = '9s';
COMMENT ON DATABASE app IS 'what the app keeps';
CREATE DATABASE ${oddName} OWNER ${oddName};
CREATE EXTENSION pg_trgm;
CREATE SCHEMA "Sales dept" AUTHORIZATION app;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text NOT NULL, price numeric, at timestamptz DEFAULT now(), m mood, f float8, j jsonb, twice int GENERATED ALWAYS AS (length(item) * 2) STORED);
INSERT INTO orders (item, price, m, f, j) SELECT 'item ' || i, i / 7.0, 'ok', sqrt(i), jsonb_build_object('i', i) FROM generate_series(1, 20000) i;
CREATE INDEX ON orders USING gin (item gin_trgm_ops);
CREATE TABLE "Sales dept".${oddName} (t text, "T" int, PRIMARY KEY (t));
INSERT INTO "Sales dept".${oddName} VALUES (E'new\\nline', 1), ('\\', 2), ('\${x} $do$', 3);
CREATE TABLE parts (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (200);
INSERT INTO parts SELECT i, 'v' || i FROM generate_series(0, 199) i;
CREATE MATERIALIZED VIEW totals AS SELECT m, count(*) FROM orders GROUP BY m;
CREATE VIEW cheap AS SELECT * FROM orders WHERE price < 10;
CREATE SEQUENCE numbers START 40;
SELECT nextval('numbers');
CREATE UNLOGGED TABLE passing (x int);
INSERT INTO passing VALUES (1);
CREATE FUNCTION hello() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'hello'; END $$;
CREATE FUNCTION touched() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at = now(); RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touched();
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON orders TO app USING (true);
GRANT SELECT ON orders TO reporting, readers;
ALTER TABLE orders OWNER TO app;
ALTER TABLE parts OWNER TO reporting;
SELECT lo_from_bytea(4711, decode(repeat('cafe', 5000), 'hex'));
GRANT SELECT ON LARGE OBJECT 4711 TO reporting;
`;

/** What a release may do that is not well. */
const bad = `
DROP TABLE "Sales dept".${oddName};
ALTER TABLE orders DROP COLUMN price CASCADE;
DELETE FROM orders WHERE id % 3 = 0;
SELECT setval('numbers', 9000);
SELECT lo_unlink(4711);
REVOKE readers FROM app;
ALTER ROLE app PASSWORD 'second' NOINHERIT;
ALTER ROLE app SET work_mem = '99MB';
ALTER ROLE ${oddName} RENAME TO renamed;
CREATE ROLE reader2 LOGIN PASSWORD 'x' IN ROLE readers;
CREATE ROLE intruder SUPERUSER LOGIN;
REASSIGN OWNED BY reporting TO reader2;
DROP OWNED BY reporting;
DROP ROLE reporting;
CREATE ROLE reporting LOGIN PASSWORD 'another one of that name';
CREATE SCHEMA later AUTHORIZATION reader2;
CREATE TABLE later.t AS SELECT i FROM generate_series(1, 10) i;
CREATE DATABASE brandnew OWNER reader2;
ALTER DATABASE app CONNECTION LIMIT 3;
ALTER DATABASE app SET timezone = 'UTC';
COMMENT ON DATABASE app IS NULL;
GRANT ALL ON DATABASE app TO reader2;
DROP DATABASE ${oddName};
`;

const session = (statement: string) =>
  execa('docker', ['exec', '-i', server.container, 'psql', '-XqAt', '-U', 'boss', '-d', 'app'], {
    input: statement,
    reject: false,
  });

async function keepThem(): Promise<[PostgresSource, PostgresPart]> {
  const { source, refusals } = await postgres.survey(['db'], place, workOf());
  expect(refusals).toEqual([]);
  await postgres.close(source, workOf());
  const part = await postgres.save(source, place, workOf());
  expect(postgres.isSource(source) && postgres.isPart(JSON.parse(JSON.stringify(part)))).toBe(true);
  await postgres.open(source, workOf());
  return [source, part];
}

/** Of another run: a folder of its own. */
const beside = (name: string): PointPlace => {
  const here = join(place.here, name);
  mkdirSync(here, { recursive: true });
  return { ...place, name, here, host: here };
};
const kept = () => beside('kept');

async function goBack(source: PostgresSource, part: PostgresPart): Promise<PostgresPart> {
  await postgres.close(source, workOf());
  await postgres.evict(source, workOf());
  await postgres.check(source, part, place, workOf());
  const present = await postgres.keep(source, kept(), workOf());
  await postgres.restore(source, part, present, place, workOf());
  await postgres.open(source, workOf());
  return present;
}

const own = () => server.sql(`SELECT count(*) FROM pg_database WHERE datname ~ '^svc_'`, 'template1');

beforeEach(async () => {
  lines = [];
  const here = await mkdtemp(join(tmpdir(), 'svct-point-'));
  place = { name: '20261121t104207z', here, host: here, isElsewhere: false };
});
afterEach(() => rm(place.here, { recursive: true, force: true }));

describe.each([15, 17] as const)('PostgreSQL %i', (major) => {
  beforeEach(async () => {
    server = await startPostgres(major);
    await server.sql(old);
  });
  afterEach(() => server.remove());

  it.each([false, true])('is back exactly (elsewhere: %s), and forward again', async (isElsewhere) => {
    place = { ...place, isElsewhere };
    const before = await server.judge();
    const [source, part] = await keepThem();
    expect(await server.judge()).toBe(before);
    for (const file of (await readdir(place.here)).filter((name) => name.includes('.'))) {
      expect((await stat(join(place.here, file))).mode & 0o777).toBe(0o600);
    }
    await server.sql(bad);
    const after = await server.judge();
    expect(after).not.toBe(before);
    const difference = await postgres.compare(source, part, place, workOf());
    expect(difference.words[0]).toMatch(/^app: orders: 6666 rows fewer/);

    const present = await goBack(source, part);
    expect(await server.judge()).toBe(before);

    const again = beside('again');
    await postgres.close(source, workOf());
    await postgres.evict(source, workOf());
    const third = await postgres.keep(source, again, workOf());
    await postgres.restore(source, present, third, kept(), workOf());
    await postgres.open(source, workOf());
    expect(await server.judge()).toBe(after);

    for (const each of [place, kept(), again]) await postgres.discard(source, null, each, workOf());
    expect(await own()).toBe('0');
    expect((await readdir(place.here, { recursive: true })).toSorted()).toEqual(['again', 'kept']);
  });
});

/** Sessions that have got their locks, and sleep. */
const sleepers = () => server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");

describe('sessions of others', () => {
  beforeAll(async () => {
    server = await startPostgres(15);
    await server.sql(old);
  });
  afterAll(() => server.remove());

  it('are named, and nothing stays closed', async () => {
    const { source } = await postgres.survey(['db'], place, workOf());
    const held = session("SET application_name = 'shell'; BEGIN; LOCK TABLE orders; SELECT pg_sleep(60);");
    await expect.poll(sleepers).toBe('1');
    await expect(postgres.close(source, workOf())).rejects.toMatchObject({
      code: 'data-busy',
      message: expect.stringContaining('boss in app from its own container (shell)'),
    });
    expect(await server.sql('SELECT 1')).toBe('1');
    await server.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shell'`,
    );
    await held;
  });

  it('are ended with their locks and prepared transactions, where nothing of theirs counts any more', async () => {
    const [source, part] = await keepThem();
    const before = await server.judge();
    await server.sql(`BEGIN; DELETE FROM orders; PREPARE TRANSACTION 'it''s left'`);
    const held = session('BEGIN; LOCK TABLE parts; SELECT pg_sleep(600);');
    await expect.poll(sleepers).toBe('1');
    await postgres.evict(source, workOf());
    await held;
    expect(lines).toContain("rolls back the prepared transaction it's left in app");
    const present = await postgres.keep(source, kept(), workOf());
    await postgres.restore(source, part, present, place, workOf());
    await postgres.open(source, workOf());
    expect(await server.judge()).toBe(before);
    for (const each of [place, kept()]) await postgres.discard(source, null, each, workOf());
  });

  it('refuses what it cannot keep', async () => {
    await server.sql(`BEGIN; DELETE FROM orders; PREPARE TRANSACTION 'left'`);
    const { refusals } = await postgres.survey(['db'], place, workOf());
    expect(refusals).toEqual(['db has prepared transactions (left in app): commit them, or roll them back']);
    await server.sql(`ROLLBACK PREPARED 'left'`);
    await expect(postgres.survey(['nobody'], place, workOf())).rejects.toMatchObject({ code: 'data-unfit' });
  });

  it('tells a copy that somebody has changed', async () => {
    const [source, part] = await keepThem();
    const copy = part.databases.find(({ name }) => name === 'app')?.copy ?? '';
    await server.sql(`ALTER DATABASE ${copy} ALLOW_CONNECTIONS true`, 'template1');
    await server.sql(`UPDATE parts SET v = 'other' WHERE k = 7`, copy);
    const before = await server.judge();
    await postgres.close(source, workOf());
    await postgres.evict(source, workOf());
    const present = await postgres.keep(source, kept(), workOf());
    await expect(postgres.restore(source, part, present, place, workOf())).rejects.toMatchObject({
      code: 'point-damaged',
      message: 'what was kept of app is no longer the same: public.parts_1',
    });
    await postgres.open(source, workOf());
    expect((await server.judge()).length).toBeLessThanOrEqual(before.length);
    for (const each of [place, kept()]) await postgres.discard(source, null, each, workOf());
  });
});

/**
 * The app's role owns its database, and is no superuser; whatever of its own a superuser runs makes it one. Marks outlive what is
 * rolled back.
 */
const hostile = `
CREATE ROLE app LOGIN;
ALTER DATABASE app OWNER TO app;
ALTER SCHEMA public OWNER TO app;
\\connect app app
CREATE UNLOGGED SEQUENCE ran;
GRANT ALL ON SEQUENCE ran TO PUBLIC;
CREATE FUNCTION act() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
  PERFORM nextval('public.ran');
  BEGIN EXECUTE 'RESET SESSION AUTHORIZATION'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'SET ROLE boss'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'ALTER ROLE app SUPERUSER'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'DECLARE late CURSOR WITH HOLD FOR SELECT public.act()'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'CREATE OR REPLACE FUNCTION pg_temp.svc_sums() RETURNS SETOF jsonb LANGUAGE sql AS $f$ SELECT to_jsonb(public.act()) $f$'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'CREATE TEMP VIEW pg_class AS SELECT public.act()'; EXCEPTION WHEN OTHERS THEN END;
  BEGIN EXECUTE 'SET search_path = public, pg_catalog'; EXCEPTION WHEN OTHERS THEN END;
  RETURN 1;
END $$;
CREATE FUNCTION evil(text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN (SELECT public.act()); END $$;
CREATE FUNCTION evil(anyelement, anyelement) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT public.evil('') = 1 $$;
CREATE OPERATOR = (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = evil);
CREATE FUNCTION count() RETURNS int LANGUAGE sql AS 'SELECT public.act()';
CREATE FUNCTION concat(anyelement) RETURNS text LANGUAGE sql AS $$ SELECT public.act()::text $$;
CREATE FUNCTION to_jsonb(name) RETURNS jsonb LANGUAGE sql AS $$ SELECT to_json(public.act())::jsonb $$;
CREATE TABLE planned (a int, CHECK (a > 0));
CREATE INDEX ON planned (evil('expression'));
CREATE INDEX ON planned (a) WHERE evil('predicate') = 1;
CREATE STATISTICS told ON (evil('statistics')), a FROM planned;
CREATE TABLE rows (a int);
CREATE FUNCTION as_text(rows) RETURNS text LANGUAGE sql AS $$ SELECT public.act()::text $$;
CREATE FUNCTION as_json(rows) RETURNS json LANGUAGE sql AS $$ SELECT to_json(public.act()) $$;
CREATE CAST (rows AS text) WITH FUNCTION as_text(rows) AS IMPLICIT;
CREATE CAST (rows AS json) WITH FUNCTION as_json(rows);
CREATE TABLE hidden (a int);
INSERT INTO planned VALUES (1); INSERT INTO rows VALUES (1); INSERT INTO hidden VALUES (1);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY none ON hidden USING (act() = 2);
CREATE VIEW pg_database AS SELECT act();
CREATE MATERIALIZED VIEW kept AS SELECT a FROM planned;
CREATE INDEX ON kept (evil('view'));
ALTER DATABASE app SET search_path = public, pg_catalog;
ALTER DATABASE app SET constraint_exclusion = on;
ALTER DATABASE app SET role = app;
ALTER DATABASE app SET quote_all_identifiers = on;
`;

describe.each([15, 17] as const)('an app that would be superuser of PostgreSQL %i', (major) => {
  beforeEach(async () => {
    server = await startPostgres(major);
    await server.sql(hostile);
  });
  afterEach(() => server.remove());

  const asked = (question: string) => server.sql(question, 'template1');
  const superusers = () => asked(`SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper`);
  const ran = async () => Number(await server.sql('SELECT last_value FROM public.ran'));
  const judged = async () => (await server.judge()).replaceAll(/^SELECT pg_catalog.setval.*$/gm, '');

  it('is none after data were kept, compared, and put back', async () => {
    expect(await superusers()).toBe('boss');
    const before = await judged();
    const [source, part] = await keepThem();
    const meanwhile = await ran();
    await server.sql('SET ROLE NONE; INSERT INTO public.hidden VALUES (2)');
    const { words } = await postgres.compare(source, part, place, workOf());
    expect(words).toEqual(['app: hidden: 1 row more']);
    // It was called, so that what is told here tells something.
    expect(await ran()).toBeGreaterThan(meanwhile);
    const present = await goBack(source, part);
    expect(await superusers()).toBe('boss');
    expect(await asked(`SELECT count(*) FROM pg_roles WHERE rolname ~ 'svc'`)).toBe('0');
    expect(await judged()).toBe(before);
    await postgres.discard(source, present, kept(), workOf());
  });

  it('has no dump of it loaded', async () => {
    const { refusals } = await postgres.survey(['db'], { ...place, isElsewhere: true }, workOf());
    expect(refusals).toEqual([expect.stringContaining('public.evil(anyelement,anyelement) of app')]);
  });

  it('is kept out of what is kept', async () => {
    const [source, part] = await keepThem();
    const copy = part.databases.find(({ name }) => name === 'app')?.copy ?? '';
    await server.sql(`ALTER DATABASE ${copy} ALLOW_CONNECTIONS true`, 'template1');
    const came = await execa(
      'docker',
      ['exec', server.container, 'psql', '-Xqc', 'SELECT 1', '-U', 'app', copy],
      { reject: false },
    );
    expect(came.stderr).toContain('too many connections for database');
    await postgres.discard(source, part, place, workOf());
  });
});

/** Kills at moments all over a call, each followed by the same call again. */
describe.each(['server', 'updater'] as const)('a killed %s', (which) => {
  const times = Number(process.env.SVC_TEST_KILLS ?? 2);

  beforeEach(async () => {
    server = await startPostgres(15);
    await server.sql(old);
  });
  afterEach(() => server.remove());

  async function killed(afterMs: number, call: (work: DataWork) => Promise<unknown>): Promise<void> {
    const abort = new AbortController();
    const running = call(workOf(abort.signal)).catch(() => {});
    await sleep(afterMs);
    if (which === 'updater') abort.abort();
    else await server.kill();
    await running;
    if (which === 'server') await server.start();
  }

  it.each([false, true])(
    'ends right when it is called again (elsewhere: %s)',
    async (isElsewhere) => {
      place = { ...place, isElsewhere };
      // A server that is killed empties it by itself.
      if (which === 'server') await server.sql('DELETE FROM passing');
      const before = await server.judge();
      const { source } = await postgres.survey(['db'], place, workOf());
      await postgres.close(source, workOf());
      const began = performance.now();
      await postgres.save(source, place, workOf());
      const saveMs = performance.now() - began;
      for (let i = 0; i < times; i++)
        await killed((saveMs * (i + 0.5)) / times, (work) => postgres.save(source, place, work));
      let part = await postgres.save(source, place, workOf());
      await postgres.open(source, workOf());
      expect(await server.judge()).toBe(before);

      let restoreMs = 0;
      for (let i = -1; i < times; i++) {
        if (i % 2 !== 0)
          await server.sql(
            `DROP DATABASE IF EXISTS brandnew WITH (FORCE); ALTER ROLE app PASSWORD 'x${i}'; DELETE FROM orders WHERE id > 10; CREATE DATABASE brandnew`,
          );
        await postgres.close(source, workOf());
        await postgres.evict(source, workOf());
        const at = beside(`k${i + 1}`);
        if (i >= 0) await killed((saveMs * (i + 0.5)) / times / 4, (work) => postgres.keep(source, at, work));
        const present = await postgres.keep(source, at, workOf());
        if (i < 0) {
          const from = performance.now();
          await postgres.restore(source, part, present, place, workOf());
          restoreMs = performance.now() - from;
        } else {
          const moment = (restoreMs * (i + 0.5)) / times;
          await killed(moment, (work) => postgres.restore(source, part, present, place, work));
          await postgres.restore(source, part, present, place, workOf());
        }
        await postgres.open(source, workOf());
        expect(await server.judge()).toBe(before);
        await postgres.discard(source, present, at, workOf());
        // A copy has become the data: the next way back needs another one.
        await postgres.close(source, workOf());
        part = await postgres.save(source, place, workOf());
        await postgres.open(source, workOf());
      }
    },
    900_000,
  );
});
