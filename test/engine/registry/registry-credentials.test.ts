import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  parseRegistryCredentials,
  readRegistryCredentials,
} from '../../../src/engine/registry/registry-credentials.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

const auth = (text: string) => Buffer.from(text).toString('base64');
const config = JSON.stringify({
  auths: {
    'https://index.docker.io/v1/': { auth: auth('hub:secret') },
    'ghcr.io': { auth: auth('me:a:b') },
    'registry.example:5000': { username: 'u', password: 'p' },
    'https://token.example/v2/': { identitytoken: 'tok' },
    'helper.example': {},
    localhost: { auth: auth('l:o') },
  },
});

describe('the credentials for an image', () => {
  it.each<[string, object | null]>([
    ['acme/svc', { username: 'hub', password: 'secret', serveraddress: 'https://index.docker.io/v1/' }],
    ['svc', { username: 'hub', password: 'secret', serveraddress: 'https://index.docker.io/v1/' }],
    [
      'docker.io/acme/svc',
      { username: 'hub', password: 'secret', serveraddress: 'https://index.docker.io/v1/' },
    ],
    ['ghcr.io/acme/svc', { username: 'me', password: 'a:b', serveraddress: 'ghcr.io' }],
    ['registry.example:5000/svc', { username: 'u', password: 'p', serveraddress: 'registry.example:5000' }],
    ['token.example/svc', { identitytoken: 'tok', serveraddress: 'https://token.example/v2/' }],
    ['localhost/svc', { username: 'l', password: 'o', serveraddress: 'localhost' }],
    ['helper.example/svc', null],
    ['registry.example/svc', null],
    ['other.example/svc', null],
  ])('are found by registry: %s', (repository, login) => {
    expect(parseRegistryCredentials(config, repository)).toEqual(login);
  });

  it.each(['', 'nonsense', 'null', '[]', '{"auths":null}', '{"auths":{"ghcr.io":null}}'])(
    'are null in %j',
    (text) => expect(parseRegistryCredentials(text, 'ghcr.io/acme/svc')).toBeNull(),
  );
});

it('readRegistryCredentials reads the credentials from a file, and returns null without a file', async () => {
  const directory = await temporaryDirectory();
  const file = join(directory, 'config.json');
  const auth = Buffer.from('me:secret').toString('base64');
  await writeFile(file, JSON.stringify({ auths: { 'ghcr.io': { auth } } }));
  expect(await readRegistryCredentials('ghcr.io/acme/svc-updater', file)).toMatchObject({
    username: 'me',
    password: 'secret',
  });
  expect(await readRegistryCredentials('ghcr.io/acme/svc-updater', `${file}.missing`)).toBeNull();
  expect(await readRegistryCredentials('ghcr.io/acme/svc-updater', null)).toBeNull();
});
