import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommands } from '../../src/client/commands.ts';
import { createClient, type Trust } from '../../src/client/create-client.ts';
import { publisher } from '../provenance/sign.ts';
import { bundled, proofOf, startRig } from './self-update/rig.ts';

let directory = '';
let program = '';

/** The client of another product, as its maker bundles it. */
const larderOf = (version: string, more: { trust?: Trust } = {}): Promise<string> =>
  bundled({
    stdin: {
      contents: `import { createClient } from './src/client/create-client.ts';
await createClient({ name: 'larder' }, ${JSON.stringify({ version, ...more })}).run();`,
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
  });

/** Types a command. Nothing that it says is about svc. */
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
  it('has its name in the help of everything, and in what completes its words', async () => {
    expect((await larder('--help')).said).toMatch(/^larder: speaks with a larder instance, and updates it\n/);
    expect((await larder('--version')).said).toBe('larder v1.0.0');
    for (const { name } of allCommands()) {
      const { said } = await larder(`${name} --help`);
      expect(said).toContain(`  larder ${name} `.trimEnd());
    }
    expect((await larder('instance status --help')).said).toContain(
      'Where larder is: LARDER_URL and LARDER_TOKEN',
    );
    expect((await larder('completion bash')).said).toContain('larder');
  });

  it('has it where something is wrong', async () => {
    expect((await larder('')).said).toMatch(/^larder: What should larder do\? .*\nMore: larder --help$/s);
    const none = await larder('instance status');
    expect(none).toEqual({
      exitCode: 2,
      said: `It is not known where larder is. Set LARDER_URL, or log in: larder login (${directory}/.config/larder/config.json has no url)`,
    });
    const away = await larder('instance status', { LARDER_URL: 'http://127.0.0.1:1' });
    expect(away.said).toMatch(/(?:Is larder up\? Else see|See) LARDER_URL\.$/);
    expect((await larder('update')).said).toContain('set LARDER_FEED to the address');
    const feed = await larder('update', { LARDER_FEED: 'http://127.0.0.1:1/releases' });
    expect(feed.said).toContain('that LARDER_FEED has its login');
  });

  it('is replaced by the asset of its name, which somebody has signed whom it trusts', async () => {
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

  it('is of a product that makes sense, and of a trust', () => {
    expect(() => createClient({ name: 'Larder' })).toThrow('invalid product: name must be');
    for (const trust of ['', 'nobody', { keys: [] }])
      expect(() => createClient({ name: 'larder' }, { trust })).toThrow('wrong trust: it has neither public');
  });
});
