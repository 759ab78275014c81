import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientCommands } from '../../src/client/client-commands.ts';
import { createClient, type Trust } from '../../src/client/create-client.ts';
import { publisher } from '../provenance/sign.ts';
import { bundled, proofOf, startRig } from './self-update/rig.ts';

let directory = '';
let program = '';

/** The bundled client of another product. */
const larderOf = (version: string, more: { trust?: Trust } = {}): Promise<string> =>
  bundled({
    stdin: {
      contents: `import { createClient } from './src/client/create-client.ts';
await createClient({ name: 'larder' }, ${JSON.stringify({ version, ...more })}).run();`,
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
  });

/** Runs a command and checks that its output never contains svc. */
async function larder(words: string, env: Record<string, string> = {}) {
  const { exitCode, all } = await execa(process.execPath, [program, ...words.split(' ').filter(Boolean)], {
    env: { PATH: process.env.PATH ?? '', HOME: directory, TZ: 'UTC', ...env },
    extendEnv: false,
    all: true,
    input: '',
    reject: false,
    timeout: 60_000,
  });
  expect(all, words).not.toMatch(/svc/i);
  return { exitCode, said: all };
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'larder-'));
  program = join(directory, 'larder.mjs');
  await writeFile(program, await larderOf('v1.0.0'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("another product's client", () => {
  it('uses the product name in help and completion', async () => {
    expect((await larder('--help')).said).toMatch(/^larder: check and update a larder instance\n/);
    expect((await larder('--version')).said).toBe('larder v1.0.0');
    for (const { name } of clientCommands) {
      const { said } = await larder(`${name} --help`);
      expect(said).toContain(`  larder ${name} `.trimEnd());
    }
    expect((await larder('instance status --help')).said).toContain(
      'The server address and token are read from LARDER_URL and LARDER_TOKEN',
    );
    expect((await larder('completion bash')).said).toContain('larder');
  });

  it('uses the product name in errors', async () => {
    expect((await larder('')).said).toMatch(
      /^larder: No larder command was specified\. .*\nHelp: larder --help$/s,
    );
    const none = await larder('instance status');
    expect(none).toEqual({
      exitCode: 2,
      said: `The address of larder is not set. Set LARDER_URL, or log in: larder login (${directory}/.config/larder/config.json does not contain an address)`,
    });
    const away = await larder('instance status', { LARDER_URL: 'http://127.0.0.1:1' });
    expect(away.said).toMatch(/Check that larder is running and that LARDER_URL is correct\.$/);
    expect((await larder('update')).said).toContain('set LARDER_FEED to the web address');
    const feed = await larder('update', { LARDER_FEED: 'http://127.0.0.1:1/releases' });
    expect(feed.said).toContain('add credentials to LARDER_FEED');
  });

  it('installs only the asset that has the product name and is signed by a trusted publisher', async () => {
    const anna = publisher();
    const fresh = await larderOf('v1.5.0');
    const rig = await startRig(await larderOf('v1.4.2', { trust: { keys: [anna.key] } }));
    const publish = (by: typeof anna) => {
      const files = { 'larder.mjs': fresh };
      rig.publish('v1.5.0', { ...files, ...proofOf({ product: 'larder', files, by }) });
      return rig.run([], { LARDER_FEED: rig.forge.address('gitHub') });
    };
    try {
      expect(await publish(publisher())).toMatchObject({ exitCode: 3, stdout: '' });
      expect(await publish(anna)).toMatchObject({ stdout: '✓ larder was updated: v1.4.2 → v1.5.0' });
      expect(await rig.read(rig.svc)).toBe(fresh);
    } finally {
      await rig.close();
    }
  });

  it('rejects an invalid product and invalid trust settings', () => {
    expect(() => createClient({ name: 'Larder' })).toThrow('invalid product: name must be');
    for (const trust of ['', 'nobody', { keys: [] }])
      expect(() => createClient({ name: 'larder' }, { trust })).toThrow(
        'invalid trust: it contains neither EC or RSA public',
      );
  });
});
