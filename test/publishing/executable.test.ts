import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clientOf, proofOf, type Rig, startRig } from '../client/self-update/rig.ts';
import { root } from '../documents/documents.ts';
import { publisher } from '../provenance/sign.ts';

const anna = publisher();
const asset = `svc-linux-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;

let directory = '';
/** The executable of v1.4.2. */
let old = '';
/** The newer executable: a program that prints its version. */
const fresh = '#!/bin/sh\necho svc v1.5.0\n';
let rig: Rig;
/** The installed executable. */
let svc = '';

beforeAll(async () => {
  // An executable is larger than 100 MB, and the directory for temporary files may be in memory.
  await mkdir(join(root, '.cache'), { recursive: true });
  directory = await mkdtemp(join(root, '.cache/executable-'));
  old = await executable('v1.4.2');
});
afterAll(() => rm(directory, { recursive: true }));

async function executable(version: string): Promise<string> {
  const client = join(directory, `${version}.mjs`);
  await writeFile(client, await clientOf(version, anna.key));
  const out = join(directory, version);
  await execa(process.execPath, [
    join(root, 'scripts/lib/release/executable.ts'),
    client,
    process.execPath,
    out,
  ]);
  return out;
}

beforeEach(async () => {
  rig = await startRig('');
  await mkdir(join(directory, 'bin'));
  svc = join(directory, 'bin/svc');
  await copyFile(old, svc);
  await chmod(svc, 0o750);
});
afterEach(async () => {
  await rm(join(directory, 'bin'), { recursive: true });
  await rig.close();
});

/** Runs the client as on a machine without programs on its PATH. */
const run = async (args: string[], file = svc) => {
  const env = { PATH: '/nowhere', SVC_FEED: rig.forge.address('gitHub') };
  const { exitCode, stdout, stderr } = await execa(file, args, { env, extendEnv: false, reject: false });
  return { exitCode, stdout, stderr };
};

describe.skipIf(process.platform !== 'linux')('the client as a single executable', () => {
  it('runs on a machine without Node', async () => {
    expect(await run(['--version'])).toEqual({ exitCode: 0, stdout: 'svc v1.4.2', stderr: '' });
    expect((await run(['instance', 'status', '--help'])).stdout).toContain('svc instance status [--json]');
    expect((await run(['nonsense'])).exitCode).toBe(2);
  });

  it('replaces itself with the verified executable of a newer release if it is run through a link', async () => {
    const files = { [asset]: fresh, 'svc.mjs': 'the other client' };
    rig.publish('v1.5.0', { ...files, ...proofOf({ files, by: anna }) });
    const link = join(rig.directory, 'svc');
    await symlink(svc, link);
    expect(await run(['update'], link)).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^Downloading .*\n✓ svc was updated: v1\.4\.2 → v1\.5\.0$/s),
      stderr: '',
    });
    expect(await readFile(svc, 'utf8')).toBe(fresh);
    expect(await readdir(join(directory, 'bin'))).toEqual(['svc']);
  });
});
