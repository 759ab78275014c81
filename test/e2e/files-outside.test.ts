import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { look } from '../judge/look.ts';
import { layer } from '../rig/image.ts';
import { publish } from '../rig/registry.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Dependencies outside the compose file: files, plugins, mounted images, and the program of a health check.

const planNext = ['plan', '--target', 'v1.1.0'];
const file = 'compose.prod.yaml';
/** A stub of compose's plugin for language models. */
const plugin = `#!/bin/sh
[ "$1" != model ] || shift
case "$1" in
docker-cli-plugin-metadata) echo '{"SchemaVersion":"0.1.0","Vendor":"test","Version":"v0.0.1"}' ;;
status) echo '{"running":true,"endpoint":"http://127.0.0.1:12434/engines/v1/"}' ;;
ls) echo '[]' ;;
esac
`;

const refused = (reason: string, advice: string) => ({
  exitCode: 3,
  says: [reason],
  ends: ['refused (outside-mounts): nothing was changed.', `Next: ${advice}`],
});
const planned = { exitCode: 0, says: [], ends: ['planned: nothing was changed'] };

test('plan names files and plugins that the updater container lacks, and an update also updates mounted images with the pin', async () => {
  const instance = await createInstance(alone);
  const { registry, directory } = inject('host');
  const text = await instance.read(file);
  const say = (of: string, lines: string) =>
    instance.write(file, text.replace(`  ${of}:\n`, `  ${of}:\n    ${lines}\n`));

  const profile = join(directory, 'profile.json');
  await writeFile(profile, '{"defaultAction":"SCMP_ACT_ALLOW"}');
  await say('worker', `security_opt: ['seccomp=${profile}']`);
  await expectAttempt(
    instance,
    planNext,
    refused(
      `compose needs ${profile}, which is outside`,
      `Make sure that the file exists on the host. Add -v ${profile}:${profile} to`,
    ),
  );
  await expectAttempt(
    instance,
    [...planNext, '--accept-drift'],
    { ...planned, says: ['accepted: worker: '] },
    { volumes: [`${profile}:${profile}`] },
  );

  const models = '\nmodels: { small: { model: example/small } }\n';
  const program = join(directory, 'docker-model');
  await writeFile(program, plugin, { mode: 0o755 });
  const destination = '/usr/local/libexec/docker/cli-plugins/docker-model:ro';
  await say('app', 'models: [small]');
  await instance.write(file, `${await instance.read(file)}${models}`);
  await expectAttempt(
    instance,
    planNext,
    refused(
      'compose needs the docker-model plugin',
      `Add -v /usr/libexec/docker/cli-plugins/docker-model:${destination}`,
    ),
  );
  await expectAttempt(instance, planNext, planned, { volumes: [`${program}:${destination}`] });
  // The db uses the model, and the app depends on the db.
  await say('db', 'models: [small]');
  await instance.write(file, `${await instance.read(file)}${models}`);
  await expectAttempt(instance, planNext, planned);

  const repository = `${instance.name}/assets`;
  for (const tag of ['v1.0.0', 'v1.2.0']) await publish(registry, repository, tag);
  const assets = `{ type: image, source: '${registry}/${repository}:\${SVC_VERSION}', target: /assets }`;
  await instance.write(file, text.replace("'./data:/data'", `'./data:/data', ${assets}`));
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
  await instance.waitUntilHealthy();
  await updatesUnverified(instance);
  expect(await instance.compose('exec', '-T', 'app', 'cat', '/assets/etc/svc-version')).toBe('v1.2.0');
});

/** The release lacks the program of the app's health check, and the check takes longer than `--wait-timeout`. */
async function updatesUnverified(instance: Instance): Promise<void> {
  const withoutWget = layer([{ name: 'bin/.wh.wget', kind: 'file', content: '' }]);
  await instance.publish('v1.2.0', { layers: [withoutWget], env: { READY_AFTER: '0' } });
  const before = await look(instance);
  expectWords(await instance.update(['--target', 'v1.2.0', '--wait-timeout', '2']), {
    exitCode: 0,
    says: [
      `pulled ${instance.image.replace(/svc$/, 'assets')}:v1.2.0`,
      /WARN {2}verify app could not be verified, because its health check cannot run \(.*\/bin\/wget/,
    ],
    ends: [/^updated v1\.0\.0 → v1\.2\.0 in /],
  });
  expect((await look(instance)).containers).not.toEqual(before.containers);
  expectWords(await instance.update(['plan', '--target', 'v1.2.0']), {
    exitCode: 0,
    says: ['the health check of app cannot run, so the update of app cannot be verified'],
    ends: ['planned: nothing was changed'],
  });
}
