import { chmod, chown, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installerOfPath } from '../../../src/client/self-update/package-manager.ts';
import { clientOf, type Rig, startRig, workerAsset, workerOf } from './rig.ts';

const hash = '0123456789abcdfghijklmnpqrsvwxyz';
const store = '/home/a/.local/share/pnpm/global/5/.pnpm';

describe('installerOfPath', () => {
  it.each<[string, string, string]>([
    ['/usr/lib/node_modules/svc-updater/dist/svc.mjs', 'npm', 'npm install --global svc-updater@latest'],
    ['/opt/homebrew/lib/node_modules/@acme/svc/dist/svc.mjs', 'npm', 'npm install --global @acme/svc@latest'],
    ['/home/a/.nvm/versions/node/v24/lib/node_modules/svc/x', 'npm', 'npm install --global svc@latest'],
    ['/srv/web/node_modules/svc/dist/svc.mjs', 'npm', 'npm install --prefix /srv/web svc@latest'],
    ['/srv/web/node_modules/a/node_modules/svc/svc.mjs', 'npm', 'npm install --prefix /srv/web svc@latest'],
    ['/home/a/.npm/_npx/0a1b/node_modules/svc/dist/svc.mjs', 'npx', 'npx svc@latest'],
    [`${store}/svc@1.0.0/node_modules/svc/svc.mjs`, 'pnpm', 'pnpm update --global --latest svc'],
    [
      '/srv/web/node_modules/.pnpm/svc@1.0.0/node_modules/svc/x',
      'pnpm',
      'pnpm --dir /srv/web update --latest svc',
    ],
    ['/home/a/.config/yarn/global/node_modules/svc/x', 'Yarn', 'yarn global upgrade svc --latest'],
    ['/home/a/.bun/install/global/node_modules/svc/x', 'Bun', 'bun add --global svc@latest'],
    ['/home/a/.volta/tools/image/packages/svc/lib/node_modules/svc/x', 'Volta', 'volta install svc'],
    ['/opt/homebrew/Cellar/svc/1.4.2/libexec/lib/node_modules/svc/x', 'Homebrew', 'brew upgrade svc'],
    [
      '/home/linuxbrew/.linuxbrew/Cellar/svc-worker/1.4.2/bin/svc-worker',
      'Homebrew',
      'brew upgrade svc-worker',
    ],
    [`/nix/store/${hash}-svc-worker-1.4.2/bin/svc-worker`, 'Nix', 'nix profile upgrade svc-worker'],
    [`/gnu/store/${hash}-svc-1.4.2/bin/svc`, 'Guix', 'guix upgrade svc'],
    ['/snap/svc/12/bin/svc', 'Snap', 'sudo snap refresh svc'],
  ])('%s is of %s', (path, name, command) => {
    expect(installerOfPath(path)).toEqual({ name, command });
  });

  it.each([
    '/usr/local/bin/svc',
    '/home/a/bin/svc.mjs',
    '/opt/svc-worker',
    '/srv/node_modules',
    '/srv/node_modules_old/svc/x',
    '/home/snap/svc/x',
  ])('%s is of nobody', (path) => {
    expect(installerOfPath(path)).toBeNull();
  });
});

