// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import type { Container, StorageMount } from '../../../../src/engine/objects/container.ts';
import {
  findAffectedContainerWarnings,
  findProxiedContainers,
} from '../../../../src/updater/compose/plan/affected-containers.ts';
import { container } from '../../../build.ts';
import { at, composeText, installed, planTo } from '../../../build-plan.ts';

const mount = (path: string, changes: Partial<StorageMount> = {}): StorageMount => ({
  ...{ type: 'bind', source: path, path, destination: '/x', subpath: '', driver: '', writable: true },
  ...changes,
});
const volume = (path: string, subpath = '') => mount(path, { type: 'volume', subpath });
const storage = [
  mount('/srv/photos'),
  mount('/etc/localtime'),
  mount('/srv/proxy.sock'),
  mount('/srv/shared', { writable: false }),
  volume('/run/docker/volumes/data/_data', 'app'),
];
const app = container('app-1', { storage, networks: ['svc_default', 'bridge'], ips: ['10.0.0.3'] });

/** An installation and another container, inside or outside the project. */
function beside(other: Partial<Container>, isOwn = false) {
  const texts = { 'compose.yaml': composeText({ app: 'acme/svc:${V}', other: 'x:1' }), '.env': 'V=v1.0.0' };
  const each = container('other-1', other);
  const services = { app: [app] };
  return installed(texts, {
    services,
    containers: isOwn ? [app, each] : [app],
    outsideContainers: isOwn ? [] : [each],
  });
}

describe('affectedContainerWarningsOf', () => {
  it.each<[string, Partial<Container>, string[]]>([
    ['in a network of its own', { networkMode: 'bridge', pidMode: 'host', ipcMode: 'private' }, []],
    [
      'in the network of the app',
      { networkMode: 'container:app-1' },
      ['svc-other-1 uses a namespace of svc-app-1; recreate svc-other-1 after the update'],
    ],
    [
      'in the ipc namespace of the app',
      { ipcMode: 'container:app-1' },
      ['svc-other-1 uses a namespace of svc-app-1; recreate svc-other-1 after the update'],
    ],
    [
      'in the pid namespace of the app',
      { networkMode: 'container:app-1', pidMode: 'container:app-1' },
      [
        'svc-other-1 uses a namespace of svc-app-1 and is killed when that container stops; recreate svc-other-1 after the update',
      ],
    ],
    ['in the network of another one', { networkMode: 'container:db-1' }, []],
    [
      'with the same directory',
      { storage: [mount('/srv/photos')] },
      ['svc-other-1 can write to the data of svc-app-1; check whether svc-other-1 supports the new version'],
    ],
    [
      'with the same part of a volume',
      { storage: [volume('/run/docker/volumes/data/_data', 'app')] },
      ['svc-other-1 can write to the data of svc-app-1; check whether svc-other-1 supports the new version'],
    ],
    ['with another part of that volume', { storage: [volume('/run/docker/volumes/data/_data', 'b')] }, []],
    ['with the directory, read-only', { storage: [mount('/srv/photos', { writable: false })] }, []],
    ['with a directory that the app cannot write to', { storage: [mount('/srv/shared')] }, []],
    ['with system paths and a socket', { storage: [mount('/etc/localtime'), mount('/srv/proxy.sock')] }, []],
    [
      'with the edited file',
      { storage: [mount(at('.env'), { writable: false })] },
      [
        'svc-other-1 has mounted the file .env directly, so it will read the old content until you run docker restart svc-other-1',
      ],
    ],
    ['with a file that is not edited', { storage: [mount(at('compose.yaml'), { writable: false })] }, []],
  ])('evaluates a container %s', (_, other, expected) => {
    const from = beside(other);
    expect(findAffectedContainerWarnings(planTo('v1.1.0', from))).toEqual(expected);
  });

  it('also warns about an edited file in services of the project, but not about shared data', () => {
    const from = beside({ storage: [mount('/srv/photos'), mount(at('.env'))] }, true);
    expect(findAffectedContainerWarnings(planTo('v1.1.0', from))).toEqual([
      'svc-other-1 has mounted the file .env directly, so it will read the old content until you run docker restart svc-other-1',
    ]);
  });
});

it.each<[string, Partial<Container>, string[]]>([
  ['with a public port', { networks: ['svc_default'], published: ['80/tcp'] }, ['svc-other-1']],
  ['without one', { networks: ['svc_default'] }, []],
  ['with another port only', { networks: ['svc_default'], published: ['5432/tcp', '4430/tcp'] }, []],
  ['in the default bridge', { networks: ['bridge'], published: ['80/tcp'] }, []],
  ['that is stopped', { networks: ['svc_default'], published: ['80/tcp'], status: 'exited' }, []],
])('findCachedAddresses evaluates a container in the same network %s', (_, other, proxies) => {
  const known = proxies.length > 0 ? [{ name: 'svc-app-1', ips: ['10.0.0.3'], proxies }] : [];
  expect(findProxiedContainers(beside(other, true))).toEqual(known);
});
