import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, test } from 'vitest';
import { formatMountFlags } from '../../src/core/errors/advice.ts';
import { type ComposeText, composeText } from '../rig/compose-text.ts';
import { findContainers } from '../rig/engine-api.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Where the compose directory is mounted, how the instance was started, and which containers share its namespaces.

const bumped = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');
const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': bumped } };

/** Pinned by SVC_VERSION in `.env`, with changes to the compose file. */
const layout =
  (changes: Partial<ComposeText>, edit = (text: string) => text, files: Record<string, string> = {}) =>
  (c: LayoutContext) => ({
    files: {
      'compose.yaml': edit(composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts, ...changes })),
      '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      ...files,
    },
    flags: [],
  });

const running = async (instance: Instance, service: string) =>
  Object.values(await instance.containers()).filter(
    (container) => container.service === service && container.status === 'running',
  ).length;

const environment = async (instance: Instance, service: string) => {
  const found = await findContainers(instance.project);
  return found
    .find(({ Config }) => Config.Labels['com.docker.compose.service'] === service)
    ?.Config.Env.sort();
};

describe('the compose directory', () => {
  test('can have special characters in its path, and its owner also owns the created files', async () => {
    const folder = `it's "my", $HOME, ü,`;
    const instance = await createInstance({ ...alone, folder, project: 'prod' });
    const { directory } = instance;
    await chown(directory, 1000, 1001);
    await updateWell(instance, toNext, good);
    const owners = await readdir(join(directory, '.svc-updater'), { recursive: true });
    for (const path of ['', ...owners.filter((name) => !name.endsWith('/.env'))]) {
      const { uid, gid } = await stat(join(directory, '.svc-updater', path));
      expect({ path, uid, gid }).toEqual({ path, uid: 1000, gid: 1001 });
    }
    const shell = await execa('sh', ['-c', `echo ${formatMountFlags(directory)}`]);
    expect(shell.stdout).toBe(`-v ${directory}:${directory}`);
  });

  test('can be in a parent directory mounted at another path, with two compose files and a custom project name', async () => {
    const instance = await createInstance({ ...alone, kind: 'two-files', project: 'prod' });
    const changed = { 'compose.site.yaml': bumped };
    const at = '/srv/some where';
    await updateWell(
      instance,
      [...toNext, '--dir', `${at}/${instance.name}`],
      { version: 'v1.1.0', changed, says: [/project \S+-prod in /, `is mounted at ${at}`] },
      { mount: null, volumes: [`${inject('host').directory}:${at}`] },
    );
    // The path inside the container must not be created on the host.
    expect(existsSync(at)).toBe(false);
  });

  test('can contain a link to an .env in another mounted directory, and the update writes to its target', async () => {
    const instance = await createInstance(alone);
    const elsewhere = join(inject('host').directory, `${instance.name}.conf`);
    const [env, outside] = [join(instance.directory, '.env'), join(elsewhere, 'svc.env')];
    await mkdir(elsewhere);
    await writeFile(outside, await instance.read('.env'));
    await rm(env);
    await symlink(outside, env);
    await updateWell(instance, toNext, { version: 'v1.1.0' }, { volumes: [`${elsewhere}:${elsewhere}`] });
    expect((await instance.snapshot()).files['.env']).toMatchObject({ kind: 'link', text: outside });
    expect(await readdir(elsewhere)).toEqual(['svc.env']);
    expect(await readFile(outside, 'utf8')).toMatch(/^SVC_VERSION=v1\.1\.0$/m);
  });
});

describe('the running containers', () => {
  test('keep their number of replicas, and a stopped replica stays stopped', async () => {
    const instance = await createInstance({ up: ['--scale', 'worker=3'] });
    await execa('docker', ['stop', `${instance.name}-worker-2`]);
    await updateWell(instance, toNext, {
      ...good,
      says: ['worker has 3 containers', /worker-2 is stopped and will not be started/],
    });
    expect(await running(instance, 'worker')).toBe(2);
  });

  test('are recreated and work if they share a namespace with the app or the worker', async () => {
    const instance = await createInstance({
      layout: (c) =>
        layout({
          extra: {
            sidecar: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\nnetwork_mode: service:app`,
            watcher: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\npid: service:worker`,
          },
        })(c),
    });
    await updateWell(instance, toNext, {
      ...good,
      recreated: ['app', 'worker', 'sidecar', 'watcher'],
      says: [/sidecar.*namespace/, /watcher.*namespace/],
    });
    const inSidecar = (...command: string[]) =>
      execa('docker', ['exec', `${instance.name}-sidecar-1`, ...command]).then(({ stdout }) => stdout);
    expect(await inSidecar('/bin/wget', '-qO-', 'http://127.0.0.1:8080/version')).toBe('v1.1.0');
    const inWatcher = await execa('docker', [
      'exec',
      `${instance.name}-watcher-1`,
      '/bin/cat',
      '/proc/1/cmdline',
    ]);
    expect(inWatcher.stdout).toContain('worker');
  });
});

describe('the environment of the updater', () => {
  test('is never passed to compose', async () => {
    const passThrough = (text: string) =>
      text.replaceAll('      SVC_HOST:', '      HTTP_PROXY:\n      SVC_HOST:');
    const instance = await createInstance({ ...alone, layout: layout({}, passThrough) });
    const before = await environment(instance, 'app');
    await updateWell(instance, toNext, good, {
      env: {
        SVC_VERSION: 'v9.9.9',
        SVC_HOST: 'evil.example.org',
        HTTP_PROXY: 'http://127.0.0.1:1',
        COMPOSE_FILE: '/nowhere/compose.yaml',
        COMPOSE_PROJECT_NAME: 'another',
        COMPOSE_PROFILES: 'other',
        DOCKER_DEFAULT_PLATFORM: 'linux/riscv64',
        DOCKER_CONTEXT: 'nowhere',
      },
    });
    expect(before?.some((line) => line.startsWith('SVC_HOST=localhost'))).toBe(true);
    expect(await environment(instance, 'app')).toEqual(before);
  });
});
