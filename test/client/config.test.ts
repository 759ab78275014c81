import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/client/config.ts';

const user = vi.hoisted(() => ({ isUnknown: false }));
// What Node does for a user whom the machine does not know, and who has no HOME.
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

/** What is read where the file says that. */
function read(file: string | null, env: Record<string, string> = {}, mode = 0o600) {
  const base = join(home, `${homes++}`);
  mkdirSync(join(base, 'svc'), { recursive: true });
  if (file !== null) {
    writeFileSync(join(base, 'svc/config.json'), file);
    chmodSync(join(base, 'svc/config.json'), mode);
  }
  return readConfig({ XDG_CONFIG_HOME: base, ...env });
}
const file = (url: string, token = 'of-the-file') => JSON.stringify({ url, token });

it.each([
  ['http://localhost:3000/', 'http://localhost:3000'],
  ['https://svc.example.org/svc//', 'https://svc.example.org/svc'],
  [' HTTPS://SVC.example.org:443 ', 'https://svc.example.org'],
])('the address %s is %s', (given, url) => {
  expect([read(null, { SVC_URL: given }).url, read(file(given)).url]).toEqual([url, url]);
});

it.each([
  ['localhost:3000', 'has to be an address like https://svc.example.org.'],
  ['me:secret@svc', 'has to be an address like https://svc.example.org.'],
  ['https://me:secret@svc', 'must not have a name and password'],
  ['http://svc/?', 'must not have anything behind its path'],
])('the address %s is none, and no secret in it is said', (given, said) => {
  const reading = () => read(null, { SVC_URL: given });
  expect(reading).toThrow(said);
  expect(reading).not.toThrow('secret');
});

it.each([
  [0o600, false],
  [0o640, true],
  [0o602, true],
])('a file is open to others by its mode: %j', (mode, isOpen) => {
  expect(read(file('http://svc'), {}, mode).openFile !== null).toBe(isOpen);
  expect(read(file('http://svc'), { SVC_TOKEN: 'own' }, mode).openFile).toBeNull();
});

it.each([
  ['of the same address', 'https://svc.test/', 'https://svc.test', 'of-the-file'],
  ['of another port', 'https://svc.test', 'https://svc.test:8443', null],
  ['of another scheme', 'https://svc.test', 'http://svc.test', null],
  ['of another host', 'https://svc.test', 'https://svc.test.example.org', null],
])("the file's token %s", (_, own, url, token) => {
  expect(read(file(own), { SVC_URL: url }).token).toBe(token);
});

it('the token of a file may end with a line', () => {
  expect(read(file('http://svc', 'abc\n'))).toMatchObject({ url: 'http://svc', token: 'abc' });
  expect(() => read(file('http://svc', 'a\nb'))).toThrow(/token in .* has characters that no token has/);
  expect(() => read('{')).toThrow(/config\.json is no JSON/);
});

it.each(['null', '{"token":"x"}', '{"url":5}'])('a file that says %s has no address', (text) => {
  expect(() => read(text)).toThrow('It is not known where svc is');
});

it.each([{ HOME: '' }, { HOME: '', XDG_CONFIG_HOME: 'here' }, { HOME: 'here' }])(
  'with %j no file of the working directory is read',
  (env) => {
    const path = join(userInfo().homedir, '.config/svc/config.json');
    expect(() => readConfig({ ...env, SVC_URL: '' })).toThrow(path);
  },
);

it('a user without a home has what the environment says', () => {
  user.isUnknown = true;
  try {
    expect(readConfig({ SVC_URL: 'http://svc' })).toMatchObject({ url: 'http://svc', token: null });
    expect(readConfig({ HOME: 'here', SVC_URL: 'http://svc', SVC_TOKEN: 'a' }).token).toBe('a');
    expect(() => readConfig({})).toThrow(/^It is not known where svc is\. Set SVC_URL\.$/);
  } finally {
    user.isUnknown = false;
  }
});
