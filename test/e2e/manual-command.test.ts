import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Status } from '../../src/wire/status.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { alone, createInstance } from './support/instance.ts';
import { createServerInstance } from './support/server.ts';

// An instance that cannot be updated from its page: the page and the client show a command that updates it.

async function type(command: string, cwd: string): Promise<void> {
  const options = { cwd, all: true, reject: false, timeout: 180_000 } as const;
  const { exitCode, all } = await execa('sh', ['-c', command], options);
  expect(exitCode, all).toBe(0);
}

describe('the command for a manual update', () => {
  test.each([
    { kind: 'variable', tag: 'v1.0.0' },
    { kind: 'default-latest', tag: 'latest' },
  ] as const)('updates an instance without a socket whose tag is $tag', async (form) => {
    const instance = await createServerInstance({
      ...alone,
      ...form,
      compose: { volumes: [] },
      settings: { UPDATER_SOCKET: engineSocket },
    });
    if (form.tag === 'latest') await instance.publish('latest', { version: '1.1.0' });
    await instance.offer('v1.1.0');
    const { canUpdate, reason, manual } = await instance.status({ refresh: true });
    expect({ canUpdate, code: reason?.code }).toEqual({ canUpdate: false, code: 'no-engine' });
    expect(manual).toHaveLength(1);
    await type(manual.join(), instance.directory);
    expect(await instance.version()).toBe('v1.1.0');
  });

  test('uses the image of svc-updater serve if no other image of the updater is set', async () => {
    const instance = await createInstance(alone);
    const [port, token] = [await freePort(), 'token'.repeat(8)];
    const name = `${instance.name}-svc-updater`;
    const settings = Object.entries({
      ...{ VERSION: 'v1.0.0', QUEUE: 'none', SECRET: 'secret'.repeat(8), TOKEN: token },
      ...{ CONTAINER_NAME: name, UPDATER_SOCKET: engineSocket, FEED: 'null' },
    });
    await execa('docker', [
      ...[
        'run',
        '-d',
        '--name',
        `${instance.name}-serve`,
        '--tmpfs',
        '/store',
        '-p',
        `127.0.0.1:${port}:8080`,
      ],
      ...settings.flatMap(([key, value]) => ['-e', `SVC_SERVE_${key}=${value}`]),
      ...[updaterImage, 'serve'],
    ]);
    onTestFinished(async () => void (await execa('docker', ['rm', '-f', `${instance.name}-serve`])));
    const headers = { authorization: `Bearer ${token}` };
    const url = `http://127.0.0.1:${port}/api/v1/instance/update`;
    const status = () => fetch(url, { headers }).then((response) => response.json() as Promise<Status>);
    await expect
      .poll(() => status().catch(() => null), { timeout: 60_000 })
      .toMatchObject({ canUpdate: false });
    const { manual } = await status();
    expect(manual.join()).toMatch(/ --target vX\.Y\.Z$/);
    await type(manual.join().replace('vX.Y.Z', 'v1.1.0'), instance.directory);
    expect(await instance.version()).toBe('v1.1.0');
  });
});
