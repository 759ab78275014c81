import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectThat, Lost } from '../faults/fault.ts';
import type { DatabaseKind } from './app/database.ts';
import { badReleases, type Damage } from './bad-releases.ts';
import { type BedInstance, badTag } from './bed-instance.ts';
import { settled } from './expect.ts';
import { askOwner } from './judge/databases.ts';
import { judgeLive } from './judge/live.ts';
import { judge, look, shorten } from './judge/look.ts';
import type { BedRow } from './run-bed.ts';

/** What the judge must say of each damage, in one of its sentences, for each kind of database or for all. */
const seen: Record<Damage, RegExp | Record<DatabaseKind, RegExp>> = {
  'drop table and column': {
    postgres: /^database svc: - CREATE TABLE public\.papers/,
    mariadb: /^checksums: - svc\.papers/,
    sqlite: /^table papers: - /,
  },
  'drop role': {
    postgres: /^roles: - CREATE ROLE reporter/,
    mariadb: /^grants: - .*`reporter`@`%`/,
    sqlite: /^settings: .*"user_version":99/,
  },
  'change password': {
    postgres: /^roles: - ALTER ROLE svc .*PASSWORD/,
    mariadb: /^accounts: - %\tsvc/,
    sqlite: /^files of data: "svc\.db\.new"/,
  },
  'create databases and roles': {
    postgres: /^databases: \+ invented/,
    mariadb: /^schemas: \+ invented/,
    sqlite: /^files of data: "invented\.db"/,
  },
  'rewrite sequences': {
    postgres: /^database svc: - SELECT pg_catalog\.setval\('public\.invoices', 1005/,
    mariadb: /^dump: - .*AUTO_INCREMENT=/,
    sqlite: /^table sqlite_sequence: - /,
  },
  'prepare transaction': {
    postgres: /^prepared: \+ left behind/,
    mariadb: /^prepared: \+ .*left behind/,
    sqlite: /^table papers: - /,
  },
  // A look from outside would wait for the locks: see `expectLocked`.
  'hold locks': /^files of uploads: "of-the-bad-one\.txt"/,
  'empty uploads': /^files of uploads: "plain\.txt": .*found null/,
  'change owners': /^files of uploads: "\.": .*"owner":"4242:4242"/,
  'fill disk': /^files of files: "filling"/,
  'link for directory': /^files of uploads: "plain\.txt": .*"kind":"directory"/,
  'write 10,000 files': /^files of uploads: "invented\/99\/9999"/,
};

/**
 * The judge judged: each bad release by plain compose, without an updater. What it has done must be told. An instance
 * that went through this is of no more use.
 */
export const unguardedRows: readonly BedRow[] = badReleases.map(({ name, damage, at }) => ({
  name,
  async play(instance) {
    await settled(instance, 'v1.0.0');
    await instance.pause();
    const before = await look(instance, false);
    await update(instance, badTag(name));
    if (damage === 'hold locks' && instance.database !== 'sqlite') return expectLocked(instance);
    const expected =
      damage === undefined ? /^table customers: - |customers|^files of uploads: / : seen[damage];
    const pattern = expected instanceof RegExp ? expected : expected[instance.database];
    let facts: string[] = [];
    for (let tries = 0; tries < 15; tries++) {
      await sleep(1000);
      facts = judge(before, await look(instance, false)).filter((fact) => !fact.startsWith('surroundings'));
      if (at !== 'boot' && facts.some((fact) => pattern.test(fact))) break;
    }
    if (at === 'boot')
      return expectThat(facts.length === 0, `nothing was done, and the judge tells: ${facts}`);
    if (!facts.some((fact) => pattern.test(fact)))
      throw new Lost([`the judge does not tell ${pattern}, but:`, ...shorten(facts)]);
    if (damage === 'empty uploads' || damage === 'link for directory') return;
    const live = await judgeLive(instance, await instance.acknowledged()).catch(String);
    expectThat(
      live.includes('bad') || /bad has left/.test(`${live}`),
      `the rows of the bad one are not told: ${live}`,
    );
  },
}));

/** Within a while, somebody who asks for a row is made to wait. */
async function expectLocked(instance: BedInstance): Promise<void> {
  const limit = instance.database === 'postgres' ? "lock_timeout = '1s'" : 'lock_wait_timeout = 1';
  for (let tries = 0; tries < 30; tries++) {
    await sleep(1000);
    const asked = await askOwner(instance, `SET ${limit}; SELECT count(*) FROM customers`).catch(String);
    if (/lock timeout|Lock wait timeout/.test(asked)) return;
  }
  throw new Lost(['nobody holds a lock']);
}

async function update(instance: BedInstance, tag: string): Promise<void> {
  const settings = join(instance.directory, '.env');
  await writeFile(settings, (await readFile(settings, 'utf8')).replace('v1.0.0', tag));
  // A worker that waits for nobody, and an app that may never be well.
  await instance.compose('up', '-d', 'app', 'worker');
}