describe('svc update', () => {
  let rig: Rig;
  let client = '';
  beforeAll(async () => {
    client = await clientOf('v1.4.2');
  });
  beforeEach(async () => {
    rig = await startRig(client);
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0'), 'svc.mjs': await clientOf('v1.5.0') });
  });
  afterEach(async () => {
    // Nothing was asked of anybody.
    expect(rig.forge.seen).toEqual([]);
    await rig.close();
  });

  it('leaves what npm has installed to npm', async () => {
    const modules = join(rig.directory, 'lib/node_modules/svc-updater/dist');
    await mkdir(modules, { recursive: true });
    await copyFile(rig.svc, join(modules, 'svc.mjs'));
    const link = join(rig.bin, 'svc');
    await symlink(join(modules, 'svc.mjs'), link);
    expect(await rig.run([], {}, link)).toMatchObject({
      exitCode: 3,
      stderr:
        'DIR/lib/node_modules/svc-updater/dist/svc.mjs was installed by npm, which would not know of another version.\nNext: npm install --global svc-updater@latest',
    });
    expect(await rig.read(link)).toBe(client);
  });

  /** A package manager that says of the worker whose it is. */
  const say = async (name: string, script: string) => {
    const folder = join(rig.directory, 'tools');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return { PATH: `${folder}:${process.env.PATH}` };
  };

  it.each<[string, string, string, string]>([
    ['rpm', '[ "$5" = FILE ] && echo svc-worker', 'rpm', 'sudo dnf upgrade svc-worker'],
    ['pacman', '[ "$4" = FILE ] && echo svc-worker', 'pacman', 'sudo pacman -Syu'],
    ['apk', '[ "$3" = FILE ] && echo "$3 is owned by svc-worker-1.4.2-r0"', 'apk', 'apk upgrade svc-worker'],
    [
      'dpkg-query',
      '[ "$2" = FILE ] && printf "diversion by x from: %s\\nsvc-worker:amd64, y: %s\\n" "$2" "$2"',
      'dpkg',
      'sudo apt-get install --only-upgrade svc-worker',
    ],
  ])('leaves what %s knows of to it', async (tool, script, name, command) => {
    const env = await say(tool, script.replace('FILE', `"${rig.worker}"`));
    expect(await rig.runWorker(['true'], env)).toMatchObject({
      exitCode: 3,
      stderr: `DIR/bin/svc-worker was installed by ${name}, which would not know of another version.\nNext: ${command}`,
    });
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
  });

  it('asks the real dpkg, which takes a pattern', async (context) => {
    const dpkg = await execa('dpkg-query', ['--version'], { reject: false });
    if (dpkg.failed) context.skip('there is no dpkg here');
    const file = join(rig.bin, '[x]', 'svc-worker');
    await mkdir(join(rig.bin, '[x]'));
    await copyFile(rig.worker, file);
    const admin = join(rig.directory, 'dpkg');
    await mkdir(join(admin, 'info'), { recursive: true });
    const field = [
      'Package: svc-worker',
      'Status: install ok installed',
      'Version: 1.4.2',
      'Architecture: all',
    ];
    await writeFile(
      join(admin, 'status'),
      `${[...field, 'Maintainer: a <a@example.org>', 'Description: a'].join('\n')}\n`,
    );
    await writeFile(join(admin, 'info/format'), '1\n');
    await writeFile(join(admin, 'info/svc-worker.list'), `/.\n${file}\n`);
    const env = { DPKG_ADMINDIR: admin, PATH: process.env.PATH ?? '' };
    const { exitCode, stderr } = await rig.run(['--program', file, '--', 'true'], env);
    expect(stderr).toContain('was installed by dpkg');
    expect(exitCode).toBe(3);
  });

  it.each<[string, () => Promise<string>, string]>([
    ['is not there', async () => join(rig.bin, 'no'), 'DIR/bin/no is not there.\nNext: name the file'],
    ['is a directory', async () => rig.bin, 'DIR/bin is no file.\nNext: name the program itself.'],
    [
      'does not run',
      async () => {
        await chmod(rig.worker, 0o644);
        return rig.worker;
      },
      'Nobody can tell whether a release is newer than DIR/bin/svc-worker: with --version it cannot be started',
    ],
    [
      'says no version',
      async () => {
        await writeFile(rig.worker, '#!/bin/sh\necho a worker');
        return rig.worker;
      },
      'Nobody can tell whether a release is newer than DIR/bin/svc-worker: its --version prints no version.',
    ],
  ])('refuses a program that %s', async (_, make, sentence) => {
    const { exitCode, stderr } = await rig.run(['--program', await make(), '--', 'true']);
    expect(stderr).toContain(sentence);
    expect(exitCode).toBe(3);
  });

  it('refuses what belongs to somebody else', async (context) => {
    if (process.geteuid?.() !== 0) context.skip('it takes root to give a file away');
    await chmod(rig.directory, 0o755);
    await chmod(rig.bin, 0o777);
    const run = async () => {
      const { exitCode, stderr } = await rig.run([], {}, rig.svc, 65534);
      return [exitCode, stderr];
    };
    expect(await run()).toEqual([
      3,
      'DIR/bin/svc.mjs belongs to another user (uid 0, gid 0) than you (uid 65534).\nNext: run it as that user, or as root: sudo.',
    ]);
    await chmod(rig.bin, 0o755);
    await chown(rig.svc, 65534, 65534);
    expect(await run()).toEqual([
      3,
      'DIR/bin/svc.mjs cannot be replaced: in its directory, permission was denied.\nNext: run it as the owner of DIR/bin, or as root.',
    ]);
  });
});
