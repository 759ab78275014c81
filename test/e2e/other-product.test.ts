import { expect, inject, test } from 'vitest';
import { type LayoutContext, layouts } from '../rig/layout.ts';
import { publish } from '../rig/registry.ts';
import { expectAttempt } from './support/attempt.ts';
import { runUpdater } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// A product whose services are not named like those of svc: a server, a worker, machine learning from another
// repository, and a database.

const settings = '.svc-updater.yaml';
const learningOf = (image: string) => image.replace(/svc$/, 'learning');

function layout(context: LayoutContext) {
  const { files, flags } = layouts.variable({
    ...context,
    text: { service: { 'machine-learning': 'tunnel' }, ...context.text },
  });
  const text = files['compose.prod.yaml']
    .replace('  app:\n', '  server:\n')
    .replace(
      /(machine-learning:\n {4}image: ).*/,
      (_, before: string) => `${before}${learningOf(context.image)}:\${SVC_VERSION}`,
    );
  return { files: { ...files, 'compose.prod.yaml': text }, flags };
}

async function createProduct(): Promise<Instance> {
  const { run, registry } = inject('host');
  const name = `${run}-own-services`;
  await publish(registry, `${name}/learning`, 'v1.0.0');
  const up = ['--no-deps', 'server', 'worker', 'machine-learning', 'db'];
  return createInstance({ name, layout, up });
}

test('the updater lists custom services, requires related services together, and updates them', async () => {
  const instance = await createProduct();
  const { image, name, directory } = instance;
  const learning = learningOf(image);
  const toNext = ['--target', 'v1.1.0'];
  const three = '--service server --service machine-learning --service worker';
  // The updater cannot recognize the database image of these tests as a database.
  const listAt = (version: string) => [
    `services: [server, machine-learning, worker]  # server runs ${image}:${version}`,
    `services: [db]  # db runs ${inject('host').parts}/db:1`,
  ];
  const choose = `Add one of the lines above to ${settings}, or specify the same services with --service, starting with the app.`;
  const refused = (args: readonly string[], code: string, says: string[], next: string) =>
    expectAttempt(instance, args, {
      exitCode: 3,
      says,
      ends: [`refused (${code}): nothing was changed`, next],
    });

  await refused(
    toNext,
    'no-app',
    [...listAt('v1.0.0'), `project ${name} in ${directory} has no container for service app`],
    `Services with containers: db, machine-learning, server, worker. ${choose}`,
  );
  await refused(
    [...toNext, ...three.split(' '), '--service', 'db'],
    'unrelated-service',
    [`db runs ${inject('host').parts}/db:1, which is not from the publisher of server (${image}:v1.0.0)`],
    `To update without db, run the update with ${three}.`,
  );
  // The message also lists the services that the command line omits.
  await refused(
    [...toNext, '--service', 'server', '--service', 'db'],
    'unrelated-service',
    [`db runs ${inject('host').parts}/db:1, which is not from the publisher of server`],
    `To update without db, run the update with ${three}.`,
  );
  await refused(
    [...toNext, '--service', 'server'],
    'unlisted-services',
    [
      `worker belongs with server (same repository: ${image}) but was not specified with --service`,
      'machine-learning belongs with server (same pin: SVC_VERSION in .env line ',
    ],
    `Run the update with ${three}, or add --exclude machine-learning --exclude worker to keep them at the old version.`,
  );
  await expectAttempt(
    instance,
    ['plan', ...toNext, '--service', 'server', '--service', 'worker', '--exclude', 'machine-learning'],
    {
      exitCode: 0,
      says: [
        `machine-learning is excluded and will stay at ${learning}:v1.0.0, although it belongs with server (same pin: `,
        'if v1.1.0 comes with a new compose file, compare it with yours',
        'services: [server, worker]',
        'exclude: [machine-learning]',
      ],
      ends: ['planned: nothing was changed'],
    },
  );

  await instance.write(settings, 'services: [server, machine-learning, worker]\n');

  // The second image is not published yet.
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [` ${learning}:v1.1.0: the registry has no such tag`],
    ends: [
      /^failed \(pull-unknown\): nothing was changed; v1\.0\.0 is still running\. /,
      `Check that ${learning}:v1.1.0 is published`,
    ],
    never: [`${image}:v1.1.0, ${learning}:v1.1.0: the`],
  });
  await publish(inject('host').registry, `${name}/learning`, 'v1.1.0');
  const before = await instance.containers();
  const updated = await runUpdater(instance, toNext);
  expect(updated).toMatchObject({ exitCode: 0 });
  expect(updated.lines.at(-1)?.message).toMatch(
    /^updated v1\.0\.0 → v1\.1\.0 .*to free up to \d+ MB, run docker image rm /,
  );
  for (const each of [image, learning]) expect(updated.lines.at(-1)?.message).toContain(` ${each}:v1.0.0`);
  const after = await instance.containers();
  const reference = (service: string) => after[`${name}-${service}-1`]?.reference;
  expect([reference('server'), reference('worker')]).toEqual([`${image}:v1.1.0`, `${image}:v1.1.0`]);
  expect(reference('machine-learning')).toBe(`${learning}:v1.1.0`);
  expect(after[`${name}-db-1`]).toEqual(before[`${name}-db-1`]);
  expect(await instance.version()).toBe('v1.1.0');

  await instance.write(settings, 'services: [server]\nwait: 9\n');
  await refused(
    ['--target', 'v1.2.0'],
    'settings-invalid',
    [`${settings} line 2: unknown key "wait"`],
    'Correct the mistake',
  );
});
