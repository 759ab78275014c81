import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loginFor } from '../../../src/instance/place/registry-login.ts';

it('reads the registry login from the credentials of the server', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'registry-login-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'config.json');
  const auth = Buffer.from('me:secret').toString('base64');
  await writeFile(file, JSON.stringify({ auths: { 'ghcr.io': { auth } } }));
  expect(await loginFor('ghcr.io/acme/svc-updater', file)).toMatchObject({
    username: 'me',
    password: 'secret',
  });
  expect(await loginFor('ghcr.io/acme/svc-updater', `${file}.missing`)).toBeNull();
  expect(await loginFor('ghcr.io/acme/svc-updater', null)).toBeNull();
});
