import type { DebianPrograms } from './debian.ts';

/** The database and the clients for tests. */
export const postgres: DebianPrograms = {
  name: 'platform-postgresql-3',
  package: 'postgresql',
  paths: [
    ...['postgres', 'initdb', 'psql', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_isready'].map(
      (name) => `usr/lib/postgresql/*/bin/${name}`,
    ),
    ...['plpgsql', 'dict_snowball'].map((name) => `usr/lib/postgresql/*/lib/${name}.so`),
    'usr/share/postgresql',
  ],
};

/** The proxy. */
export const caddy: DebianPrograms = { name: 'platform-caddy-2', package: 'caddy', paths: ['usr/bin/caddy'] };

/** The language of the platform in test/platform/python. */
export const python: DebianPrograms = {
  name: 'platform-python-1',
  package: 'python3',
  paths: ['usr/bin/python3.*', 'usr/lib/python3.*'],
};
