import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { inspect, removeContainer } from './support/server.ts';

// Compose files and containers that differ from those of the last `docker compose up`.

const toNext = ['--target', 'v1.1.0'];
const bumped = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');
const good = { version: 'v1.1.0', changed: { '.env': bumped } };

/** An instance that compose finds without `-f`, with its data at an absolute path. */
function createDefault(file = 'compose.yaml'): Promise<Instance> {
  const name = `${inject('host').run}-files-${Math.random().toString(16).slice(2, 8)}`;
  const data = join(inject('host').directory, name, 'data');
  return createInstance({
    ...alone,
    name,
    layout: (c) => ({
      files: {
        [file]: composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts }).replaceAll('./data', data),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
  });
}

test('an update warns about an override file that was written after the last docker compose up', async () => {
  const instance = await createDefault();
  const override = `services: { app: { image: '${instance.image}:v1.0.0' } }\n`;
  await instance.write('compose.override.yaml', override);
  const warning = `the update uses compose.yaml, like the last docker compose up. Without -f, the next docker compose up will use compose.yaml and compose.override.yaml; it will start app with ${instance.image}:v1.0.0 (image of app in compose.override.yaml line 1)`;
  await expectAttempt(instance, ['plan', ...toNext], { exitCode: 0, says: [warning], ends: ['planned'] });
  await updateWell(instance, toNext, { ...good, warns: [warning] });
  // Compose would start the image that the warning contains.
  expect(await instance.compose('config', '--images')).toContain(`${instance.image}:v1.0.0`);
});

test('an update warns about a compose.yaml next to the docker-compose.yml of the last docker compose up', async () => {
  const instance = await createDefault('docker-compose.yml');
  await cp(join(instance.directory, 'docker-compose.yml'), join(instance.directory, 'compose.yaml'));
  const warning =
    'the update uses docker-compose.yml, like the last docker compose up. Without -f, the next docker compose up will use compose.yaml';
  await updateWell(instance, toNext, { ...good, warns: [warning] });
});

test('an update uses a compose file that was renamed to another default name', async () => {
  const instance = await createDefault('docker-compose.yml');
  await rename(join(instance.directory, 'docker-compose.yml'), join(instance.directory, 'compose.yaml'));
  const says = ['docker-compose.yml no longer exists; the update uses compose.yaml'];
  await updateWell(instance, toNext, { ...good, says });
});

test('an update is refused with a working command if the compose file was renamed to a custom name', async () => {
  const instance = await createDefault();
  const { directory, project } = instance;
  await rename(join(directory, 'compose.yaml'), join(directory, 'prod.yaml'));
  await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [`${directory}/compose.yaml does not exist`],
    ends: [
      'refused (compose-invalid): nothing was changed',
      `run docker compose -p ${project} with the new names (-f, --env-file) and up -d --no-deps --force-recreate app worker, then run the update again.`,
    ],
  });
  const up = ['up', '-d', '--no-deps', '--force-recreate', 'app', 'worker'];
  await execa('docker', ['compose', '-p', project, '-f', 'prod.yaml', ...up], { cwd: directory });
  await instance.waitUntilHealthy();
  expect(await runUpdater(instance, toNext)).toMatchObject({ exitCode: 0 });
});

test('an update is refused with the working -v option if a runner started the project inside its container', async () => {
  const instance = await createDefault();
  const { directory, project } = instance;
  const inside = `/builds-${project}`;
  await execa('docker', [
    ...[
      'run',
      '--rm',
      '-v',
      `${engineSocket}:/var/run/docker.sock`,
      '-v',
      `${directory}:${inside}`,
      '-w',
      inside,
    ],
    ...['--entrypoint', 'docker', updaterImage, 'compose', '-p', project],
    ...['up', '-d', '--no-deps', '--force-recreate', 'app', 'worker'],
  ]);
  await instance.waitUntilHealthy();
  // Without --project: test/updater/compose/inspect/find-project/locate-project.test.ts.
  const args = [...toNext, '--project', project];
  await expectAttempt(instance, args, {
    exitCode: 3,
    says: [`${directory} is not the directory of project ${project} (${inside})`],
    ends: ['refused (not-mounted)', `Add -v ${directory}:${inside} to the docker run command.`],
  });
  // The path of the labels does not exist on the host.
  const volumes = [`${directory}:${inside}`];
  await updateWell(instance, args, good, { volumes });
});

test('an update is refused if another updater left a second app container, and succeeds after its removal', async () => {
  const instance = await createDefault();
  const app = `${instance.project}-app-1`;
  const left = `${app}-old`;
  const { Config, Image } = await inspect(app);
  const labels = Object.entries<string>(Config.Labels);
  await execa('docker', [
    ...['run', '--detach', '--name', left, '--network', 'none', '-v', `${instance.directory}/data:/data`],
    ...labels.flatMap(([label, value]) => ['--label', `${label}=${value}`]),
    ...['--env', 'DB_PASSWORD=x', Image, 'app'],
  ]);
  onTestFinished(() => removeContainer(left).catch(() => {}));
  const ends = [
    'refused (unrelated-container): nothing was changed',
    `Make sure that ${app} is the container to keep. To remove the other, run docker rm -f ${left}. Then run the update again.`,
  ];
  const says = [
    `of service app in project ${instance.project} have the same number; another updater has probably left ${left} behind`,
  ];
  for (const args of [['plan', ...toNext], toNext])
    expectWords(await instance.update(args), { exitCode: 3, says, ends });
  expect((await inspect(left)).State.Running).toBe(true);
  await execa('docker', ['rm', '--force', left]);
  await updateWell(instance, toNext, good);
});
