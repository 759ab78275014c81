import { expect, it } from 'vitest';
import { proposeServices } from '../../../../src/agent/inspect/services/propose.ts';
import { imagesOf } from '../../../../src/agent/inspect/services/together.ts';
import type { ModelService } from '../../../../src/engine/cli/compose.ts';
import { composeText, modelOf, projectFiles } from '../../../build-plan.ts';

type Row = [product: string, services: Record<string, string>, proposed: string];

/**
 * `image | ports | needs db,cache`: names of services, images and variables as the products publish them, in short.
 * Sources: each product's own compose file of autumn 2025.
 */
const rows: Row[] = [
  [
    'immich',
    {
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: compose's own
      'immich-server':
        'ghcr.io/immich-app/immich-server:${IMMICH_VERSION:-release} | ports | needs redis,database',
      'immich-machine-learning': 'ghcr.io/immich-app/immich-machine-learning:${IMMICH_VERSION:-release}',
      redis: 'docker.io/valkey/valkey:8-bookworm',
      database: 'ghcr.io/immich-app/postgres:14-vectorchord0.4.3-pgvectors0.2.0',
    },
    'immich-server immich-machine-learning',
  ],
  [
    'paperless',
    {
      broker: 'docker.io/library/redis:8',
      db: 'docker.io/library/postgres:18',
      webserver: 'ghcr.io/paperless-ngx/paperless-ngx:latest | ports | needs db,broker,gotenberg,tika',
      gotenberg: 'docker.io/gotenberg/gotenberg:8.24',
      tika: 'docker.io/apache/tika:latest',
    },
    'webserver',
  ],
  [
    'nextcloud',
    {
      db: 'mariadb:10.11',
      redis: 'redis:alpine',
      app: 'nextcloud:31-apache | ports | needs db,redis',
      cron: 'nextcloud:31-apache | needs db,redis',
    },
    'app cron',
  ],
  [
    'n8n',
    {
      postgres: 'postgres:16',
      redis: 'redis:6-alpine',
      n8n: 'docker.n8n.io/n8nio/n8n:1.115.2 | ports | needs redis,postgres',
      'n8n-worker': 'docker.n8n.io/n8nio/n8n:1.115.2 | needs n8n',
      'task-runners': 'n8nio/runners:1.115.2 | needs n8n',
    },
    'n8n n8n-worker task-runners',
  ],
  [
    'gitea',
    { server: 'docker.gitea.com/gitea:1.24.6 | ports | needs db', db: 'docker.io/library/postgres:14' },
    'server',
  ],
  [
    'authentik',
    {
      postgresql: 'docker.io/library/postgres:16-alpine',
      redis: 'docker.io/library/redis:alpine',
      server: '${IMAGE:-ghcr.io/goauthentik/server}:${TAG:-2025.10.2} | ports | needs postgresql,redis',
      worker: '${IMAGE:-ghcr.io/goauthentik/server}:${TAG:-2025.10.2} | needs postgresql,redis',
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: compose's own
    },
    'server worker',
  ],
  [
    'plausible',
    {
      plausible_db: 'postgres:16-alpine',
      plausible_events_db: 'clickhouse/clickhouse-server:24.12-alpine',
      plausible: 'ghcr.io/plausible/community-edition:v3.0.1 | needs plausible_db,plausible_events_db',
    },
    'plausible',
  ],
  [
    'ha',
    { homeassistant: 'ghcr.io/home-assistant/home-assistant:stable | host', mqtt: 'eclipse-mosquitto:2' },
    'homeassistant',
  ],
  [
    'mastodon',
    {
      db: 'postgres:14-alpine',
      redis: 'redis:7-alpine',
      web: 'ghcr.io/mastodon/mastodon:v4.5.0 | ports | needs db,redis',
      streaming: 'ghcr.io/mastodon/mastodon-streaming:v4.5.0 | ports | needs db,redis',
      sidekiq: 'ghcr.io/mastodon/mastodon:v4.5.0 | needs db,redis',
    },
    'web sidekiq streaming',
  ],
  [
    'penpot',
    {
      'penpot-traefik': 'traefik:v3.3 | ports',
      'penpot-frontend': 'penpotapp/frontend:2.9.0 | ports | needs penpot-backend,penpot-exporter',
      'penpot-backend': 'penpotapp/backend:2.9.0 | needs penpot-postgres,penpot-valkey',
      'penpot-exporter': 'penpotapp/exporter:2.9.0 | needs penpot-valkey',
      'penpot-postgres': 'postgres:15',
      'penpot-valkey': 'valkey/valkey:8.1',
    },
    'penpot-frontend penpot-backend penpot-exporter',
  ],
  [
    'dify',
    {
      api: 'langgenius/dify-api:1.9.1 | needs db,redis',
      worker: 'langgenius/dify-api:1.9.1 | needs db,redis',
      web: 'langgenius/dify-web:1.9.1',
      sandbox: 'langgenius/dify-sandbox:0.2.12',
      nginx: 'nginx:latest | ports | needs api,web',
      db: 'postgres:15-alpine',
      redis: 'redis:6-alpine',
    },
    'web api worker',
  ],
  [
    'zabbix',
    {
      'zabbix-server': 'zabbix/zabbix-server-mysql:alpine-7.0.5 | needs mysql-server',
      'zabbix-web': 'zabbix/zabbix-web-nginx-mysql:alpine-7.0.5 | ports | needs mysql-server,zabbix-server',
      'zabbix-agent': 'zabbix/zabbix-agent:alpine-6.4.1',
      'mysql-server': 'mysql:8.0',
    },
    'zabbix-web zabbix-server',
  ],
  ['nothing', { db: 'postgres:16', cache: 'redis:7' }, ''],
];

