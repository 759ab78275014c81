import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { readClientConfig } from '../../../src/client/connection/client-config.ts';

const user = vi.hoisted(() => ({ isUnknown: false }));
// Simulates Node for a user without a passwd entry and without HOME.
vi.mock('node:os', async (original) => {
  const os = await original<typeof import('node:os')>();
  const known = <T>(ask: () => T) => {
    if (user.isUnknown) throw new Error('uv_os_homedir returned ENOENT');
    return ask();
  };
  return { ...os, homedir: () => known(os.homedir), userInfo: () => known(os.userInfo) };
});

const home = mkdtempSync(join(tmpdir(), 'svc-config-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
let homes = 0;

/** Reads the configuration with this file content. */
function read(file: string | null, env: Record<string, string> = {}, mode = 0o600) {
  const base = join(home, `${homes++}`);
  mkdirSync(join(base, 'svc'), { recursive: true });
  if (file !== null) {
    writeFileSync(join(base, 'svc/config.json'), file);
    chmodSync(join(base, 'svc/config.json'), mode);
  }
  return readClientConfig({ XDG_CONFIG_HOME: base, ...env });
}
const file = (url: string, token = 'of-the-file') => JSON.stringify({ url, token });

it.each([
  ['http://localhost:3000/', 'http://localhost:3000'],
  ['https://svc.example.org/svc//', 'https://svc.example.org/svc'],
  [' HTTPS://SVC.example.org:443 ', 'https://svc.example.org'],
])('normalizes the address %s to %s', (given, url) => {
  expect([read(null, { SVC_URL: given }).url, read(file(given)).url]).toEqual([url, url]);
});

it.each([
  ['localhost:3000', 'must be an address like https://svc.example.org.'],
  ['me:secret@svc', 'must be an address like https://svc.example.org.'],
  ['https://me:secret@svc', 'must not contain a user name or password'],
  ['http://svc/?', 'must not contain a query (?) or a fragment (#)'],
])('rejects the address %s without printing its secret', (given, said) => {
  const reading = () => read(null, { SVC_URL: given });
  expect(reading).toThrow(said);
  expect(reading).not.toThrow('secret');
});

it.each([
  [0o600, false],
  [0o640, true],
  [0o602, true],
])('detects whether mode %j lets other users access the file', (mode, isOpen) => {
  expect(read(file('http://svc'), {}, mode).insecureFile !== null).toBe(isOpen);
  expect(read(file('http://svc'), { SVC_TOKEN: 'own' }, mode).insecureFile).toBeNull();
});

it.each([
  ['of the same address', 'https://svc.test/', 'https://svc.test', 'of-the-file'],
  ['of another port', 'https://svc.test', 'https://svc.test:8443', null],
  ['of another scheme', 'https://svc.test', 'http://svc.test', null],
  ['of another host', 'https://svc.test', 'https://svc.test.example.org', null],
])('uses the token in the file only with the address in the file: the token %s', (_, own, url, token) => {
  expect(read(file(own), { SVC_URL: url }).token).toBe(token);
});

it('accepts a newline at the end of the token, but no newline within it', () => {
  expect(read(file('http://svc', 'abc\n'))).toMatchObject({ url: 'http://svc', token: 'abc' });
  expect(() => read(file('http://svc', 'a\nb'))).toThrow(
    /token in .* contains characters that are not allowed in a token/,
  );
  expect(() => read('{')).toThrow(/config\.json is not valid JSON/);
});

it.each(['null', '{"token":"x"}', '{"url":5}'])(
  'reports that the address is missing in the file %s',
  (text) => {
    expect(() => read(text)).toThrow('The address of svc is not set');
  },
);

it.each([{ HOME: '' }, { HOME: '', XDG_CONFIG_HOME: 'here' }, { HOME: 'here' }])(
  'ignores files in the working directory with %j',
  (env) => {
    const path = join(userInfo().homedir, '.config/svc/config.json');
    expect(() => readClientConfig({ ...env, SVC_URL: '' })).toThrow(path);
  },
);

it('uses only the environment for a user without a home directory', () => {
  user.isUnknown = true;
  try {
    expect(readClientConfig({ SVC_URL: 'http://svc' })).toMatchObject({ url: 'http://svc', token: null });
    expect(readClientConfig({ HOME: 'here', SVC_URL: 'http://svc', SVC_TOKEN: 'a' }).token).toBe('a');
    expect(() => readClientConfig({})).toThrow(/^The address of svc is not set\. Set SVC_URL\.$/);
  } finally {
    user.isUnknown = false;
  }
});
