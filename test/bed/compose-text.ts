import type { DatabaseKind } from './app/database.ts';
import { databaseServices } from './databases.ts';

/** The compose file as an operator writes it: `depends_on` alone has the database saved. */
export function bedCompose(kind: DatabaseKind, databaseImage: string): string {
  const lines = databaseServices[kind]?.lines;
  const mine = (role: string, health: string) => `  ${role}:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: ${role}
    restart: always
    mem_limit: 192m
    stop_grace_period: 5s
    depends_on: [${lines ? 'db, witness' : 'witness'}]
    environment: { DB_PASSWORD: '\${DB_PASSWORD:?}', DB_ROOT_PASSWORD: '\${DB_ROOT_PASSWORD:?}' }
    volumes: ['uploads:/uploads', './data:/files'${lines ? '' : ", 'data:/data'"}]
    healthcheck: { test: [CMD, ${health}], interval: 1s, timeout: 5s, retries: 5, start_period: 3s }
`;
  return `# Written by hand.
services:
${mine('app', '/bin/wget, -qO-, "http://127.0.0.1:8080/health"')}    ports: ['127.0.0.1:\${APP_PORT:?}:8080']
${mine('worker', '/bin/test, -e, /tmp/alive')}${lines ? `  db:\n    image: ${databaseImage}\n    restart: unless-stopped\n${lines}` : ''}  witness:
    image: \${WITNESS_IMAGE:?}
    restart: always
    ports: ['127.0.0.1:\${WITNESS_PORT:?}:7000']
  proxy:
    image: \${PROXY_IMAGE:?}
    command: proxy
    restart: always
volumes:
  uploads:
${lines ? '  db:' : '  data:'}
`;
}