it.each(rows)('proposes what %s is made of', (project, services, proposed) => {
  const parts = Object.entries(services).map(([name, text]) => [name, text.split(' | ')] as const);
  const files = projectFiles({
    'compose.yaml': composeText(Object.fromEntries(parts.map(([name, [image = '']]) => [name, image]))),
  });
  const more = Object.fromEntries(
    parts.map(([name, words]): [string, Partial<ModelService>] => {
      const needs =
        words
          .find((word) => word.startsWith('needs '))
          ?.slice(6)
          .split(',') ?? [];
      return [
        name,
        {
          ...(words.includes('ports') && { ports: [{ target: 80 }] }),
          ...(words.includes('host') && { network_mode: 'host' }),
          depends_on: Object.fromEntries(needs.map((need) => [need, {}])),
        },
      ];
    }),
  );
  const model = modelOf(files, more);
  const candidates = imagesOf(files, model).map((each) => ({
    ...each,
    model: model.services[each.name] ?? {},
    hasHealthCheck: false,
  }));
  const found = proposeServices(candidates, project);
  const names = found === null ? [] : [found.app, ...found.workers].map(({ name }) => name);
  expect(names.join(' ')).toBe(proposed);
  // Whoever types what is proposed is not refused for it.
  const all = [...names, ...(found?.others ?? []).map(({ name }) => name)];
  if (found !== null) expect(all.toSorted()).toEqual(Object.keys(services).toSorted());
});

it('leaves out what is left behind', () => {
  const images = { web: 'acme/a:1.2.0', jobs: 'acme/a:1.2.0', cron: 'acme/a:1.2.0' };
  const files = projectFiles({ 'compose.yaml': composeText(images) });
  const model = modelOf(files);
  const candidates = imagesOf(files, model).map((each) => ({ ...each, model: {}, hasHealthCheck: false }));
  const proposed = (...leave: string[]) => {
    const found = proposeServices(candidates, 'x', leave);
    return [found?.app, ...(found?.workers ?? [])].map((each) => each?.name);
  };
  expect(proposed('jobs')).toEqual(['web', 'cron']);
  expect(proposed('web')).toEqual(['cron', 'jobs']);
  expect(proposed('*')).toEqual(['web']);
});
