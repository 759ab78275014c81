import type { DatabaseKind } from './app/database.ts';

const databases: Record<DatabaseKind, (image: string) => string> = {
  postgres: (image) => `  db:
    image: ${image}
    # So that a transaction can be left prepared.
    command: [postgres, -c, max_prepared_transactions=5]
    restart: always
    labels: { svc.data: postgres }
    environment:
      POSTGRES_USER: svc
      POSTGRES_DB: svc
      POSTGRES_PASSWORD: \${DB_PASSWORD:?}
    volumes: ['db:/var/lib/postgresql/data']
`,
  mariadb: (image) => `  db:
    image: ${image}
    restart: always
    labels: { svc.data: mariadb }
    environment:
      MARIADB_USER: svc
      MARIADB_DATABASE: svc
      MARIADB_PASSWORD: \${DB_PASSWORD:?}
      MARIADB_ROOT_PASSWORD: \${DB_ROOT_PASSWORD:?}
    volumes: ['db:/var/lib/mysql']
`,
  sqlite: () => '',
};

/** What the operator of the bed has written. */
export function bedCompose(database: DatabaseKind, databaseImage: string): string {
  const isFile = database === 'sqlite';
  const mine = (role: string, health: string) => `  ${role}:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: ${role}
    restart: always
    mem_limit: 192m
    stop_grace_period: 5s
    depends_on: [${isFile ? 'cache' : 'db, cache'}]
    environment:
      DB_PASSWORD: \${DB_PASSWORD:?}
      DB_ROOT_PASSWORD: \${DB_ROOT_PASSWORD:?}
    volumes: ['uploads:/uploads', './data:/files'${isFile ? ", 'data:/data'" : ''}]
    healthcheck: { test: [CMD, ${health}], interval: 1s, timeout: 5s, retries: 5, start_period: 3s }
`;
  return `# Written by hand.
services:
${mine('app', '/bin/wget, -qO-, "http://127.0.0.1:8080/health"')}    ports: ['127.0.0.1:\${APP_PORT:?}:8080']
${mine('worker', '/bin/test, -e, /tmp/alive')}${databases[database](databaseImage)}  cache:
    image: \${CACHE_IMAGE:?}
    restart: always
    ports: ['127.0.0.1:\${CACHE_PORT:?}:7000']
    volumes: ['cache:/var/lib/redis']
  proxy:
    image: \${PROXY_IMAGE:?}
    command: proxy
    restart: always
volumes:
  uploads:
  cache:
${isFile ? '  data:' : '  db:'}
`;
}
