import { describe, expect, it } from 'vitest';
import { svcProduct } from '../../../src/core/names/product.ts';
import { toListedContainer } from '../../../src/engine/objects/container.ts';
import { composeLabels, swarmLabels } from '../../../src/engine/objects/labels.ts';
import {
  listManualUpdateCommands,
  listStackUpdateCommands,
} from '../../../src/server/deployment/manual-commands.ts';

const started = (files: string, more: Record<string, string> = {}) => ({
  ...toListedContainer({ Id: 'c'.repeat(64), Names: ['/svc-app-1'], Image: 'acme/svc:v1.4.2' }),
  labels: {
    [composeLabels.project]: 'svc',
    [composeLabels.directory]: '/opt/svc',
    [composeLabels.files]: files,
    ...more,
  },
});
const task = (imageReference: string) => ({
  ...toListedContainer({ Id: 'c'.repeat(64), Names: ['/svc_app.1.x'], Image: imageReference }),
  labels: { [swarmLabels.service]: 'svc_app', [swarmLabels.stack]: 'svc' },
});

const settings: Parameters<typeof listStackUpdateCommands>[1] = {
  ...{ product: svcProduct, containerName: 'svc-updater', updaterImage: 'acme/svc-updater:1' },
  ...{ app: null, workers: null },
};

describe('the list of manual commands', () => {
  it.each<[string, ReturnType<typeof started>, string[]]>([
    [
      'with files and env files of its own',
      started('/opt/svc/compose.prod.yaml,/srv/more/site.yaml', {
        [composeLabels.envFiles]: '/opt/svc/prod.env',
      }),
      [
        'cd /opt/svc',
        'docker compose -p svc -f compose.prod.yaml -f ../../srv/more/site.yaml --env-file prod.env pull',
        'docker compose -p svc -f compose.prod.yaml -f ../../srv/more/site.yaml --env-file prod.env up -d',
      ],
    ],
    [
      'in a directory with a blank and a quote',
      started("/opt/it's here/a b.yaml", { [composeLabels.directory]: "/opt/it's here" }),
      [
        String.raw`cd '/opt/it'\''s here'`,
        "docker compose -p svc -f 'a b.yaml' pull",
        "docker compose -p svc -f 'a b.yaml' up -d",
      ],
    ],
  ])('contains compose commands %s', (_, own, commands) => {
    expect(listManualUpdateCommands(own)).toEqual(commands);
  });

  it('keeps container names in the old format', () => {
    const labels = { [composeLabels.service]: 'app', [composeLabels.number]: '1' };
    const own = { ...started('/opt/svc/docker-compose.yml', labels), name: 'svc_app_1' };
    const compose = 'docker compose --compatibility -p svc';
    expect(listManualUpdateCommands(own)).toEqual(['cd /opt/svc', `${compose} pull`, `${compose} up -d`]);
  });

  it.each([
    [`acme/svc:v1.4.2@sha256:${'1'.repeat(64)}`, 'acme/svc:vX.Y.Z'],
    [`acme/svc@sha256:${'1'.repeat(64)}`, 'acme/svc:vX.Y.Z'],
  ])('contains Swarm commands for %s', (reference, image) => {
    const own = task(reference);
    const alone = { ...own, labels: { [swarmLabels.service]: 'svc_app' } };
    const expected = [`docker service update --image ${image} svc_app`];
    expect(listStackUpdateCommands(alone, settings, [])).toEqual(expected);
    expect(listManualUpdateCommands(alone)).toEqual(expected);
  });

  const socket = '/var/run/docker.sock';
  const run = `docker run --rm -v ${socket}:${socket}`;
  const create = `docker service create --name svc-updater --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=${socket},dst=${socket}`;

  it.each<[string, string[], Partial<typeof settings>, string]>([
    ['acme/svc:v1.4.2', ['svc_worker'], {}, '--stack svc --target vX.Y.Z'],
    [
      'acme/svc:v1.4.2',
      ['svc_worker'],
      { app: 'web' },
      '--stack svc --target vX.Y.Z --service web --service worker --service app',
    ],
  ])('contains two stack commands for %s with %j and %j', (reference, workers, more, words) => {
    const order = `acme/svc-updater:1 ${words}`;
    expect(listStackUpdateCommands(task(reference), { ...settings, ...more }, workers)).toEqual([
      `${run} ${order}`,
      `${create} ${order}`,
    ]);
  });

  it.each([null, toListedContainer({ Id: 'c'.repeat(64), Names: ['/svc'], Image: 'acme/svc' })])(
    'contains the default commands for %j',
    (own) => {
      expect(listManualUpdateCommands(own)).toEqual(['docker compose pull', 'docker compose up -d']);
    },
  );
});
