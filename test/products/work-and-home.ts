// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { floating, inParts, type Product, pinned, releasesOf } from './product.ts';

const read = '2026-11-23';

/** Four services of two repositories, with two anchors and one variable. */
export const n8n: Product = {
  title: 'n8n',
  origin:
    'https://github.com/n8n-io/n8n-hosting/blob/main/docker-compose/withPostgresAndWorker/docker-compose.yml',
  read,
  file: 'docker-compose.yml',
  shared: {
    shared: {
      repository: 'n8nio/n8n',
      tag: '§',
      environment: ['DB_TYPE=postgresdb', 'N8N_ENCRYPTION_KEY=${ENCRYPTION_KEY}'],
      mounts: ['n8n_storage:/home/node/.n8n'],
      needsHealthy: ['redis', 'postgres'],
    },
    runner: {
      repository: 'n8nio/runners',
      tag: '§',
      environment: ['N8N_RUNNERS_AUTH_TOKEN=${RUNNERS_AUTH_TOKEN}'],
    },
  },
  services: {
    postgres: {
      repository: 'postgres',
      tag: '18',
      environment: ['POSTGRES_USER', 'POSTGRES_PASSWORD'],
      mounts: ['db_storage:/var/lib/postgresql/data'],
      health: 'pg_isready -h localhost -U ${POSTGRES_USER}',
    },
    redis: {
      repository: 'redis',
      tag: '7-alpine',
      mounts: ['redis_storage:/data'],
      health: 'redis-cli ping',
    },
    n8n: { like: 'shared' },
    'n8n-runner': { like: 'runner', needs: ['n8n'] },
    'n8n-worker': { like: 'shared', command: 'worker', needs: ['n8n'] },
    'n8n-worker-runner': { like: 'runner', needs: ['n8n-worker'] },
  },
  volumes: ['db_storage', 'n8n_storage', 'redis_storage'],
  env: {
    POSTGRES_USER: 'workflows',
    POSTGRES_PASSWORD: 'nodes-and-edges',
    ENCRYPTION_KEY: 'changed-by-me',
    RUNNERS_AUTH_TOKEN: 'runs-and-runs',
  },
  moved: ['n8n', 'n8n-runner', 'n8n-worker', 'n8n-worker-runner'],
  database: 'postgres',
  label: 'plain',
  releases: releasesOf('2.30.4 2.31.0 2.32.0 2.99.0', { word: 'stable' }),
  forms: [
    { name: 'floating', pin: '${N8N_VERSION}', env: { N8N_VERSION: '{word}' } },
    { name: 'pinned', pin: '${N8N_VERSION}', env: { N8N_VERSION: '{tag}' } },
  ],
};

export const gitea: Product = {
  title: 'Gitea',
  origin: 'https://docs.gitea.com/installation/install-with-docker',
  read,
  file: 'docker-compose.yml',
  services: {
    server: {
      containerName: 'gitea',
      repository: 'gitea',
      tag: '§',
      environment: ['USER_UID=1000', 'GITEA__database__DB_TYPE=postgres', 'GITEA__database__HOST=db:5432'],
      networks: ['gitea'],
      mounts: ['./gitea:/data', '/etc/timezone:/etc/timezone:ro', '/etc/localtime:/etc/localtime:ro'],
      needs: ['db'],
    },
    db: {
      repository: 'library/postgres',
      tag: '14',
      environment: ['POSTGRES_USER=gitea', 'POSTGRES_PASSWORD=gitea'],
      networks: ['gitea'],
      mounts: ['./postgres:/var/lib/postgresql/data'],
    },
  },
  networks: { gitea: 'external: false' },
  moved: ['server'],
  database: 'db',
  label: 'plain',
  releases: releasesOf('1.26.4 1.27.2 1.28.0 1.27.9', { word: 'latest', parts: 2 }),
  forms: [pinned, inParts, floating],
};

