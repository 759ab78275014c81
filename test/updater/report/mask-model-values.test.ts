import { expect, it } from 'vitest';
import { maskComposeModelValues } from '../../../src/updater/report/mask-model-values.ts';

it('masks all values except those known to be harmless', () => {
  const model = {
    name: 'svc',
    'x-settings': { token: 'a' },
    services: {
      app: {
        image: 'acme/svc:v1',
        command: ['serve', '--password', 'b'],
        entrypoint: null,
        depends_on: { db: { condition: 'service_healthy' } },
        environment: { PASSWORD: 'c', EMPTY: null },
        labels: { 'svc.token': 'd' },
        build: { context: '/opt/svc', args: { TOKEN: 'e' }, ssh: ['f'] },
        healthcheck: { test: ['CMD', 'check', 'g'], retries: 3 },
        logging: { driver: 'syslog', options: { 'syslog-address': 'h' } },
        deploy: { replicas: 2, labels: { token: 'i' } },
        networks: { default: { aliases: ['web'], driver_opts: { token: 'j' } } },
        post_start: [{ command: ['k'], environment: { TOKEN: 'l' } }],
        'x-token': 'm',
      },
    },
    volumes: { data: { name: 'svc_data', driver: 'local', driver_opts: { o: 'password=o' } } },
    secrets: { key: { file: '/opt/svc/key' }, other: { content: 'p', environment: 'KEY' } },
    configs: { ini: { content: 'q' } },
    networks: { default: { name: 'svc_default', ipam: {} } },
  };
  expect(maskComposeModelValues(model)).toEqual({
    name: 'svc',
    'x-settings': '***',
    services: {
      app: {
        image: 'acme/svc:v1',
        command: '***',
        entrypoint: null,
        depends_on: { db: { condition: 'service_healthy' } },
        environment: { PASSWORD: '***', EMPTY: null },
        labels: { 'svc.token': '***' },
        build: { context: '/opt/svc', args: { TOKEN: '***' }, ssh: '***' },
        healthcheck: { test: '***', retries: 3 },
        logging: { driver: 'syslog', options: { 'syslog-address': '***' } },
        deploy: { replicas: 2, labels: '***' },
        networks: { default: { aliases: ['web'], driver_opts: '***' } },
        post_start: '***',
        'x-token': '***',
      },
    },
    volumes: { data: { name: 'svc_data', driver: 'local', driver_opts: { o: '***' } } },
    secrets: { key: { file: '/opt/svc/key' }, other: { content: '***', environment: '***' } },
    configs: { ini: { content: '***' } },
    networks: { default: { name: 'svc_default', ipam: {} } },
  });
});
