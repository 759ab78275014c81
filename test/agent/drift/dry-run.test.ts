import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordUp } from '../../../src/agent/drift/dry-run.ts';
import type { ComposeProject } from '../../../src/engine/cli/compose.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { composeLabels } from '../../../src/engine/labels.ts';
import { project } from '../../build.ts';
import { startEngine } from '../../engine/api/http-engine.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'record-up-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

/**
 * Stands in for the docker command: notes what it was called for, and asks for a container of each service as compose
 * does, at a time or one behind the other, and gives up with the first answer that is no success. Before that it does what
 * compose does about two edited volumes and a network.
 */
const program = (isInOrder: boolean, never: readonly string[], isEdited: boolean) => `#!/usr/bin/env node
const { appendFileSync, readFileSync } = require('node:fs');
const { request } = require('node:http');
const args = process.argv.slice(2);
const valuesOf = (flag) => args.flatMap((each, at) => (each === flag ? [args[at + 1]] : []));
const services = valuesOf('--scale').map((scale) => scale.split('=')[0]);
const { services: images } = JSON.parse(readFileSync(valuesOf('--file').at(-1), 'utf8'));
appendFileSync(${JSON.stringify(join(directory, 'calls'))}, services.join() + '\\n');
const send = (method, path, body) =>
  new Promise((resolve, reject) => {
    const socketPath = valuesOf('--host')[0].replace('unix://', '');
    const asked = request({ socketPath, path: '/v1.51' + path, method, agent: false }, (answer) => {
      answer.resume();
      return answer.statusCode < 300 ? resolve() : reject(new Error('refused'));
    });
    asked.on('error', () => {});
    asked.end(JSON.stringify(body));
  });
const create = (service) =>
  send('POST', '/containers/create?name=0123456789ab_svc-' + service + '-1', {
    Image: images[service].image,
    Labels: { [${JSON.stringify(composeLabels.service)}]: service },
  });
const wanted = services.filter((service) => !${JSON.stringify(never)}.includes(service));
const question = ' exists but doesn\\'t match configuration in compose file. Recreate (data will be lost)? ';
if (${isEdited}) process.stdout.write('Volume "svc_db"' + question + 'Volume "svc_data"' + question);
const networks = [
  ['POST', '/containers/abc/stop'],
  ['POST', '/networks/svc_internal/disconnect', { Container: 'abc', Force: true }],
  ['DELETE', '/networks/svc_internal'],
  ['POST', '/networks/create', { Name: 'svc_internal' }],
];
const before = (${isEdited} ? networks : []).reduce((done, each) => done.then(() => send(...each)), Promise.resolve());
const work = before.then(() => ${isInOrder}
  ? wanted.reduce((before, service) => before.then(() => create(service)), Promise.resolve())
  : Promise.all(wanted.map(create)));
work.catch(() => {}).then(() => {
  console.error('the words of compose');
  process.exit(1);
});
`;

const services = ['app', 'worker'].map((name) => ({ name, image: `sha256:${name}`, scale: 1 }));

async function record({
  isInOrder = false,
  never = [],
  isEdited = false,
  how = {},
}: {
  isInOrder?: boolean;
  never?: readonly string[];
  isEdited?: boolean;
  how?: Partial<ComposeProject>;
} = {}) {
  await writeFile(join(directory, 'docker'), program(isInOrder, never, isEdited), { mode: 0o755 });
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
  const host = await startEngine((_, to) => void to.end('[]'));
  const engine = new Engine({ host, tls: [], configDirectory: directory }, { home: '/' });
  const { sent, removedNetworks, editedVolumes } = await recordUp(
    engine,
    { ...project, directory, ...how },
    services,
  );
  const calls = (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n').sort();
  return {
    calls,
    sent: [...sent].map(([name, { body, ...each }]) => [name, each.name, body.Image]).sort(),
    edited: [...removedNetworks, ...editedVolumes],
  };
}

const both = [
  ['app', 'svc-app-1', 'sha256:app'],
  ['worker', 'svc-worker-1', 'sha256:worker'],
];

describe('recordUp', () => {
  it('asks once for services that do not wait for each other', async () => {
    expect(await record()).toEqual({ calls: ['app,worker'], sent: both, edited: [] });
  });

  it('asks for each where one flag would rename containers of both', async () => {
    const apart = { calls: ['app', 'worker'], sent: both, edited: [] };
    expect(await record({ how: { oldNames: ['worker'] } })).toEqual(apart);
    await rm(join(directory, 'calls'));
    expect(await record({ how: { asksForNames: true } })).toEqual(apart);
  });

  it('asks anew for what one call did not come to, as one service waited for the other', async () => {
    expect(await record({ isInOrder: true })).toEqual({
      calls: ['app,worker', 'worker'],
      sent: both,
      edited: [],
    });
  });

  it.each([true, false])(
    'tells the network that compose would remove, and the volumes: %s',
    async (asksForNames) => {
      const edited = ['svc_internal', 'svc_db', 'svc_data'];
      expect(await record({ isEdited: true, how: { asksForNames } })).toMatchObject({ sent: both, edited });
    },
  );
});
