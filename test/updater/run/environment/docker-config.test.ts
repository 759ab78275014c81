import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeDockerConfig } from '../../../../src/updater/run/environment/docker-config.ts';
import { Log } from '../../../../src/updater/run/log/run-log.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let root = '';
let warnings: string[] = [];
const { HOME, PATH: path } = process.env;

beforeEach(async () => {
  root = await temporaryDirectory();
  warnings = [];
});
afterEach(() => {
  process.env.PATH = path;
  process.env.HOME = HOME;
});

async function prepared(config: unknown) {
  if (config !== undefined) {
    await writeFile(join(root, 'config.json'), typeof config === 'string' ? config : JSON.stringify(config));
  }
  const log = new Log(({ message }) => warnings.push(message));
  const directory = await writeDockerConfig(join(root, 'own'), { DOCKER_CONFIG: root }, log);
  return { log, made: JSON.parse(await readFile(join(directory, 'config.json'), 'utf8')) };
}

describe('prepareConfig', () => {
  it('writes an empty config.json if none is mounted', async () => {
    expect((await prepared(undefined)).made).toEqual({});
    expect(warnings).toEqual([]);
    expect((await stat(join(root, 'own'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(root, 'own/config.json'))).mode & 0o777).toBe(0o600);
  });

  it('copies only credentials and proxies', async () => {
    const auths = { 'ghcr.io': { auth: Buffer.from('me:hunter2hunter2').toString('base64') } };
    const proxies = { default: { httpProxy: 'http://proxy:3128' } };
    const { made, log } = await prepared({
      auths,
      proxies,
      currentContext: 'gone',
      plugins: {},
      cliPluginsExtraDirs: ['/x'],
    });
    expect(made).toEqual({ auths, proxies });
    // Neither the password nor its encoded form may reach the log.
    expect(log.maskText(`${auths['ghcr.io'].auth} hunter2hunter2 else`)).toBe('*** *** else');
  });

  it('omits missing credential helpers and warns about each', async () => {
    const helper = join(root, 'docker-credential-there');
    await writeFile(helper, '#!/bin/sh\n');
    await chmod(helper, 0o755);
    process.env.PATH = `${root}:${path}`;
    const { made } = await prepared({
      credsStore: 'desktop',
      credHelpers: { 'a.example': 'there', 'b.example': 'gone' },
    });
    expect(made).toEqual({ credHelpers: { 'a.example': 'there' } });
    expect(warnings).toEqual([
      'the credential store "desktop" in config.json does not exist in this container, so its credentials are not used',
      'the credential helper "gone" in config.json does not exist in this container, so there are no credentials for b.example',
    ]);
  });

  it('accepts a config.json that is not JSON, with a warning', async () => {
    expect((await prepared('{')).made).toEqual({});
    expect(warnings[0]).toMatch(/config\.json is not valid JSON, so images are pulled without credentials/);
  });

  it('warns if config.json cannot be read, and uses no credentials', async () => {
    await mkdir(join(root, 'config.json'));
    expect((await prepared(undefined)).made).toEqual({});
    expect(warnings).toEqual([
      `${root}/config.json cannot be read (EISDIR), so images are pulled without credentials`,
    ]);
  });

  it('ignores the context, and warns if it is not the default', async () => {
    expect((await prepared({ currentContext: 'default' })).made).toEqual({});
    expect(warnings).toEqual([]);
    expect((await prepared({ currentContext: 'desktop-linux' })).made).toEqual({});
    expect(warnings).toEqual([
      'the context "desktop-linux" in config.json is ignored, because the mounted socket selects the engine',
    ]);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['empty values', { auths: null, proxies: null, credsStore: '', credHelpers: {} }],
  ])('writes an empty config.json for %s', async (_, config) => {
    expect((await prepared(config)).made).toEqual({});
    expect(warnings).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['a password', { password: 'hunter2' }, ['hunter2']],
    ['a colon in a password', { auth: btoa('me:a:b') }, [btoa('me:a:b'), 'a:b']],
    ['a token', { username: 'me', identitytoken: 'abc' }, ['abc']],
  ])('masks %s in the log', async (_, auth, expected) => {
    const { log } = await prepared({ auths: { 'a.example': auth } });
    for (const secret of expected) expect(log.maskText(`is ${secret}`)).toBe('is ***');
    expect(log.maskText('a.example')).toBe('a.example');
  });

  it.each([undefined, ''])(
    'reads config.json in the home directory if DOCKER_CONFIG is %j',
    async (DOCKER_CONFIG) => {
      const auths = { 'a.example': {} };
      await mkdir(join(root, '.docker'));
      await writeFile(join(root, '.docker/config.json'), JSON.stringify({ auths }));
      process.env.HOME = root;
      const directory = await writeDockerConfig(join(root, 'own'), { DOCKER_CONFIG }, new Log(() => {}));
      expect(JSON.parse(await readFile(join(directory, 'config.json'), 'utf8'))).toEqual({ auths });
    },
  );
});
