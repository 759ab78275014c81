import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createProduct } from '../../../src/core/names/product.ts';
import { toListedContainer } from '../../../src/engine/objects/container.ts';
import { swarmLabels } from '../../../src/engine/objects/labels.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import {
  type KnownDeployment,
  listManualUpdateCommands,
} from '../../../src/server/deployment/manual-commands.ts';
import { plainOptions } from './container-details.ts';

const task = (imageReference: string) => ({
  ...toListedContainer({ Id: 'c'.repeat(64), Names: ['/svc_app.1.x'], Image: imageReference }),
  labels: { [swarmLabels.service]: 'svc_app', [swarmLabels.stack]: 'svc' },
});

const settings = validateInstanceOptions({ ...plainOptions, updaterImage: 'acme/svc-updater:1' });
const socket = '/var/run/docker.sock';
const named = 'docker run --rm --stop-timeout 120';
const known = { project: 'svc', directory: '/opt/svc', directories: ['/opt/svc'], service: 'app' };

describe('the list of manual commands', () => {
  it.each<[string, KnownDeployment, Partial<typeof settings>, string]>([
    [
      'uses the current directory if nothing is known',
      {},
      {},
      `${named} -v ${socket}:${socket} -v "$PWD:$PWD" acme/svc-updater:1 --target v1.5.0`,
    ],
    [
      "uses the product's own image of svc-updater if no other is set",
      {},
      {
        product: createProduct({ name: 'larder', updatesImage: 'ghcr.io/acme/updates' }),
        containerName: 'larder-updater',
        updaterImage: null,
      },
      `docker run --rm --stop-timeout 120 -v ${socket}:${socket} -e 'SVC_UPDATER_PRODUCT={"name":"larder","updatesImage":"ghcr.io/acme/updates"}' -v "$PWD:$PWD" ghcr.io/acme/updates:v1.4.2 --target v1.5.0`,
    ],
    [
      "finds the server's own image by its container if nothing else is known",
      {},
      { updaterImage: null },
      `${named} -v ${socket}:${socket} -v "$PWD:$PWD" $(docker inspect -f '{{.Image}}' ${hostname()}) --target v1.5.0`,
    ],
    [
      "has the server's own image if it is known",
      { container: { imageReference: 'acme/larder-updates:v1.4.2' } },
      { updaterImage: null },
      `${named} -v ${socket}:${socket} -v "$PWD:$PWD" acme/larder-updates:v1.4.2 --target v1.5.0`,
    ],
    [
      'has the host path of the socket, and saves a restore point if the server does',
      {},
      { updaterSocket: '/run/user/1000/docker.sock', restorePoint: true },
      `docker run --restart on-failure:3 --stop-timeout 120 -v /run/user/1000/docker.sock:${socket} -v "$PWD:$PWD" acme/svc-updater:1 --restore-point --target v1.5.0`,
    ],
    [
      'runs Podman, which supports no restore points',
      { isPodman: true },
      { restorePoint: true },
      `podman run --rm --stop-timeout 120 -v /run/podman/podman.sock:${socket} -v "$PWD:$PWD" acme/svc-updater:1 --target v1.5.0`,
    ],
    [
      'has all known paths',
      {
        ...known,
        directory: "/opt/it's here",
        directories: ["/opt/it's here", '/srv/site'],
        socket: '/run/docker.sock',
        credentials: '/root/a b.json',
      },
      {},
      String.raw`${named} -v /run/docker.sock:${socket} -v '/root/a b.json:/root/.docker/config.json:ro' -v '/opt/it'\''s here:/opt/it'\''s here' -v /srv/site:/srv/site acme/svc-updater:1 --project svc --dir '/opt/it'\''s here' --target v1.5.0`,
    ],
    [
      'mounts the current directory if the directory of the labels is not on the host',
      { ...known, directory: '/data/compose/7', directories: [] },
      {},
      `${named} -v ${socket}:${socket} -v "$PWD":/data/compose/7 acme/svc-updater:1 --project svc --dir /data/compose/7 --target v1.5.0`,
    ],
    [
      'has the services that the server would update',
      { ...known, service: 'web' },
      { workers: ['jobs'] },
      `${named} -v ${socket}:${socket} -v /opt/svc:/opt/svc acme/svc-updater:1 --project svc --dir /opt/svc --service web --service jobs --target v1.5.0`,
    ],
    [
      'has the record of another product, without values derived from the name',
      {},
      { product: createProduct({ name: 'larder', services: ['web'] }), containerName: 'larder-updater' },
      `docker run --rm --stop-timeout 120 -v ${socket}:${socket} -e 'SVC_UPDATER_PRODUCT={"name":"larder","services":["web"]}' -v "$PWD:$PWD" acme/svc-updater:1 --target v1.5.0`,
    ],
  ])('%s', (_, facts, more, command) => {
    expect(listManualUpdateCommands(facts, { ...settings, ...more }, 'v1.5.0')).toEqual([command]);
  });

  it('has a placeholder if no release is available', () => {
    expect(listManualUpdateCommands({}, settings).join()).toMatch(/ --target vX\.Y\.Z$/);
  });

  it.each([
    [`acme/svc:v1.4.2@sha256:${'1'.repeat(64)}`, 'acme/svc:v1.5.0'],
    [`acme/svc@sha256:${'1'.repeat(64)}`, 'acme/svc:v1.5.0'],
    ['acme/svc:latest', 'acme/svc:latest'],
  ])('contains a Swarm command for %s', (reference, image) => {
    const own = { ...task(reference), labels: { [swarmLabels.service]: 'svc_app' } };
    expect(listManualUpdateCommands({ swarm: { own, workers: [] } }, settings, 'v1.5.0')).toEqual([
      `docker service update --image ${image} svc_app`,
    ]);
  });

  const run = `docker run --rm -v ${socket}:${socket}`;
  const create = `docker service create --name svc-updater --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=${socket},dst=${socket}`;

  it.each<[string, string[], Partial<typeof settings>, string]>([
    ['acme/svc:v1.4.2', ['svc_worker'], {}, '--stack svc --target v1.5.0'],
    [
      'acme/svc:v1.4.2',
      ['svc_worker'],
      { app: 'web' },
      '--stack svc --target v1.5.0 --service web --service worker --service app',
    ],
  ])('contains two stack commands for %s with %j and %j', (reference, workers, more, words) => {
    const order = `acme/svc-updater:1 ${words}`;
    const swarm = { own: task(reference), workers };
    expect(listManualUpdateCommands({ swarm }, { ...settings, ...more }, 'v1.5.0')).toEqual([
      `${run} ${order}`,
      `${create} ${order}`,
    ]);
  });
});
