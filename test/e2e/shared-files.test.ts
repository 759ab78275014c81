import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Other projects that read a file which the update writes.

const toNext = ['--target', 'v1.1.0'];

/** A second project, beside the instance: made, and never started. */
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

/** The warnings of other projects, whatever phase they are told in. */
const told = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => line.includes('the next docker compose up of that project'))
    .map((line) => line.replace(/^\S+ WARN {2}\w+ /, 'WARN  ~ '));

test('live and staging from one folder, and another folder that takes the same file', async () => {
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
