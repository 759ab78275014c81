import { mariadbImage } from '../rig/databases/mariadb.ts';
import { openldapImage } from '../rig/databases/openldap.ts';
import { postgresImage } from '../rig/databases/postgres.ts';
import { redisImage } from '../rig/databases/redis.ts';
import type { DatabaseKind } from './app/database.ts';

export const appPassword = 'correct horse battery';
export const ownerPassword = 'of the owner';

/** The service `db` of a kind: its image, and the lines that an operator writes. SQLite has none. */
export const databaseServices: Record<DatabaseKind, { image: () => Promise<string>; lines: string } | null> =
  {
    postgres: {
      image: () => postgresImage(17),
      lines: `    command: [postgres, -c, max_prepared_transactions=5]
    environment: { POSTGRES_USER: svc, POSTGRES_DB: svc, POSTGRES_PASSWORD: '\${DB_PASSWORD:?}' }
    volumes: ['db:/var/lib/postgresql/data']
`,
    },
    mariadb: {
      image: mariadbImage,
      lines: `    environment: { MARIADB_USER: svc, MARIADB_DATABASE: svc, MARIADB_PASSWORD: '\${DB_PASSWORD:?}', MARIADB_ROOT_PASSWORD: '\${DB_ROOT_PASSWORD:?}' }
    volumes: ['db:/var/lib/mysql']
`,
    },
    sqlite: null,
    redis: {
      image: redisImage,
      lines: `    environment: { REDIS_PASSWORD: '\${DB_PASSWORD:?}' }
    volumes: ['db:/data']
`,
    },
    openldap: {
      image: openldapImage,
      lines: `    environment: { LDAP_PASSWORD: '\${DB_PASSWORD:?}' }
    volumes: ['db:/var/lib/ldap']
`,
    },
  };
