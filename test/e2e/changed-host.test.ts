import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startBadEngine } from '../rig/bad-engine.ts';
import { composeText } from '../rig/compose-text.ts';
import { expectAttempt, shareInstance } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';

// docs/contract.md 4: since the containers were started, the host has lost resources that they use. The updater detects
// this while the containers are running.

const device = `/dev/svct-stick-${process.pid}`;
const address = `198.51.100.${process.pid % 256}`;
let folder: string;
let port = 0;
let logServer: Server;
const logClients = new Set<Socket>();
let logged = '';
const at = (name: string) => join(folder, name);
const logPort = () => (logServer.address() as AddressInfo).port;

/** A log server for the engine's log driver fluentd. */
const listen = (port = 0): Promise<void> =>
  new Promise((resolve) => {
    logServer = createServer((socket) => {
      logClients.add(socket.on('data', (bytes) => (logged += bytes.toString('latin1'))));
    }).listen(port, '127.0.0.1', () => resolve());
  });
const stopListening = (): void => {
  logServer.close();
  for (const client of logClients) client.destroy();
  logClients.clear();
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svct-host-'));
  for (const name of ['share', 'moved']) await mkdir(at(name));
  await execa('mknod', [device, 'c', '1', '3']);
  await execa('mount', ['-t', 'tmpfs', 'none', at('share')]);
  await execa('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  await listen();
});
afterAll(async () => {
  await execa('umount', [at('share')], { reject: false });
  await execa('ip', ['address', 'del', `${address}/32`, 'dev', 'lo'], { reject: false });
  stopListening();
  for (const path of [folder, device]) await rm(path, { recursive: true, force: true });
});

const instance = shareInstance({
  layout: (c) => ({
    files: {
      'compose.yaml': composeText({
        ...{ app: `${c.image}:v1.0.0`, parts: c.parts, port: `${c.port}` },
        volumes: [`${at('share')}:/share`, `${at('moved')}:/moved`],
        extra: {
          app: `devices: ['${device}:/dev/stick']
logging: { driver: fluentd, options: { fluentd-address: '127.0.0.1:${logPort()}' } }`,
          tunnel: 'ipc: shareable',
          worker: `ipc: service:tunnel
ports: ['${address}:${c.port}:9']`,
        },
      }),
      '.env': 'DB_PASSWORD=secret-pw\n',
    },
    flags: [],
  }),
});

const tunnel = ({ project }: Instance) => `${project}-tunnel-1`;
const refused =
  /^refused \(host-changed\): nothing was changed; v1\.0\.0 is still running\. Next: On the host, fix the problem that the log reports/;

test.each<{
  lost: string;
  lose: (instance: Instance) => unknown;
  restore: (instance: Instance) => unknown;
  says: (instance: Instance) => string | RegExp;
}>([
  {
    lost: 'a device',
    lose: () => rm(device),
    restore: () => execa('mknod', [device, 'c', '1', '3']),
    says: () => new RegExp(`app cannot be started again: .*"${device}": no such file or directory`),
  },
  {
    lost: 'the container whose namespace is shared',
    lose: (own) => execa('docker', ['stop', '--time', '0', tunnel(own)]),
    restore: (own) => execa('docker', ['start', tunnel(own)]),
    says: (own) => `${tunnel(own)} is not running: start it first`,
  },
  {
    lost: 'a directory',
    lose: () => rename(at('moved'), at('away')),
    restore: async () => {
      expect(existsSync(at('moved'))).toBe(false);
      await rename(at('away'), at('moved'));
    },
    says: () => new RegExp(`app:/moved cannot be started again: .* does not exist: ${at('moved')}`),
  },
  {
    lost: 'the log server',
    lose: () => {
      port = logPort();
      stopListening();
    },
    restore: () => listen(port),
    says: () =>
      new RegExp(
        `app cannot be started again with log driver fluentd \\(127\\.0\\.0\\.1:${port}\\): .*connection refused`,
      ),
  },
  {
    lost: 'a published address',
    lose: () => execa('ip', ['address', 'del', `${address}/32`, 'dev', 'lo']),
    restore: () => execa('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']),
    says: () =>
      `worker cannot be started again with published address ${address}: the host does not have this address`,
  },
])('plan is refused if $lost is no longer available', async ({ lose, restore, says }) => {
  await lose(instance());
  await expectAttempt(instance(), ['plan', '--target', 'v1.1.0'], {
    ...{ exitCode: 3, says: [says(instance())], ends: [refused] },
  });
  await restore(instance());
});

