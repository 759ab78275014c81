// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import type { Product } from './product.ts';

const read = '2026-11-23';

/** Three services of two repositories, each with the version in its own line. */
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
  releases: {
    old: { tag: 'v4.3.17', part: 'v4.3', word: 'latest' },
    next: { tag: 'v4.4.8', part: 'v4.4', word: 'latest' },
    crashing: { tag: 'v4.5.0', part: 'v4.5', word: 'latest' },
    missing: { tag: 'v4.4.99', part: 'v4.4' },
  },
  forms: [
    { name: 'pinned', pin: '{tag}' },
    { name: 'in parts', pin: '{part}' },
  ],
};

/** No tag at all, as the documentation has it. */
const jellyfin: Product = {
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
  releases: {
    old: { tag: '10.10.7', part: '10.10', word: 'latest' },
    next: { tag: '10.11.5', part: '10.11', word: 'latest' },
    crashing: { tag: '10.12.0', part: '10.12', word: 'latest' },
    missing: { tag: '10.11.99', part: '10.11' },
  },
  forms: [
    { name: 'floating', pin: '' },
    { name: 'pinned', pin: '{tag}' },
    { name: 'in parts', pin: '{part}' },
  ],
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
  releases: {
    old: { tag: '2.2.13', word: 'latest' },
    next: { tag: '2.2.14', word: 'latest' },
    crashing: { tag: '2.3.0', word: 'latest' },
    missing: { tag: '2.2.99' },
  },
  forms: [
    { name: 'floating', pin: '{word}' },
    { name: 'pinned', pin: '{tag}' },
  ],
};

export const others: readonly Product[] = [mastodon, jellyfin, miniflux];
