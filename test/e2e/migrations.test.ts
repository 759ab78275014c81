import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { type LayoutContext, layouts } from '../rig/layout.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 2.11: a service that runs once, and that the app waits for, runs from the new image before the app
// is replaced.

const ended = 'condition: service_completed_successfully';

const service = (name: string, image: string, lines: readonly string[] = []) =>
  [
    `  ${name}:`,
    `    image: ${image}`,
    `    command: [once, ${name}]`,
    "    volumes: ['./data:/data']",
    `    environment: { DB_PASSWORD: "\${DB_PASSWORD:?}" }`,
    ...lines.map((line) => `    ${line}`),
    '',
  ].join('\n');

/** App and worker wait for `migrate`, `migrate` for `seed`, and the app also for `bucket` of another product. */
const layoutOf = (kind: 'variable' | 'inline') => (context: LayoutContext) => {
  const { files, flags } = layouts[kind](context);
  const name = kind === 'variable' ? 'compose.prod.yaml' : 'compose.yaml';
  const image = `${context.image}:${kind === 'variable' ? `\${SVC_VERSION}` : context.tag}`;
  const more = [
    service('migrate', image, [`depends_on: { seed: { ${ended} } }`]),
    service('seed', image, ['restart: on-failure']),
    service('bucket', `${context.parts}/tunnel:1`),
  ].join('');
  const text = (files as Record<string, string>)[name] ?? '';
  const changed = text
    .replace('depends_on: [db]', `depends_on: { migrate: { ${ended} }, bucket: { ${ended} } }`)
    .replace('    command: worker\n', `    command: worker\n    depends_on: { migrate: { ${ended} } }\n`)
    .replace('volumes:\n  db:\n', `${more}volumes:\n  db:\n`);
  return { files: { ...files, [name]: changed }, flags };
};

const once = async (instance: Instance) => (await instance.read('data/once')).trimEnd().split('\n');
const forget = (instance: Instance, name: string) => rm(join(instance.directory, 'data', name));
const run = (...names: string[]) => names.flatMap((name) => [`${name} begins`, `${name} ends`]);

async function create(kind: 'variable' | 'inline', publish: string[]): Promise<Instance> {
  const instance = await createInstance({ ...alone, layout: layoutOf(kind), publish });
  for (const name of ['seed', 'migrate', 'bucket']) {
    await instance.write(`data/${name}`, '0\n');
    await instance.compose('up', '-d', '--no-deps', name);
    await execa('docker', ['wait', `${instance.project}-${name}-1`]);
  }
  return instance;
}

const inspect = async (instance: Instance, name: string) =>
  JSON.parse((await execa('docker', ['inspect', `${instance.project}-${name}-1`])).stdout)[0];

test('a migration runs once between the stop of the workers and the start of the new app, even if the updater is killed', async () => {
  const instance = await create('variable', ['v1.1.0']);
  const before = run('seed v1.0.0', 'migrate v1.0.0', 'bucket 1');
  expect(await once(instance)).toEqual(before);
  const ids = { app: (await inspect(instance, 'app')).Id, bucket: (await inspect(instance, 'bucket')).Id };
  const planned = await instance.update(['plan', '--target', 'v1.1.0']);
  expect(planned.log).toMatch(/, run migrate and seed once, recreate app and worker; bucket is not updated/);
  expect(planned.log).toContain('v1.1.0. Checks that need a missing image are skipped');

  await forget(instance, 'migrate');
  const killed = instance.startUpdate(['--target', 'v1.1.0']);
  await killed.waitFor('running migrate and waiting for it to finish');
  const begun = [...before, ...run('seed v1.1.0'), 'migrate v1.1.0 begins'];
  await expect.poll(() => once(instance)).toEqual(begun);
  expect(await inspect(instance, 'app')).toMatchObject({ Id: ids.app, State: { Running: true } });
  expect(await inspect(instance, 'worker')).toMatchObject({ State: { Status: 'exited' } });
  expect(await instance.version()).toBe('v1.0.0');
  await killed.kill();
  expect((await killed.done).exitCode).toBe(137);

  const goesOn = instance.startUpdate(['--target', 'v1.1.0']);
  await goesOn.waitFor('migrate is already running; waiting for it to finish');
  expect(await instance.version()).toBe('v1.0.0');
  await instance.write('data/migrate', '0\n');
  const { exitCode, log } = await goesOn.done;
  expect(exitCode, log).toBe(0);
  const all = [...begun, 'migrate v1.1.0 ends'];
  expect(await once(instance)).toEqual(all);
  expect([await instance.version(), await instance.workerVersion()]).toEqual(['v1.1.0', 'v1.1.0']);
  const { State: migrated } = await inspect(instance, 'migrate');
  const { State: app } = await inspect(instance, 'app');
  expect(Date.parse(app.StartedAt)).toBeGreaterThan(Date.parse(migrated.FinishedAt));
  expect((await inspect(instance, 'bucket')).Id).toBe(ids.bucket);
  for (const never of ['not run', 'has no container', 'is stopped', 'uses the same pin']) {
    expect(log).not.toContain(never);
  }

  const again = await instance.update(['--target', 'v1.1.0']);
  expect(again.exitCode, again.log).toBe(0);
  expect(again.log).toContain('done unchanged: app and worker run v1.1.0 already; nothing to do');
  expect(await once(instance)).toEqual(all);
});

test('an update is broken if a migration fails, and the app is not replaced', async () => {
  const instance = await create('inline', ['v1.1.0']);
  const { project } = instance;
  const names = ['app', 'worker', 'migrate', 'seed'].flatMap((name) => ['--service', name]);
  const to = (target: string, ...more: string[]) => instance.update(['--target', target, ...names, ...more]);
  const before = await once(instance);
  const old = (await inspect(instance, 'app')).Id;

  const behind = await instance.update(['--target', 'v1.1.0', '--service', 'app', '--service', 'worker']);
  expect(behind.exitCode, behind.log).toBe(3);
  expect(behind.log).toMatch(/refused \(unlisted-services\).*--service migrate --service seed/);

  // Simulates a cleanup that removes exited containers.
  await execa('docker', ['rm', `${project}-seed-1`]);
  await instance.write('data/migrate', '3\n');
  const failed = await to('v1.1.0');
  expect(failed.exitCode, failed.log).toBe(5);
  expect(failed.log).toMatch(
    /ERROR recreate last line printed by .*-migrate-1:\n.*svc v1\.1\.0: migrating with \*\*\*\n/,
  );
  expect(failed.log).toContain(`${project}-migrate-1 is exited (exit code 3)`);
  expect(failed.lines.at(-1)?.message).toBe(
    `broken (migration-failed): nothing was rolled back, because data may have been migrated; the files have already been updated; migrate failed; app is still running the old version, worker is stopped. Next: Check the output of docker compose -p ${project} logs migrate. Fix the cause, then run the update again. The update will also run migrate again.`,
  );
  expect((await inspect(instance, 'app')).Id).toBe(old);
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.workerVersion()).toBe(null);
  const tried = [...before, ...run('seed v1.1.0', 'migrate v1.1.0')];
  expect(await once(instance)).toEqual(tried);

  await instance.write('data/migrate', '0\n');
  const mended = await to('v1.1.0');
  expect(mended.exitCode, mended.log).toBe(0);
  expect(await once(instance)).toEqual([...tried, ...run('seed v1.1.0', 'migrate v1.1.0')]);
  expect([await instance.version(), await instance.workerVersion()]).toEqual(['v1.1.0', 'v1.1.0']);
});
