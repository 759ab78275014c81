// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { generatedCompose } from '../rig/compose-text.ts';
import { findContainers } from '../rig/engine-api.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { createWithData } from './support/own-data.ts';
import { awaitRehearsed, runIn } from './support/rehearsal.ts';

// docs/contract.md 3.25. test/updater/compose/plan/release/plan-new-settings.test.ts tests how each value is chosen.

interface Listed {
  name: string;
  description?: string;
  required?: boolean;
  generate?: 'hex32' | 'base64-32' | 'uuid';
  secret?: boolean;
}

const listing = (...settings: Listed[]): ReleaseOptions => ({
  labels: { 'svc.settings': JSON.stringify(settings.map((each) => ({ description: '', ...each }))) },
});
const from = { name: 'MAIL_FROM', description: 'Sender of all mail', required: true };
const pin = { name: 'MAIL_PIN', required: true, secret: true };
const key = { name: 'APP_KEY', generate: 'hex32' } as const;
const environment = Object.fromEntries([from, pin, key].map(({ name }) => [name, `\${${name}:-}`]));

/** A directory that is mounted as `/run`, with this text in the settings file that a server would write. */
async function mounted(text: string) {
  const folder = await temporaryDirectory();
  const file = join(folder, 'svc-updater-settings.env');
  await writeFile(file, text, { mode: 0o600 });
  return {
    file,
    args: ['--set-file', '/run/svc-updater-settings.env'],
    options: { volumes: [`${folder}:/run`] },
  };
}

async function environmentOf({ project }: Instance, service: string): Promise<Record<string, string>> {
  const found = await findContainers(project);
  const own = found.find(({ Config }) => Config.Labels['com.docker.compose.service'] === service);
  return Object.fromEntries(
    (own?.Config.Env ?? []).map((entry) => entry.split(/=(.*)/s) as [string, string]),
  );
}

test('an update writes the new settings together with the version, and only those that the release lists', async () => {
  const instance = await createInstance({ ...alone, publish: [], text: { environment } });
  await instance.publish('v1.1.0', listing(from, pin, key));
  const update = ['update', '--target', 'v1.1.0'];
  const refused = (code: string, next: string, ...says: string[]) => ({
    ...{ exitCode: 3, says, never: ['hunter2', 'me@home'] },
    ends: [`refused (${code}): nothing was changed`, next],
  });
  await expectAttempt(
    instance,
    update,
    refused('missing-variable', 'with --set MAIL_FROM=… --set MAIL_PIN=….', 'MAIL_FROM: Sender of all mail'),
  );
  await expectAttempt(
    instance,
    [...update, '--set', 'MAIL_FROM=me@home', '--set', 'SVC_HOST=hunter2', '--set', 'TZ=hunter2'],
    refused('settings-invalid', '', 'the release does not list SVC_HOST and TZ as a new setting'),
  );
  await instance.publish('v1.2.0', listing({ name: 'SVC_PORT' }));
  await expectAttempt(instance, ['update', '--target', 'v1.2.0', '--set', 'SVC_PORT=1'], {
    exitCode: 4,
    says: [/services\.app\.ports\.0(?:\.\w+)?$/m],
    ends: ['failed (proof-failed)'],
  });

  const lost = await mounted('');
  await rm(lost.file);
  await expectAttempt(
    instance,
    [...update, ...lost.args],
    refused('settings-invalid', 'Start the update again', '/run/svc-updater-settings.env does not exist'),
    lost.options,
  );
  // An env file for `--set-file` cannot hold such a value; the env file of compose can.
  const pinText = `'"\`# $1\\`;
  const given = await mounted(
    JSON.stringify([
      ['MAIL_FROM', 'me@home $1'],
      ['MAIL_PIN', pinText],
    ]),
  );
  const shown = ['+MAIL_FROM=…', '+MAIL_PIN=…', '+APP_KEY=…'];
  await execa('docker', ['pull', '--quiet', `${instance.image}:v1.1.0`]);
  const planned = await mounted("MAIL_FROM='me@home $1'\nMAIL_PIN=123\n");
  await expectAttempt(
    instance,
    ['plan', '--target', 'v1.1.0', ...planned.args],
    { exitCode: 0, says: shown, ends: [], never: ['me@home', 'MAIL_PIN=123'] },
    planned.options,
  );

  const run = instance.startUpdate([...update, ...given.args], { ...given.options, keep: true });
  const result = await run.done;
  const written = await instance.read('.env');
  const [, generated = ''] = /^APP_KEY=([0-9a-f]{64})$/m.exec(written) ?? [];
  expectWords(result, {
    exitCode: 0,
    says: ['set MAIL_FROM; ', 'set MAIL_PIN; ', 'set APP_KEY to a generated value'],
    ends: ['updated v1.0.0 → v1.1.0'],
    never: ['me@home', pinText, generated],
  });
  expect(written).toMatch(/SVC_VERSION=v1\.1\.0\nMAIL_FROM='me@home \$1'\nMAIL_PIN=.*\nAPP_KEY=/);
  expect(await environmentOf(instance, 'app')).toMatchObject({
    ...{ MAIL_FROM: 'me@home $1', MAIL_PIN: pinText, APP_KEY: generated },
  });
  expect(existsSync(given.file)).toBe(false);
  const { stdout: inspected } = await execa('docker', ['inspect', run.name]);
  await execa('docker', ['rm', run.name]);
  const records = await execa(
    'grep',
    ['-rlE', `me@home|${generated}`, join(instance.directory, '.svc-updater')],
    {
      reject: false,
    },
  );
  expect([inspected.includes('me@home'), inspected.includes(generated), records.stdout]).toEqual([
    false,
    false,
    '',
  ]);

  // An installed release requires no settings, and a later release requires only those that are not set.
  await expectAttempt(instance, [...update, '--set', 'MAIL_FROM=new'], {
    exitCode: 0,
    says: ['v1.1.0 is already installed, so the settings passed to this run are not written'],
    ends: ['unchanged: '],
  });
  await instance.publish('v1.3.0', listing(from, pin, key));
  await updateWell(instance, ['--target', 'v1.3.0', '--set', 'MAIL_FROM=new-sender'], {
    version: 'v1.3.0',
    changed: {
      '.env': (text) => text.replace('v1.1.0', 'v1.3.0').replace('me@home $1', 'new-sender'),
    },
    says: ['set MAIL_FROM'],
  });
});

