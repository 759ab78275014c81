import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { engineSocket } from '../rig/engine-api.ts';
import { alone } from './support/instance.ts';
import { createServerInstance } from './support/server.ts';

// An instance that cannot be updated from its page: the page and the client show a command that updates it.

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
    const { exitCode, all } = await execa('sh', ['-c', manual.join()], {
      ...{ cwd: instance.directory, all: true, reject: false, timeout: 180_000 },
    });
    expect(exitCode, all).toBe(0);
    expect(await instance.version()).toBe('v1.1.0');
  });
});
