import { describe, expect, test } from 'vitest';
import { databases, expectDataBack, mariadb, migrate, startWith } from '../e2e/support/databases.ts';

// The tests of test/e2e/restore-point.test.ts, for each database and each outcome.

test('the data of MariaDB is restored after a failed release', () => expectDataBack(mariadb));

describe.each(databases)('$name', (database) => {
  test('has its old data after the rollback of a healthy release', async () => {
    const { instance, sql, dump, isUp } = await startWith(database, ['v1.1.0']);
    const before = await dump();
    const good = await instance.update(['--target', 'v1.1.0', '--restore-point']);
    expect(good.exitCode, good.log).toBe(0);
    await isUp();
    await sql(migrate);
    const rollback = await instance.update(['rollback', '--yes']);
    expect(rollback.exitCode, rollback.log).toBe(0);
    await isUp();
    expect(await dump()).toBe(before);
    expect(await instance.version()).toBe('v1.0.0');
  });
});
