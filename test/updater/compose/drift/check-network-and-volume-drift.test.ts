import { expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import { checkNetworkAndVolumeDrift } from '../../../../src/updater/compose/drift/check-network-and-volume-drift.ts';
import { container } from '../../../build.ts';
import { composeText, installed } from '../../../build-plan.ts';

const texts = { 'compose.yaml': composeText({ app: 'r.test/acme/svc:v1', worker: 'r.test/acme/svc:v1' }) };
const volumes = [{ type: 'volume', source: 'data', target: '/data' }];
const model = {
  name: 'svc',
  services: {
    app: { image: 'r.test/acme/svc:v1', networks: { internal: null, fresh: null }, volumes },
    worker: { image: 'r.test/acme/svc:v1', networks: { internal: null } },
  },
  volumes: { data: { name: 'svc_data' }, db: { name: 'svc_db' } },
  networks: { internal: { name: 'svc_internal' }, fresh: { name: 'svc_fresh' } },
};

/** The messages for an app on two networks, a worker on one of them, and a database. */
function said(removed: readonly string[], volumes: readonly string[] = []): string[] {
  const services = {
    app: [container('app-1', { networks: ['svc_internal', 'svc_old'] })],
    worker: [container('worker-1', { networks: ['svc_internal'] })],
  };
  const db = container('db-1', { networks: ['svc_internal', 'svc_back'] });
  const containers = [...services.app, ...services.worker, db];
  const parts = {
    services,
    containers,
    model,
    removedNetworks: new Set(removed),
    editedVolumes: new Set(volumes),
  };
  const whole = installed(texts, parts);
  const warnings: string[] = [];
  try {
    checkNetworkAndVolumeDrift(whole, { warn: (text) => warnings.push(text) });
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    warnings.push(`${error.code}: ${error.message}`);
  }
  return warnings;
}

const edited = 'edited in the files after the app was started: replacing';

it.each<[what: string, removed: string[], sentence: string]>([
  [
    'a network that both are on',
    ['svc_internal'],
    `network svc_internal was ${edited} app and worker would disconnect containers from it`,
  ],
  [
    'two of them',
    ['svc_old', 'svc_internal'],
    `network svc_internal and network svc_old were ${edited} app and worker would disconnect containers from them`,
  ],
  [
    'a network that only what the app depends on is on',
    ['svc_back'],
    `network svc_back was ${edited} app and worker would disconnect containers from it`,
  ],
])('refuses the update for %s', (_, removed, sentence) => {
  expect(said(removed)).toEqual([`network-edited: ${sentence}`]);
});

it('warns only about edited volumes that are in use', () => {
  const stays =
    'in the files has changed since the volume was created; the update will not change the volume';
  expect(said(['svc_unused'], ['svc_db', 'svc_data'])).toEqual([
    `the definition of volume svc_data ${stays}`,
  ]);
  expect(said([])).toEqual([]);
});
