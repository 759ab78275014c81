import type { DatabaseKind } from './database.ts';

// What the app tells its database, in its language.

/** Succeeds if the database answers. */
export const questions: Record<DatabaseKind, string> = {
  postgres: 'SELECT count(*) FROM tally',
  mariadb: 'SELECT count(*) FROM tally',
  sqlite: 'SELECT count(*) FROM tally',
  redis: 'EXISTS customer:1',
  openldap: 'dn: ou=live,dc=svc\nchangetype: modify\nreplace: description\ndescription: live\n',
};

/** A row, and the same number in a second table, in one transaction. */
export function liveRow(kind: DatabaseKind, boot: string, n: number): string {
  if (kind === 'redis') return `MULTI\nRPUSH live:${boot} ${n}\nSET tally:${boot} ${n}\nEXEC`;
  if (kind === 'openldap') {
    const dn = `dn: cn=${boot},ou=live,dc=svc`;
    const first = `${dn}\nchangetype: add\nobjectClass: device\ndescription: ${n}\nserialNumber: ${n}\n\n`;
    const next = `${dn}\nchangetype: modify\nadd: description\ndescription: ${n}\n-\nreplace: serialNumber\nserialNumber: ${n}\n`;
    return n === 1 ? first : boot === 'bad' ? first + next : next;
  }
  const row = `INSERT INTO live (boot, n) VALUES ('${boot}', ${n})`;
  const tally =
    kind === 'postgres'
      ? `INSERT INTO tally VALUES ('${boot}', ${n}) ON CONFLICT (boot) DO UPDATE SET n = excluded.n`
      : `REPLACE INTO tally VALUES ('${boot}', ${n})`;
  return `BEGIN; ${row}; ${tally}; COMMIT`;
}

const sqlMigration = [
  'ALTER TABLE customers ADD COLUMN level integer DEFAULT 7',
  "UPDATE customers SET name = upper(name), note = 'migrated'",
  'ALTER TABLE orders RENAME TO old_orders',
];

const person = (n: number) =>
  `dn: cn=customer ${n},ou=people,dc=svc\nchangetype: modify\nreplace: description\ndescription: migrated\n\n`;

/** The steps of a migration. */
export const migrations: Record<DatabaseKind, readonly string[]> = {
  postgres: sqlMigration,
  mariadb: sqlMigration,
  sqlite: sqlMigration,
  redis: [
    `EVAL "for n=1,2000 do redis.call('HSET','customer:'..n,'level','7','name','MIGRATED') end" 0`,
    'DEL papers',
    'RENAME orders old_orders',
  ],
  openldap: [Array.from({ length: 200 }, (_, at) => person(at + 1)).join('')],
};
