import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { validateInstanceOptions } from '../../src/server/contract/validate-options.ts';
import { listManualUpdateCommands } from '../../src/server/deployment/manual-commands.ts';
import { composeText } from '../rig/compose-text.ts';
import { engineSocket, removeNamed } from '../rig/engine-api.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { plainOptions } from '../server/deployment/container-details.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Compose directories that other programs created.

const toNext = ['--target', 'v1.1.0'];
const bumped = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');

// The compose files are on the host, in a directory that is not mounted.
test.each<[files: string, name: string, mounted: string]>([
  ['a default name', 'compose.yaml', 'compose.staging.yaml'],
  ['another name', 'prod.yml', 'compose.yaml'],
])(
  'compose files with %s in a directory that is not mounted are not reported as missing',
  async (_, name, mounted) => {
    const instance = await createInstance({
      ...alone,
      layout: (c) => ({
        files: {
          [name]: composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts }),
          '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
        },
        flags: ['-f', name],
      }),
    });
    const { directory, project } = instance;
    const other = `${directory}-other`;
    await mkdir(other);
    onTestFinished(() => rm(other, { recursive: true }));
    await writeFile(join(other, mounted), '');
    await expectAttempt(
      instance,
      ['plan', '--project', project, ...toNext],
      {
        exitCode: 3,
        says: [`${other} is not the directory of project ${project} (${directory})`],
        ends: [`Add -v ${directory}:${directory} to the docker run command.`],
        never: ['no longer contains a compose file'],
      },
      { mount: null, volumes: [`${other}:${other}`] },
    );
  },
);

describe('a stack in a volume of Portainer', () => {
  interface Stack {
    instance: Instance;
    volume: string;
    mountpoint: string;
    /** The path inside Portainer's container: `/data/compose/7`. */
    directory: string;
    /** Runs docker compose in Portainer's container. */
    inside: (...command: string[]) => Promise<string>;
  }

  /** A stack created by the compose of the updater image, in a container with its volume at `/data`. */
  async function createStack(): Promise<Stack> {
    const name = `${inject('host').run}-stack-${Math.random().toString(16).slice(2, 8)}`;
    const data = join(inject('host').directory, name, 'data');
    const instance = await createInstance({
      ...alone,
      name,
      layout: (c) => ({
        files: {
          'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts }).replaceAll(
            './data',
            `${data}`,
          ),
          '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
        },
        flags: [],
      }),
    });
    const volume = `${name}-portainer`;
    await execa('docker', ['volume', 'create', volume]);
    onTestFinished(async () => {
      // The containers write to the path of the volume, but the engine does not see that they use it and would not
      // protect it.
      await removeNamed(instance.project);
      await execa('docker', ['volume', 'rm', '--force', volume]);
    });
    const { stdout: mountpoint } = await execa('docker', [
      ...['volume', 'inspect', '--format', '{{.Mountpoint}}', volume],
    ]);
    // The stack of another test may still exist in a volume of its own, so the number in the path is unique.
    const directory = `/data/compose/${Number.parseInt(volume.slice(-16, -10), 16)}`;
    const home = join(mountpoint, relative('/data', directory));
    await mkdir(dirname(home));
    await execa('cp', ['-a', instance.directory, home]);
    await rm(instance.directory, { recursive: true });
    await symlink(home, instance.directory);
    const tool = `${inject('host').run}-tool-${volume.slice(-16, -10)}`;
    const mounts = [`${engineSocket}:/var/run/docker.sock`, `${volume}:/data`].flatMap((each) => [
      '-v',
      each,
    ]);
    await execa('docker', [
      ...['run', '--detach', '--name', tool, ...mounts],
      ...['--entrypoint', '/bin/sleep', updaterImage, '600'],
    ]);
    onTestFinished(async () => void (await execa('docker', ['rm', '--force', tool])));
    const inside = async (...command: string[]) =>
      (await execa('docker', ['exec', '-w', directory, tool, 'docker', 'compose', ...command])).stdout;
    await inside('-p', instance.project, 'up', '-d', '--force-recreate', '--no-deps', 'app', 'worker');
    await instance.waitUntilHealthy();
    return { instance, volume, mountpoint, directory, inside };
  }

  test('is refused with the missing -v option, and is updated after the volume is mounted', async () => {
    const { instance, volume, mountpoint, directory, inside } = await createStack();
    const source = `${mountpoint}/${relative('/data', directory)}:${directory}`;
    await expectAttempt(
      instance,
      ['--project', instance.project, ...toNext],
      {
        exitCode: 3,
        says: [`the directory ${directory} of project ${instance.project} is not mounted`],
        ends: [`Add -v ${source} to the docker run command.`],
      },
      { mount: null },
    );
    const good = { version: 'v1.1.0', changed: { '.env': bumped } };
    const elsewhere = { mount: null, volumes: [`${volume}:/portainer`] };
    await updateWell(instance, toNext, good, elsewhere);
    // A redeploy by Portainer recreates nothing.
    const ids = async () => Object.values(await instance.containers()).map(({ id }) => id);
    const before = await ids();
    await inside('-p', instance.project, 'up', '-d', '--no-deps', 'app', 'worker');
    expect(await ids()).toEqual(before);

    // The server knows the directory only as Portainer sees it, and shows a command for the directory on the host.
    await instance.publish('v1.2.0');
    const settings = validateInstanceOptions({
      ...plainOptions,
      version: 'v1.1.0',
      containerName: `${instance.name}-svc-updater`,
      updaterImage,
      updaterSocket: engineSocket,
    });
    const [command = ''] = listManualUpdateCommands(
      { project: instance.project, directory, directories: [], service: 'app' },
      settings,
      'v1.2.0',
    );
    await execa('sh', ['-c', command], { cwd: join(mountpoint, relative('/data', directory)) });
    expect(await instance.version()).toBe('v1.2.0');
  });
});
