// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { type Product, pinned, releasesOf, type Service } from './product.ts';

const api: Service = {
  repository: 'langgenius/dify-api',
  tag: '§',
  networks: ['ssrf_proxy_network', 'default'],
  mounts: ['./volumes/app/storage:/app/api/storage'],
};

/** Ten services, four of them with one version; other services of the same publisher have versions of their own. */
export const dify: Product = {
  title: 'Dify',
  origin: 'https://github.com/langgenius/dify/blob/main/docker/docker-compose-template.yaml',
  read: '2026-11-23',
  file: 'docker-compose.yaml',
  services: {
    api: { ...api, environment: ['MODE=api'], needsHealthy: ['db_postgres'] },
    worker: { ...api, environment: ['MODE=worker'], needsHealthy: ['db_postgres'] },
    worker_beat: { ...api, environment: ['MODE=beat'], needsHealthy: ['db_postgres'] },
    web: {
      repository: 'langgenius/dify-web',
      tag: '§',
      environment: ['CONSOLE_API_URL=${CONSOLE_API_URL:-}'],
    },
    db_postgres: {
      repository: 'postgres',
      tag: '15-alpine',
      environment: ['POSTGRES_USER=${DB_USERNAME:-postgres}'],
      mounts: ['./volumes/db/data:/var/lib/postgresql/data'],
      health: 'pg_isready -h db_postgres',
    },
    redis: { repository: 'redis', tag: '6-alpine', mounts: ['./volumes/redis/data:/data'] },
    sandbox: { repository: 'langgenius/dify-sandbox', tag: '0.2.14', networks: ['ssrf_proxy_network'] },
    plugin_daemon: {
      repository: 'langgenius/dify-plugin-daemon',
      tag: '0.5.3-local',
      mounts: ['./volumes/plugin_daemon:/app/storage'],
      needsHealthy: ['db_postgres'],
    },
    ssrf_proxy: { repository: 'ubuntu/squid', tag: 'latest', networks: ['ssrf_proxy_network', 'default'] },
    nginx: { repository: 'nginx', tag: 'latest', needs: ['api', 'web'] },
  },
  networks: { ssrf_proxy_network: 'internal: true' },
  moved: ['api', 'web', 'worker', 'worker_beat'],
  mayBeApp: ['nginx', 'plugin_daemon', 'sandbox', 'ssrf_proxy'],
  database: 'db_postgres',
  label: 'plain',
  releases: releasesOf('1.13.3 1.14.0 1.15.0 1.14.9', { word: 'latest' }),
  forms: [pinned],
};
