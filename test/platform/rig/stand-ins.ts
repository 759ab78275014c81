import type { DebianPrograms } from './debian.ts';

/** The database, and its clients for the app that makes a dump. */
export const postgres: DebianPrograms = {
  name: 'platform-postgresql-2',
  package: 'postgresql',
  paths: [
    ...['postgres', 'initdb', 'psql', 'pg_dump', 'pg_isready'].map(
      (name) => `usr/lib/postgresql/*/bin/${name}`,
    ),
    ...['plpgsql', 'dict_snowball'].map((name) => `usr/lib/postgresql/*/lib/${name}.so`),
    'usr/share/postgresql',
  ],
};

/** The proxy. */
export const caddy: DebianPrograms = { name: 'platform-caddy-2', package: 'caddy', paths: ['usr/bin/caddy'] };
