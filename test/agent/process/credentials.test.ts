import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Log } from '../../../src/agent/log/log.ts';
import { prepareConfig } from '../../../src/agent/process/credentials.ts';

let root = '';
let warnings: string[] = [];
const path = process.env.PATH;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'credentials-'));
  warnings = [];
});
afterEach(() => {
  process.env.PATH = path;
  return rm(root, { recursive: true, force: true });
});

async function prepared(config: unknown) {
  if (config !== undefined) {
    await writeFile(join(root, 'config.json'), typeof config === 'string' ? config : JSON.stringify(config));
  }
  const log = new Log(({ message }) => warnings.push(message));
  const directory = await prepareConfig(join(root, 'own'), { DOCKER_CONFIG: root }, log);
  return { log, made: JSON.parse(await readFile(join(directory, 'config.json'), 'utf8')) };
}

describe('prepareConfig', () => {
  it('makes an empty one where nothing is mounted', async () => {
    expect((await prepared(undefined)).made).toEqual({});
    expect(warnings).toEqual([]);
    expect((await stat(join(root, 'own/config.json'))).mode & 0o777).toBe(0o600);
  });

  it('takes logins and proxies, and nothing that could break a call', async () => {
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
    // Neither the password nor its coded form may reach the log.
    expect(log.alwaysHidden).toEqual([auths['ghcr.io'].auth, 'hunter2hunter2']);
  });

  it('leaves out helpers that do not exist here, with a warning each', async () => {
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
      'the credential store "desktop" of config.json does not exist here: its logins are not used',
      'the credential helper "gone" of config.json does not exist here: no login for b.example',
    ]);
  });

  it('does not trip over a file that is not JSON', async () => {
    expect((await prepared('{')).made).toEqual({});
    expect(warnings[0]).toMatch(/config\.json is not JSON: pulling without credentials/);
  });
});
