// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { floating, inParts, type Product, pinned, releasesOf } from './product.ts';

const read = '2026-11-23';

/** App and database have the same publisher, and the database is pinned by a digest. */
export const immich: Product = {
  title: 'Immich',
  origin: 'https://github.com/immich-app/immich/blob/main/docker/docker-compose.yml',
  read,
  file: 'docker-compose.yml',
  namesProject: true,
  services: {
    'immich-server': {
      containerName: 'immich_server',
      repository: 'immich-app/immich-server',
      tag: '§',
      mounts: ['${UPLOAD_LOCATION}:/data', '/etc/localtime:/etc/localtime:ro'],
      envFile: '.env',
      needs: ['redis', 'database'],
      keepsHealth: true,
      imageHealth: true,
    },
    'immich-machine-learning': {
      containerName: 'immich_machine_learning',
      repository: 'immich-app/immich-machine-learning',
      tag: '§',
      mounts: ['model-cache:/cache'],
      envFile: '.env',
      keepsHealth: true,
      imageHealth: true,
    },
    redis: {
      containerName: 'immich_redis',
      repository: 'valkey/valkey',
      tag: '8-bookworm',
      digest: true,
      health: 'redis-cli ping || exit 1',
    },
    database: {
      containerName: 'immich_postgres',
      repository: 'immich-app/postgres',
      tag: '14-vectorchord0.4.3-pgvectors0.2.0',
      digest: true,
      environment: ['POSTGRES_PASSWORD=${DB_PASSWORD}', 'POSTGRES_USER=${DB_USERNAME}'],
      mounts: ['${DB_DATA_LOCATION}:/var/lib/postgresql/data'],
    },
  },
  volumes: ['model-cache'],
  env: {
    UPLOAD_LOCATION: './library',
    DB_DATA_LOCATION: './postgres',
    DB_PASSWORD: 'photographs',
    DB_USERNAME: 'postgres',
  },
  moved: ['immich-server', 'immich-machine-learning'],
  database: 'database',
  label: 'tag',
  releases: releasesOf('v2.5.5 v2.6.0 v3.0.1 v2.99.0', { word: 'release', parts: 1 }),
  forms: [
    { name: 'in parts', pin: '${IMMICH_VERSION:-release}', env: { IMMICH_VERSION: '{part}' } },
    { name: 'floating', pin: '${IMMICH_VERSION:-release}' },
    { name: 'pinned', pin: '${IMMICH_VERSION:-release}', env: { IMMICH_VERSION: '{tag}' } },
  ],
};

export const paperless: Product = {
  title: 'Paperless-ngx',
  origin:
    'https://github.com/paperless-ngx/paperless-ngx/blob/main/docker/compose/docker-compose.postgres-tika.yml',
  read,
  file: 'docker-compose.yml',
  services: {
    broker: { repository: 'library/redis', tag: '8', mounts: ['redisdata:/data'] },
    db: {
      repository: 'library/postgres',
      tag: '17',
      mounts: ['pgdata:/var/lib/postgresql/data'],
      environment: ['POSTGRES_DB=paperless', 'POSTGRES_PASSWORD=paperless'],
    },
    webserver: {
      repository: 'paperless-ngx/paperless-ngx',
      tag: '§',
      needs: ['db', 'broker', 'gotenberg', 'tika'],
      mounts: [
        'data:/usr/src/paperless/data',
        'media:/usr/src/paperless/media',
        './export:/usr/src/paperless/export',
      ],
      envFile: 'docker-compose.env',
      environment: ['PAPERLESS_REDIS=redis://broker:6379', 'PAPERLESS_DBHOST=db'],
      imageHealth: true,
    },
    gotenberg: { repository: 'gotenberg/gotenberg', tag: '8.21', command: 'gotenberg' },
    tika: { repository: 'apache/tika', tag: 'latest' },
  },
  volumes: ['data', 'media', 'pgdata', 'redisdata'],
  envFiles: { 'docker-compose.env': { PAPERLESS_TIME_ZONE: 'Europe/Berlin' } },
  moved: ['webserver'],
  mayBeApp: ['gotenberg', 'tika'],
  database: 'db',
  label: 'plain',
  releases: releasesOf('2.18.4 2.19.1 2.20.0 2.29.9', { word: 'latest', parts: 2 }),
  forms: [floating, inParts, pinned],
};

/** Official images: app, database and cache have the same publisher, and none has a version label. */
export const nextcloud: Product = {
  title: 'Nextcloud',
  origin:
    'https://github.com/nextcloud/docker/blob/master/.examples/docker-compose/insecure/mariadb/apache/compose.yaml',
  read,
  file: 'compose.yaml',
  services: {
    db: {
      repository: 'mariadb',
      tag: 'lts',
      command: '--transaction-isolation=READ-COMMITTED',
      mounts: ['db:/var/lib/mysql:Z'],
      environment: ['MYSQL_ROOT_PASSWORD='],
      envFile: 'db.env',
    },
    redis: { repository: 'redis', tag: 'alpine' },
    app: {
      repository: 'nextcloud',
      tag: '§',
      mounts: ['nextcloud:/var/www/html:z'],
      environment: ['MYSQL_HOST=db', 'REDIS_HOST=redis'],
      envFile: 'db.env',
      needs: ['db', 'redis'],
    },
    cron: {
      repository: 'nextcloud',
      tag: '§',
      mounts: ['nextcloud:/var/www/html:z'],
      entrypoint: '/cron.sh',
      needs: ['db', 'redis'],
    },
  },
  volumes: ['db', 'nextcloud'],
  envFiles: { 'db.env': { MYSQL_PASSWORD: 'clouds-and-rain', MYSQL_DATABASE: 'nextcloud' } },
  moved: ['app', 'cron'],
  database: 'db',
  label: 'none',
  releases: releasesOf('31.0.9-apache 32.0.1-apache 33.0.0-apache 32.0.9-apache', {
    word: 'apache',
    parts: 1,
  }),
  forms: [floating, inParts, pinned],
};
