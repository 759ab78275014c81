import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { removeContainer } from './support/server.ts';

// Other projects and containers that share a file, a namespace or data with an updated service.

const toNext = ['--target', 'v1.1.0'];

/** Creates the containers of a second project next to the instance, without starting them. */
async function createBeside(
  instance: Instance,
  flags: readonly string[],
  { cwd = instance.directory, services = ['app', 'worker'] }: { cwd?: string; services?: string[] } = {},
): Promise<string> {
  const name = `${inject('host').run}-beside-${Math.random().toString(16).slice(2, 8)}`;
  onTestFinished(() => removeNamed(name));
  const command = ['compose', '-p', name, ...flags, 'create', ...services];
  await execa('docker', command, { cwd, stdin: 'ignore' });
  return name;
}

const takes = (name: string, directory: string, file: string, what: string) =>
  `WARN  ~ project ${name} (${directory}) also uses ${file}; the next docker compose up of that project will apply the change (${what})`;

/** The warnings about other projects, in any phase. */
const told = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => line.includes('the next docker compose up of that project'))
    .map((line) => line.replace(/^\S+ WARN {2}\w+ /, 'WARN  ~ '));

test('plan and update warn about other projects that use the same compose file', async () => {
  const other = await freePort();
  const instance = await createInstance({
    ...alone,
    kind: 'inline',
    project: 'live',
    files: (c) => ({
      'live.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\n`,
      'staging.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${other}\n`,
    }),
    flags: ['--env-file', 'live.env'],
  });
  const { directory } = instance;
  const staging = await createBeside(instance, ['--env-file', 'staging.env']);
  const elsewhere = `${directory}-elsewhere`;
  await execa('mkdir', [elsewhere]);
  onTestFinished(() => rm(elsewhere, { recursive: true }));
  const third = await createBeside(
    instance,
    [
      '--project-directory',
      elsewhere,
      '-f',
      join(directory, 'compose.yaml'),
      '--env-file',
      join(directory, 'staging.env'),
    ],
    { cwd: elsewhere },
  );
  const args = ['--project', instance.project, ...toNext];
  const written = 'compose.yaml line 4: v1.0.0 → v1.1.0; compose.yaml line 19: v1.0.0 → v1.1.0';
  const expected = [
    takes(staging, directory, 'compose.yaml', written),
    takes(third, elsewhere, 'compose.yaml', written),
  ].sort();
  const plan = await runUpdater(instance, ['plan', ...args]);
  expect(told(plan.log).sort()).toEqual(expected);
  const { log } = await updateWell(instance, args, {
    version: 'v1.1.0',
    changed: { 'compose.yaml': (text) => text.replaceAll('v1.0.0', 'v1.1.0') },
    warns: ['the next docker compose up of that project', 'the next docker compose up of that project'],
  });
  expect(told(log).sort()).toEqual(expected);
});

test('plan and update warn about containers that share a file, data or a namespace with an updated service', async () => {
  const instance = await createInstance({
    text: {
      extra: {
        db: 'env_file: .env',
        proxy: `ports: ['127.0.0.1:${await freePort()}:80']`,
        tunnel: "volumes: ['./.env:/settings']",
      },
    },
  });
  const { directory, project } = instance;
  const [app, proxy, tunnel] = ['app', 'proxy', 'tunnel'].map((name) => `${project}-${name}-1`);
  const outside = `${inject('host').run}-outside`;
  const run = async (name: string, ...flags: string[]) => {
    const image = [`${inject('host').parts}/tunnel:1`, 'tunnel'];
    await execa('docker', ['run', '--detach', '--name', name, ...flags, ...image]);
    onTestFinished(() => removeContainer(name));
  };
  // The app gets the next address, so its old address is free when it is replaced.
  await execa('docker', ['stop', `${app}`]);
  await run(`${outside}-placeholder`, '--network', `${project}_internal`);
  await execa('docker', ['start', `${app}`]);
  await removeContainer(`${outside}-placeholder`);
  await run(`${outside}-net`, '--network', `container:${app}`);
  await run(`${outside}-pid`, '--pid', `container:${app}`);
  await run(`${outside}-data`, '--volume', `${directory}/data:/backup`);
  await instance.waitUntilHealthy();
  const warns = [
    `${tunnel} has mounted the file .env directly, so it will read the old content until you run docker restart ${tunnel}`,
    `${outside}-data can write to the data of ${app}; check whether ${outside}-data supports the new version`,
    `${outside}-pid uses a namespace of ${app} and is killed when that container stops; recreate ${outside}-pid after the update`,
    `${outside}-net uses a namespace of ${app}; recreate ${outside}-net after the update`,
  ];
  const plan = await runUpdater(instance, ['plan', ...toNext]);
  for (const sentence of [
    ...warns,
    'services that the next docker compose up will recreate, because the update changes their configuration: db',
  ])
    expect(plan.log).toContain(sentence);
  const { log } = await updateWell(instance, toNext, {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replace('v1.0.0', 'v1.1.0') },
    warns,
  });
  expect(log).toMatch(
    new RegExp(
      `addresses have changed: ${app} from [\\d.]+ to [\\d.]+.*; if an app is unreachable, run docker restart ${proxy}`,
    ),
  );
  expect((await execa('docker', ['inspect', '--format', '{{.State.Status}}', `${outside}-pid`])).stdout).toBe(
    'exited',
  );
  // Every recommended command works.
  const [, command = ''] = /will recreate them: db \(to recreate them now: docker (.*)\)/.exec(log) ?? [];
  const version = async (name: string) => (await instance.containers())[name]?.id;
  const before = await version(`${project}-db-1`);
  await execa('docker', command.split(' '), { cwd: directory });
  expect(await version(`${project}-db-1`)).not.toBe(before);
  const settings = async () => (await execa('docker', ['exec', `${tunnel}`, 'cat', '/settings'])).stdout;
  expect(await settings()).toContain('SVC_VERSION=v1.0.0');
  await execa('docker', ['restart', '--time', '0', `${tunnel}`]);
  expect(await settings()).toContain('SVC_VERSION=v1.1.0');
});
