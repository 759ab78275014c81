import { execa } from 'execa';
import { expect, test } from 'vitest';
import type { UpdateResult } from '../rig/updater-run.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance } from './support/instance.ts';

// docs/contract.md 6.11: the commands of the last line work when pasted in the compose directory, even if a bare
// `docker compose` would find no file, or start a second instance under another name.

const toNext = ['--target', 'v1.1.0'];

test('the commands in the advice of a refused run work when pasted in the compose directory', async () => {
  const instance = await createInstance({ project: 'own', up: ['--no-deps', 'app', 'worker'] });
  const paste = (command: string) =>
    execa('sh', ['-c', command], { cwd: instance.directory, reject: false, all: true, timeout: 120_000 });
  const commandIn = ({ lines }: UpdateResult, form: RegExp) => {
    const last = lines.at(-1)?.message ?? '';
    const command = form.exec(last)?.[1];
    expect(command, last).toBeDefined();
    return command ?? '';
  };
  const edit = async (path: string, from: string, to: string) => {
    const text = await instance.read(path);
    expect(text).toContain(from);
    await instance.write(path, text.replaceAll(from, to));
  };
  const projects = async () => {
    const { stdout } = await execa('docker', ['compose', 'ls', '--all', '--format', 'json']);
    return (JSON.parse(stdout) as { Name: string }[])
      .map(({ Name }) => Name)
      .filter((name) => name.startsWith(instance.name));
  };

  await edit('compose.prod.yaml', 'command: app', 'comand: app');
  const invalid = await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: ['comand'],
    ends: ['(compose-invalid)'],
  });
  const config = commandIn(invalid, /until (docker compose .*? config) accepts it/);
  expect((await paste(config)).all).toContain('comand');
  await edit('compose.prod.yaml', 'comand: app', 'command: app');
  expect((await paste(config)).exitCode).toBe(0);

  // Only the worker changes, but the advised commands start the whole project.
  await edit('compose.prod.yaml', "volumes: ['./data:/data']", "volumes: ['./data:/data', './more:/more']");
  await instance.compose('up', '-d');
  await instance.waitUntilHealthy();
  await edit('compose.prod.yaml', ", './more:/more'", '');
  const drift = await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [/worker: the mount of .*more at \/more would be removed/],
    ends: ['(drift)'],
  });
  const apply = await paste(commandIn(drift, /Apply your own edits with (docker compose .*? up -d) first/));
  expect(apply.exitCode, apply.all).toBe(0);
  expect(await projects()).toEqual([instance.project]);
  await instance.waitUntilHealthy();
  await updateWell(instance, toNext, {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replace('v1.0.0', 'v1.1.0') },
  });
});
