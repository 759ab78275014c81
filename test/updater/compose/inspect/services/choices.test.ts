import { expect, it } from 'vitest';
import {
  formatServiceChoiceLines,
  formatSettingsLines,
  serviceChoicesOf,
} from '../../../../../src/updater/compose/inspect/services/choices.ts';
import { serviceImagesOf } from '../../../../../src/updater/compose/inspect/services/related-services.ts';
import { parseCommandLine } from '../../../../../src/updater/run/options/command-line.ts';
import {
  addMissingSettings,
  parseSettingsFile,
} from '../../../../../src/updater/run/options/settings-file.ts';
import { updateOptionsOf } from '../../../../../src/updater/run/options/update-options.ts';
import { composeText, modelOf, projectFiles } from '../../../../build-plan.ts';

type Row = [product: string, services: Record<string, string>, choices: string[]];

/**
 * Services, images and variables of the compose files that the products published in autumn 2025, abridged.
 * `| reached` marks a service with published ports.
 */
const rows: Row[] = [
  [
    'immich',
    {
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: compose's own
      'immich-server': 'ghcr.io/immich-app/immich-server:${IMMICH_VERSION:-release} | reached',
      'immich-machine-learning': 'ghcr.io/immich-app/immich-machine-learning:${IMMICH_VERSION:-release}',
      redis: 'docker.io/valkey/valkey:8-bookworm',
      database: 'ghcr.io/immich-app/postgres:14-vectorchord0.4.3-pgvectors0.2.0',
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: compose's own
    },
    ['immich-server immich-machine-learning'],
  ],
  [
    'paperless',
    {
      broker: 'docker.io/library/redis:8',
      db: 'docker.io/library/postgres:18',
      webserver: 'ghcr.io/paperless-ngx/paperless-ngx:latest | reached',
      gotenberg: 'docker.io/gotenberg/gotenberg:8.24',
      tika: 'docker.io/apache/tika:latest',
    },
    ['webserver', 'gotenberg', 'tika'],
  ],
  [
    'nextcloud',
    {
      db: 'mariadb:10.11',
      redis: 'redis:alpine',
      app: 'nextcloud:31-apache | reached',
      cron: 'nextcloud:31-apache',
    },
    ['app cron'],
  ],
  [
    'n8n',
    {
      postgres: 'postgres:16',
      redis: 'redis:6-alpine',
      n8n: 'docker.n8n.io/n8nio/n8n:1.115.2 | reached',
      'n8n-worker': 'docker.n8n.io/n8nio/n8n:1.115.2',
      'task-runners': 'n8nio/runners:1.115.2',
    },
    ['n8n n8n-worker task-runners'],
  ],
  [
    'mastodon',
    {
      db: 'postgres:14-alpine',
      redis: 'redis:7-alpine',
      web: 'ghcr.io/mastodon/mastodon:v4.5.0 | reached',
      streaming: 'ghcr.io/mastodon/mastodon-streaming:v4.5.0 | reached',
      sidekiq: 'ghcr.io/mastodon/mastodon:v4.5.0',
    },
    ['streaming sidekiq web', 'web sidekiq streaming'],
  ],
  [
    'dify',
    {
      api: 'langgenius/dify-api:1.9.1',
      worker: 'langgenius/dify-api:1.9.1',
      web: 'langgenius/dify-web:1.9.1',
      sandbox: 'langgenius/dify-sandbox:0.2.12',
      nginx: 'nginx:latest | reached',
      db: 'postgres:15-alpine',
      redis: 'redis:6-alpine',
    },
    ['nginx', 'api web worker', 'web api worker', 'worker api web', 'sandbox'],
  ],
  [
    'zabbix',
    {
      'zabbix-server': 'zabbix/zabbix-server-mysql:alpine-7.0.5',
      'zabbix-web': 'zabbix/zabbix-web-nginx-mysql:alpine-7.0.5 | reached',
      'zabbix-agent': 'zabbix/zabbix-agent:alpine-6.4.1',
      'mysql-server': 'mysql:8.0',
    },
    ['zabbix-web zabbix-server', 'zabbix-agent'],
  ],
  ['nothing', { db: 'postgres:16', cache: 'redis:7' }, []],
];

/** Running services with these images; the services in `reached` publish ports. */
function runningOf(images: Readonly<Record<string, string>>, reached: readonly string[] = []) {
  const files = projectFiles({ 'compose.yaml': composeText(images) });
  return serviceImagesOf(files, modelOf(files)).map((each) => ({
    ...each,
    isReachable: reached.includes(each.name),
  }));
}
const namesOf = (choices: ReturnType<typeof serviceChoicesOf>) =>
  choices.map(({ app, workers }) => [app, ...workers].map(({ name }) => name).join(' '));

it.each(rows)('offers the services of %s', (_, services, choices) => {
  const parts = Object.entries(services).map(([name, text]) => [name, ...text.split(' | ')] as const);
  const images = Object.fromEntries(parts.map(([name, image = '']) => [name, image]));
  const reached = parts.flatMap(([name, , isReached]) => (isReached ? [name] : []));
  expect(namesOf(serviceChoicesOf(runningOf(images, reached)))).toEqual(choices);
});

it('lists services that publish ports first, then larger groups, then by name', () => {
  const images = { a: 'a/a:1.0', b: 'b/b:1.0', c: 'c/c:1.0', c2: 'c/c:1.0', d: 'd/d:1.0', e: 'e/e:1.0' };
  expect(namesOf(serviceChoicesOf(runningOf(images, ['e', 'd'])))).toEqual([
    'd',
    'e',
    'c c2',
    'c2 c',
    'a',
    'b',
  ]);
});

it('prints each choice as a line for the settings file', () => {
  const running = runningOf({ jobs: 'acme/a:1.2.0', web: 'acme/a:1.2.0', mail: 'r.example/mail' }, ['web']);
  expect(formatServiceChoiceLines(serviceChoicesOf(running))).toEqual([
    'services: [web, jobs]  # web runs acme/a:1.2.0',
    'services: [mail]  # mail runs r.example/mail',
  ]);
});

it.each([[['on', 'b.c']], [['*']]])(
  'prints lines that can be read as a settings file, with %j excluded',
  (exclude) => {
    const text = formatSettingsLines(['no', '1e3'], exclude).join('\n');
    const line = parseCommandLine([], {});
    const values = addMissingSettings(line, parseSettingsFile({ path: '/opt/svc/.svc-updater.yaml', text }));
    expect(updateOptionsOf({ ...line, values })).toMatchObject({ app: 'no', workers: ['1e3'], exclude });
  },
);