test('a rehearsal uses the values of new settings, and deletes the file that contains them', async () => {
  const instance = await createWithData({ publish: [], text: { environment } });
  await instance.publish('v1.1.0', {
    ...listing(from, pin, key),
    env: { READY_WHEN: 'go' },
  });
  const rehearse = ['rehearse', '--target', 'v1.1.0'];
  await expectAttempt(instance, rehearse, { exitCode: 3, says: [], ends: ['refused (missing-variable)'] });
  const lost = await mounted('');
  await rm(lost.file);
  await expectAttempt(
    instance,
    [...rehearse, ...lost.args],
    { exitCode: 3, says: [], ends: ['refused (settings-invalid)'] },
    lost.options,
  );
  const given = await mounted("MAIL_FROM='me@home'\nMAIL_PIN='hunter2'\n");
  const run = instance.startUpdate([...rehearse, ...given.args], given.options);
  const app = await awaitRehearsed(instance, run, 'v1.1.0');
  expect(existsSync(given.file)).toBe(false);
  expect(app.Config.Env).toEqual(expect.arrayContaining(['MAIL_FROM=me@home', 'MAIL_PIN=hunter2']));
  await runIn(app, 'touch /data/go-app');
  expectWords(await run.done, {
    exitCode: 0,
    says: [],
    never: ['hunter2'],
    ends: ['rehearsed v1.0.0 → v1.1.0'],
  });
  expect(await instance.read('.env')).not.toContain('MAIL_FROM');
});

test('a rollback removes the settings that the failed release added', async () => {
  const instance = await createWithData({ publish: [], text: { environment } });
  await instance.publish('v1.1.1', { ...listing(from, key), env: { FAULT_APP: 'exit' } });
  const before = await instance.read('.env');
  const args = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '8', '--set', 'MAIL_FROM=me@home'];
  const result = await instance.update(args);
  expectWords(result, {
    exitCode: 4,
    says: ['set MAIL_FROM; ', 'set APP_KEY to a generated value'],
    ends: ['failed (rolled-back): '],
    never: ['me@home'],
  });
  expect(await instance.read('.env')).toBe(before);
});

test('containers receive the exact value of a setting, through a variable and through an env file', async () => {
  const values = ["it's", 'a\\', ' "b" ', '$HOME ${X:-y} $$', '# c', '`id`$(id)', `'\\n"$A\\`, 'é\u2028=;&|'];
  const name = (at: number) => `TEXT_${at}`;
  const instance = await createInstance({
    ...alone,
    publish: [],
    text: {
      environment: Object.fromEntries(values.map((_, at) => [name(at), `\${${name(at)}:-}`])),
      extra: { worker: 'env_file: .env' },
    },
  });
  await instance.publish('v1.1.0', listing(...values.map((_, at) => ({ name: name(at) }))));
  const given = values.flatMap((value, at) => ['--set', `${name(at)}=${value}`]);
  const result = await instance.update(['--target', 'v1.1.0', ...given]);
  expectWords(result, { exitCode: 0, says: [], ends: ['updated v1.0.0 → v1.1.0'] });
  const wanted = Object.fromEntries(values.map((value, at) => [name(at), value]));
  for (const service of ['app', 'worker'])
    expect(await environmentOf(instance, service), service).toMatchObject(wanted);
});

test("the compose file of a release may require the release's settings", async () => {
  const instance = await createInstance({ ...alone, kind: 'generated', publish: [] });
  const text = generatedCompose('v1.1.0', { environment: { MAIL_FROM: '${MAIL_FROM:?}' } });
  await instance.publish('v1.1.0', { ...listing(from), files: { 'compose.yaml': text } });
  const result = await instance.update(['--target', 'v1.1.0', '--set', 'MAIL_FROM=me@home']);
  expectWords(result, { exitCode: 0, says: [], ends: ['updated v1.0.0 → v1.1.0'], never: ['me@home'] });
  expect(await environmentOf(instance, 'app')).toMatchObject({ MAIL_FROM: 'me@home' });
});
