import { expect, test } from 'vitest';
import { updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// Containers named project_service_1, created with --compatibility. Proxies use these names.

const moved = (from: string, to: string) => ({
  version: to,
  changed: { '.env': (text: string) => text.replaceAll(`SVC_VERSION=${from}`, `SVC_VERSION=${to}`) },
});

/** The separators in the names of all containers. */
const joints = async (instance: Instance): Promise<string[]> => {
  const all = Object.entries(await instance.containers());
  const rest = all.map(([name, { service }]) => name.replace(instance.project, '').replace(service, ''));
  return [...new Set(rest)];
};

test('containers created with --compatibility keep their names after an update and after a failed update', async () => {
  const instance = await createInstance({
    text: { extra: { app: 'deploy: { resources: { limits: { memory: 200M } } }\nlinks: [db]' } },
    flags: ['--compatibility'],
    up: ['--no-deps', 'app', 'worker', 'db'],
    publish: ['v1.1.0', 'v1.1.3'],
  });
  await updateWell(instance, ['--target', 'v1.1.0'], moved('v1.0.0', 'v1.1.0'));
  expect(await joints(instance)).toEqual(['__1']);

  // The running containers decide, not a later edit of .env.
  await instance.write('.env', `${await instance.read('.env')}COMPOSE_COMPATIBILITY=false\n`);
  const failed = await instance.update(['--target', 'v1.1.3']);
  expect(failed.exitCode, failed.log).toBe(4);
  expect(await joints(instance)).toEqual(['__1']);
});
