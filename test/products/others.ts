// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { floating, inParts, type Product, pinned, releasesOf } from './product.ts';

const read = '2026-11-23';

/** Three services of two repositories; each service has the version in its own line. */
const mastodon: Product = {
  title: 'Mastodon',
  origin: 'https://github.com/mastodon/mastodon/blob/main/docker-compose.yml',
  read,
  file: 'docker-compose.yml',
  services: {
    db: {
      repository: 'postgres',
      tag: '14-alpine',
      networks: ['internal_network'],
      health: 'pg_isready -U postgres',
      mounts: ['./postgres14:/var/lib/postgresql/data'],
    },
    redis: {
      repository: 'redis',
      tag: '7-alpine',
      networks: ['internal_network'],
      health: 'redis-cli ping',
      mounts: ['./redis:/data'],
    },
    web: {
      repository: 'mastodon/mastodon',
      tag: '§',
      envFile: '.env.production',
      command: 'bundle exec puma -C config/puma.rb',
      networks: ['external_network', 'internal_network'],
      health: 'wget -q -O - http://127.0.0.1:8080/version',
      needs: ['db', 'redis'],
      mounts: ['./public/system:/mastodon/public/system'],
    },
    streaming: {
      repository: 'mastodon/mastodon-streaming',
      tag: '§',
      envFile: '.env.production',
      command: 'node ./streaming/index.js',
      networks: ['external_network', 'internal_network'],
      health: 'wget -q -O - http://127.0.0.1:8080/version',
      needs: ['db', 'redis'],
    },
    sidekiq: {
      repository: 'mastodon/mastodon',
      tag: '§',
      envFile: '.env.production',
      command: 'bundle exec sidekiq',
      networks: ['external_network', 'internal_network'],
      health: 'wget -q -O - http://127.0.0.1:8080/version',
      needs: ['db', 'redis'],
      mounts: ['./public/system:/mastodon/public/system'],
    },
  },
  networks: { external_network: '', internal_network: 'internal: true' },
  envFiles: { '.env.production': { LOCAL_DOMAIN: 'example.org', SECRET_KEY_BASE: 'elephants-remember' } },
  moved: ['web', 'streaming', 'sidekiq'],
  database: 'db',
  label: 'tag',
  releases: releasesOf('v4.3.17 v4.4.8 v4.5.0 v4.4.99', { word: 'latest', parts: 2 }),
  forms: [pinned, inParts],
};

const vaultwarden: Product = {
  title: 'Vaultwarden',
  origin: 'https://github.com/dani-garcia/vaultwarden#docker-compose',
  read,
  file: 'compose.yaml',
  services: {
    vaultwarden: {
      containerName: 'vaultwarden',
      repository: 'vaultwarden/server',
      tag: '§',
      environment: ['DOMAIN=https://vw.example.org'],
      mounts: ['./vw-data/:/data/'],
      imageHealth: true,
    },
  },
  moved: ['vaultwarden'],
  label: 'plain',
  releases: releasesOf('1.34.3 1.35.0 1.36.0 1.35.9', { word: 'latest', parts: 2 }),
  forms: [floating, pinned],
};

/** No tag at all, as in the documentation. */
export const jellyfin: Product = {
  title: 'Jellyfin',
  origin: 'https://jellyfin.org/docs/general/installation/container',
  read,
  file: 'docker-compose.yml',
  services: {
    jellyfin: {
      containerName: 'jellyfin',
      repository: 'jellyfin/jellyfin',
      tag: '§',
      user: '0:0',
      mounts: ['./config:/config', './cache:/cache', './media:/media:ro'],
      environment: ['JELLYFIN_PublishedServerUrl=http://example.org'],
      imageHealth: true,
    },
  },
  moved: ['jellyfin'],
  label: 'plain',
  releases: releasesOf('10.10.7 10.11.5 10.12.0 10.11.99', { word: 'latest', parts: 2 }),
  forms: [{ name: 'floating', pin: '' }, pinned, inParts],
};

/** The whole reference is the default of a variable. */
const miniflux: Product = {
  title: 'Miniflux',
  origin: 'https://github.com/miniflux/v2/blob/main/contrib/docker-compose/basic.yml',
  read,
  file: 'docker-compose.yml',
  services: {
    miniflux: {
      containerName: 'miniflux',
      repository: 'miniflux/miniflux',
      written: '${MINIFLUX_IMAGE:-@:§}',
      needsHealthy: ['db'],
      environment: [
        'DATABASE_URL=postgres://miniflux:secret@db/miniflux?sslmode=disable',
        'RUN_MIGRATIONS=1',
      ],
    },
    db: {
      containerName: 'postgres',
      repository: 'postgres',
      tag: '18',
      environment: ['POSTGRES_USER=miniflux', 'POSTGRES_PASSWORD=secret'],
      mounts: ['miniflux-db:/var/lib/postgresql/data'],
      health: 'pg_isready -U miniflux',
    },
  },
  volumes: ['miniflux-db'],
  moved: ['miniflux'],
  database: 'db',
  label: 'plain',
  releases: releasesOf('2.2.13 2.2.14 2.3.0 2.2.99', { word: 'latest' }),
  forms: [floating, pinned],
};

const mealie: Product = {
  title: 'Mealie',
  origin: 'https://docs.mealie.io/documentation/getting-started/installation/postgres/',
  read,
  file: 'docker-compose.yml',
  services: {
    mealie: {
      containerName: 'mealie',
      repository: 'mealie-recipes/mealie',
      tag: '§',
      mounts: ['mealie-data:/app/data/'],
      environment: ['DB_ENGINE=postgres', 'POSTGRES_SERVER=postgres', 'POSTGRES_PASSWORD=mealie'],
      needsHealthy: ['postgres'],
      imageHealth: true,
    },
    postgres: {
      containerName: 'postgres',
      repository: 'postgres',
      tag: '17',
      mounts: ['mealie-pgdata:/var/lib/postgresql/data'],
      environment: ['POSTGRES_PASSWORD=mealie', 'PGUSER=mealie'],
      health: 'pg_isready',
    },
  },
  volumes: ['mealie-data', 'mealie-pgdata'],
  moved: ['mealie'],
  database: 'postgres',
  label: 'tag',
  releases: releasesOf('v3.13.0 v3.14.0 v3.15.0 v3.99.0', { word: 'latest' }),
  forms: [pinned],
};

/** The documentation pins only the major version. */
const forgejo: Product = {
  title: 'Forgejo',
  origin: 'https://forgejo.org/docs/latest/admin/installation/docker/',
  read,
  file: 'docker-compose.yml',
  services: {
    server: {
      containerName: 'forgejo',
      repository: 'forgejo/forgejo',
      tag: '§',
      environment: ['USER_UID=1000', 'USER_GID=1000'],
      networks: ['forgejo'],
      mounts: ['./forgejo:/data', '/etc/localtime:/etc/localtime:ro'],
    },
  },
  networks: { forgejo: 'external: false' },
  moved: ['server'],
  label: 'plain',
  releases: releasesOf('11.0.14 12.0.4 13.0.0 12.0.9', { parts: 1 }),
  forms: [inParts, pinned],
};

export const others: readonly Product[] = [mastodon, vaultwarden, jellyfin, miniflux, mealie, forgejo];
