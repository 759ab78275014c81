import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { expectAttempt, shareInstance } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';

// docs/contract.md 4: the host has lost since the start what the running containers still have. Everything is found while they run.

const device = `/dev/svct-stick-${process.pid}`;
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svct-host-'));
  for (const name of ['share', 'moved']) await mkdir(at(name));
  await execa('mknod', [device, 'c', '1', '3']);
  await execa('mount', ['-t', 'tmpfs', 'none', at('share')]);
});
afterAll(async () => {
  await execa('umount', [at('share')], { reject: false });
  for (const path of [folder, device]) await rm(path, { recursive: true, force: true });
});

const instance = shareInstance({
  layout: (c) => ({
    files: {
      'compose.yaml': composeText({
        ...{ app: `${c.image}:v1.0.0`, parts: c.parts, port: `${c.port}` },
        volumes: [`${at('share')}:/share`, `${at('moved')}:/moved`],
        extra: {
          app: `devices: ['${device}:/dev/stick']`,
          tunnel: 'ipc: shareable',
          worker: 'ipc: service:tunnel',
        },
      }),
      '.env': 'DB_PASSWORD=secret-pw\n',
    },
    flags: [],
  }),
});

const tunnel = ({ project }: Instance) => `${project}-tunnel-1`;
const refused =
  /^refused \(host-changed\): nothing was changed; v1\.0\.0 is still running\. Next: Fix what the log reports/;

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
])('plan refuses for $lost', async ({ lose, restore, says }) => {
  await lose(instance());
  await expectAttempt(instance(), ['plan', '--target', 'v1.1.0'], {
    ...{ exitCode: 3, says: [says(instance())], ends: [refused] },
  });
  await restore(instance());
});

test('update refuses for a share that was unmounted, until the container was recreated as advised', async () => {
  await execa('umount', ['--lazy', at('share')]);
  const said = `app:/share has changed on the host: the running container uses "/" of none \\(tmpfs, .*\\), a new one would get ".*/share" of `;
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
