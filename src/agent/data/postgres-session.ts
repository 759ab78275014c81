// How the server of a service is spoken to: by psql in its own container, with that one's own credentials.

import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspectContainers, listContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { endLeftRunning, execIn } from '../../engine/cli/exec.ts';
import { isUp, serviceOf } from '../../engine/container.ts';
import { composeLabels } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { DataWork } from './kind.ts';
import { type FoundDatabase, factsSql, type ServerFacts } from './postgres-sql.ts';

export interface Session {
  engine: Engine;
  /** Its id. */
  container: string;
  /** As it was when the session was begun. */
  found: ServerFacts;
}
type Way = Pick<Session, 'engine' | 'container'> & Partial<Session>;

/** What psql said; without the statement, which may hold hashes of passwords. */
export class PsqlError extends Error {
  override readonly name = 'PsqlError';
}

/** Where nothing else is: it can be connected to while all others are closed. */
const maintenance = 'template1';
export const application = 'svc-updater';

/**
 * Whatever database or role have set: the same value is the same text in every session, nothing is logged that holds a hash,
 * and nobody's lock holds us for ever. What is in the environment for other servers is not for this one.
 */
const settings = [
  'role=none',
  'search_path=pg_catalog',
  'TimeZone=GMT',
  'DateStyle=ISO',
  'IntervalStyle=postgres',
  'bytea_output=hex',
  'extra_float_digits=1',
  'lc_monetary=C',
  'lc_messages=C',
  'standard_conforming_strings=on',
  'quote_all_identifiers=off',
  'client_min_messages=warning',
  'default_transaction_read_only=off',
  'default_tablespace=',
  'synchronous_commit=on',
  'statement_timeout=0',
  'lock_timeout=30s',
  'idle_in_transaction_session_timeout=0',
  'log_statement=none',
  'log_min_duration_statement=-1',
  'log_min_error_statement=panic',
];

const shell = `unset PGHOST PGHOSTADDR PGSERVICE PGSSLMODE
if [ -n "$POSTGRES_PASSWORD_FILE" ]; then POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE"); fi
export PGPASSWORD="$POSTGRES_PASSWORD" PGUSER="\${POSTGRES_USER:-postgres}" PGDATABASE="$1" PGAPPNAME=${application}
export PGCLIENTENCODING=UTF8 PGOPTIONS='${settings.map((each) => `-c ${each}`).join(' ')} '"$2"`;
const psql = `${shell}
exec psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --set VERBOSITY=terse`;
const dump = `${shell}
exec pg_dump --no-password --format=plain`;

/** A server that was killed replays its log first. */
const readyMs = 60_000;
const notReady = /starting up|shutting down|recovery mode|No such file or directory|Connection refused/;

/**
 * The one container of the service that runs, with nothing of ours left running in it.
 * @throws UpdateError data-unfit
 */
export async function openSession(service: string, { engine, project }: DataWork): Promise<Session> {
  const end = performance.now() + readyMs;
  const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${service}`];
  const listed = await listContainers(engine, { label });
  const found = await inspectContainers(
    engine,
    listed.map(({ id }) => id),
  );
  const up = found.filter((each) => isUp(each) && serviceOf(each) === service && !isOneOff(each.labels));
  const [container, another] = up;
  if (container === undefined || another !== undefined) {
    const what = container === undefined ? 'no container that runs' : `${up.length} containers that run`;
    throw new UpdateError('data-unfit', `${service} has ${what}, and one is needed to keep its data`, {
      advice: `Have one container of ${service} run, then try again.`,
    });
  }
  const way = { engine, container: container.id };
  for (;;) {
    try {
      await endLeftRunning(engine, container.id);
      const [found] = (await ask(way, endLeftSessions + factsSql)) as [ServerFacts];
      return { ...way, found };
    } catch (error) {
      if (!(error instanceof PsqlError && notReady.test(error.message)) || performance.now() > end)
        throw error;
      await sleep(250);
    }
  }
}

const isOneOff = (labels: Readonly<Record<string, string>>) => labels[composeLabels.oneOff] === 'True';

/** What a closed database is called while it is looked at. */
export const lookName = (name: string): string =>
  `svc_look_${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;

/** What one that is looked at is to be again; null for others, whatever their owners have written there. */
export function hiddenOf({ name, real }: FoundDatabase): { name: string; limit: number } | null {
  const [, limit, was] = /^(-?\d+):(.*)$/s.exec(real ?? '') ?? [];
  return was !== undefined && name === lookName(was) ? { name: was, limit: Number(limit) } : null;
}

/** A server goes on with what it was asked by a client that is gone: a copy would still come to its end, and be there. */
const endLeftSessions = `DO $do$ BEGIN
  FOR i IN 1..200 LOOP
    PERFORM pg_stat_clear_snapshot();
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${application}'
      AND pid <> pg_backend_pid() AND backend_type = 'client backend';
    EXIT WHEN NOT FOUND;
    PERFORM pg_sleep(0.05);
  END LOOP;
END $do$;`;

/** Runs statements and gives each line of the answer, which is to be JSON. @throws PsqlError */
export async function ask(
  session: Way,
  sql: string,
  { database = maintenance }: { database?: string } = {},
): Promise<unknown[]> {
  const lines = (await run(session, psql, database, Readable.from([sql]))).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Statements in a database of ours, between others in the one that `ask` begins in; psql reads its name by rules of its own. */
export const insideSql = (copy: string, sql: string): string =>
  `\n\\connect ${copy}\n${sql}\n\\connect ${maintenance}\n`;

/** Runs a script whose answers do not matter. @throws PsqlError */
export async function load(session: Way, database: string, script: Readable): Promise<void> {
  await run(session, psql, database, script);
}

/** Writes the database as the script that makes it again. @throws PsqlError */
export async function writeDump(session: Way, database: string, output: Writable): Promise<void> {
  await run(session, dump, database, undefined, output);
}

async function run(
  { engine, container, found }: Way,
  script: string,
  database: string,
  input?: Readable,
  output?: Writable,
): Promise<string> {
  // From this one on a database may have triggers that a login fires.
  const quiet = (found?.major ?? 0) >= 17 ? '-c event_triggers=off' : '';
  const command = ['sh', '-c', script, 'sh', database, quiet];
  const { exitCode, stdout, stderr } = await execIn(engine, container, command, {
    ...(input && { input }),
    ...(output && { output }),
  });
  if (exitCode === 0) return stdout;
  const said = stderr.split('\n').filter((line) => line.trim() !== '' && !/^(?:LINE \d|\s)/.test(line));
  const reason = said.at(-1)?.replace(/^psql:<stdin>:\d+: /, '');
  throw new PsqlError(reason ?? `it ended with exit code ${exitCode}`);
}