test.each<[what: string, lines: string, says: string]>([
  [
    'a log driver',
    'logging: { driver: svct-gone }',
    'with log driver svct-gone: error looking up logging plugin svct-gone',
  ],
  ['CPUs', 'cpus: 4096', 'range of CPUs is from'],
  ['a kernel parameter', 'sysctls: { net.ipv4.svct_gone: 1 }', 'svct_gone'],
  ['a limit', 'ulimits: { nofile: 99999999999 }', 'rlimit'],
  ['a published address', "'203.0.113.7:1:1'", 'with published address 203.0.113.7'],
])('plan is refused if the compose file requires %s that the host does not have', async (_, lines, says) => {
  const file = join(instance().directory, 'compose.yaml');
  const text = await readFile(file, 'utf8');
  onTestFinished(() => writeFile(file, text));
  const isPort = lines.startsWith("'");
  const worker = /(?<=\n {2}worker:\n)/;
  await writeFile(
    file,
    isPort ? text.replace(":9'", `:9', ${lines}`) : text.replace(worker, `    ${lines}\n`),
  );
  const said = new RegExp(`worker cannot be started again.*${says}`);
  await expectAttempt(instance(), ['plan', '--target', 'v1.1.0'], {
    ...{ exitCode: 3, says: [said], ends: [refused] },
  });
});

test('plan reports no changed host if the engine restarts during the host check, which sends no lines to the log server', async () => {
  logged = '';
  const socket = `${instance().directory}.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(() => engine.close());
  let failures = 3;
  engine.fail((asked) => /^POST \S*\/containers\/\w+\/start/.test(asked) && failures-- > 0);
  engine.loseAnswer(/^POST \S*\/containers\/\w+\/start/);
  await expectAttempt(
    instance(),
    ['plan', '--target', 'v1.1.0'],
    {
      ...{
        exitCode: 0,
        says: [],
        never: ['cannot be started again'],
        ends: ['planned: nothing was changed'],
      },
    },
    { socket },
  );
  const names = [...logged.matchAll(/container_name.{1,2}(\/[\w-]+)/g)].map(([, name]) => name);
  expect(new Set(names)).toEqual(new Set(names.length === 0 ? [] : [`/${instance().project}-app-1`]));
});

test('an update is refused if a share was unmounted, until the container was recreated as advised', async () => {
  await execa('umount', ['--lazy', at('share')]);
  const said = `the source of app:/share has changed on the host: the running container uses "/" of none \\(tmpfs, .*\\), but a new container would get ".*/share" of `;
  await expectAttempt(instance(), ['--target', 'v1.1.0'], {
    ...{ exitCode: 3, says: [new RegExp(said)], never: [/Z \w+ +pull /] },
    ends: [refused, 'docker compose up -d --force-recreate'],
  });
  const label = `label=svc-updater.scratch=${instance().project}`;
  expect((await execa('docker', ['ps', '--all', '--quiet', '--filter', label])).stdout).toBe('');
  await instance().compose('up', '-d', '--force-recreate', 'app');
  await instance().waitUntilHealthy();
  await expectAttempt(instance(), ['plan', '--target', 'v1.1.0'], {
    ...{ exitCode: 0, says: [], ends: ['planned: nothing was changed'] },
  });
});