/** A calendar version, as the default of a variable within the default of another variable. */
export const authentik: Product = {
  title: 'authentik',
  origin: 'https://github.com/goauthentik/authentik/blob/main/lifecycle/container/compose.yml',
  read,
  file: 'compose.yml',
  services: {
    postgresql: {
      repository: 'library/postgres',
      tag: '16-alpine',
      envFile: '.env',
      environment: [
        'POSTGRES_PASSWORD=${PG_PASS:?database password required}',
        'POSTGRES_USER=${PG_USER:-authentik}',
      ],
      health: 'pg_isready -d $${POSTGRES_DB} -U $${POSTGRES_USER}',
      mounts: ['database:/var/lib/postgresql/data'],
    },
    server: {
      repository: 'goauthentik/server',
      written: '${AUTHENTIK_IMAGE:-@}',
      tag: '§',
      command: 'server',
      needsHealthy: ['postgresql'],
      envFile: '.env',
      environment: [
        'AUTHENTIK_POSTGRESQL__HOST=postgresql',
        'AUTHENTIK_SECRET_KEY=${AUTHENTIK_SECRET_KEY:?secret key required}',
      ],
      mounts: ['./data:/data', './custom-templates:/templates'],
      imageHealth: true,
    },
    worker: {
      repository: 'goauthentik/server',
      written: '${AUTHENTIK_IMAGE:-@}',
      tag: '§',
      command: 'worker',
      user: 'root',
      needsHealthy: ['postgresql'],
      envFile: '.env',
      environment: ['AUTHENTIK_SECRET_KEY=${AUTHENTIK_SECRET_KEY:?secret key required}'],
      mounts: ['/var/run/docker.sock:/var/run/docker.sock', './data:/data', './certs:/certs'],
      imageHealth: true,
    },
  },
  volumes: ['database'],
  env: { PG_PASS: 'authentic-password', AUTHENTIK_SECRET_KEY: 'very-secret-key' },
  moved: ['server', 'worker'],
  database: 'postgresql',
  label: 'plain',
  releases: releasesOf('2025.12.4 2026.2.2 2026.5.0 2026.2.9', { word: 'latest', parts: 2 }),
  forms: [
    { name: 'pinned', pin: '${AUTHENTIK_TAG:-{tag}}' },
    { name: 'in parts', pin: '${AUTHENTIK_TAG:-2025.10.1}', env: { AUTHENTIK_TAG: '{part}' } },
  ],
};

export const plausible: Product = {
  title: 'Plausible',
  origin: 'https://github.com/plausible/community-edition/blob/master/compose.yml',
  read,
  file: 'compose.yml',
  services: {
    plausible_db: {
      repository: 'postgres',
      tag: '16-alpine',
      mounts: ['db-data:/var/lib/postgresql/data'],
      environment: ['POSTGRES_PASSWORD=postgres'],
      health: 'pg_isready -U postgres',
    },
    plausible_events_db: {
      repository: 'clickhouse/clickhouse-server',
      tag: '24.3.3.102-alpine',
      mounts: ['event-data:/var/lib/clickhouse'],
      health: 'wget -q -O - http://127.0.0.1:8080/version',
    },
    plausible: {
      repository: 'plausible/community-edition',
      tag: '§',
      command: 'sh -c "/entrypoint.sh db migrate && /entrypoint.sh run"',
      needsHealthy: ['plausible_db', 'plausible_events_db'],
      mounts: ['plausible-data:/var/lib/plausible'],
      environment: [
        'BASE_URL=${BASE_URL}',
        'SECRET_KEY_BASE=${SECRET_KEY_BASE}',
        'TOTP_VAULT_KEY',
        'HTTP_PORT',
      ],
    },
  },
  volumes: ['db-data', 'event-data', 'plausible-data'],
  env: { BASE_URL: 'https://plausible.example.org', SECRET_KEY_BASE: 'counted-visits-only' },
  moved: ['plausible'],
  database: 'plausible_events_db',
  label: 'tag',
  releases: releasesOf('v2.1.3 v3.0.1 v3.1.0 v3.0.9', { parts: 2 }),
  forms: [pinned, inParts],
};

/** One service, on the host's network. */
export const homeAssistant: Product = {
  title: 'Home Assistant',
  origin: 'https://www.home-assistant.io/installation/linux#docker-compose',
  read,
  file: 'compose.yaml',
  services: {
    homeassistant: {
      containerName: 'homeassistant',
      repository: 'home-assistant/home-assistant',
      tag: '§',
      mounts: ['./config:/config', '/etc/localtime:/etc/localtime:ro'],
      environment: ['TZ=Europe/Amsterdam'],
      hostNetwork: true,
    },
  },
  moved: ['homeassistant'],
  label: 'plain',
  releases: releasesOf('2025.12.5 2026.1.1 2026.2.0 2026.1.9', { word: 'stable', parts: 2 }),
  forms: [floating, inParts, pinned],
};
