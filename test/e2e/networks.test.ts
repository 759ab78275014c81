import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test, vi } from 'vitest';
import { onEngineEvent } from '../faults/kill.ts';
import { judgeBroughtBack, judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { composeText } from '../rig/compose-text.ts';
import { findContainers } from '../rig/engine-api.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 4.7 and 5.16: a network that was edited since it was made, which compose takes containers off; and
// what a container that was brought back has of what it had.

const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') } };
const label = 'com.docker.compose.config-hash';

const inspectNetwork = async (name: string) =>
  JSON.parse((await execa('docker', ['network', 'inspect', name])).stdout)[0];

/** Of app and worker. */
async function networks(instance: Instance): Promise<Record<string, string[]>> {
  const found = await findContainers(instance.project);
  const moved = found.filter(({ Name }) => /-(app|worker)-\d+$/.test(Name));
  return Object.fromEntries(
    await Promise.all(
      moved.map(async ({ Id, Name }) => {
        const { stdout } = await execa('docker', ['inspect', Id]);
        return [Name, Object.keys(JSON.parse(stdout)[0].NetworkSettings.Networks)];
      }),
    ),
  );
}

/** With definitions of all kinds, and one with nothing in it: unedited they are what compose made them from. */
function odd(port: number): (text: string) => string {
  const [high, low] = [port >> 8, port & 255];
  const definitions = `networks:
  internal:
    driver_opts: { com.docker.network.driver.mtu: "1400" }
    attachable: true
    labels: { "10": a, "2": b, "007": c, z: "<&> caf\u00e9 \\u2028 \\t\\"", a$$b: "$$$$ $$x", empty: "" }
    ipam:
      driver: default
      options: { svc.test: "1" }
      config: [{ subnet: 10.${high}.${low}.0/24, ip_range: 10.${high}.${low}.128/25, gateway: 10.${high}.${low}.1, aux_addresses: { a: 10.${high}.${low}.2 } }]
  plain:
`;
  return (text) =>
    text
      .replace(/networks:\n {2}internal:\n/, () => definitions)
      .replace(
        'volumes:\n  db:\n',
        () => 'volumes:\n  db:\n  odd: { labels: { "10": a, "9": "<$$>" }, driver_opts: {} }\n  bare:\n',
      )
      .replace('networks: [internal]', 'networks: [internal, plain]')
      .replace("volumes: ['./data:/data'", "volumes: ['odd:/odd', 'bare:/bare', './data:/data'");
}

/** Neither service stops before the test says so. */
const patient = {
  extra: { app: 'stop_grace_period: 10m', worker: 'stop_grace_period: 10m' },
  environment: { STOP_UNTIL: '/data/app-may-stop' },
  workerEnvironment: { STOP_UNTIL: '/data/worker-may-stop' },
};
const letStop = (instance: Instance, service: 'app' | 'worker') =>
  instance.write(`data/${service}-may-stop`, '');
const hold = ({ directory }: Instance, service: 'app' | 'worker') =>
  rm(join(directory, 'data', `${service}-may-stop`));

test('a network that compose has given a hash', async () => {
  const instance = await createInstance({
    byImagesCompose: true,
    layout: (c) => ({
      files: {
        'compose.yaml': odd(c.port)(
          composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts, ...patient }),
        ),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
  });
  await instance.publish('v1.1.3', { entrypoint: ['/bin/there-is-no-such-file'] });
  const text = await instance.read('compose.yaml');
  const before = await look(instance);
  const inside = await networks(instance);

  // Edited: nothing is stopped, and no option accepts it.
  const refused = {
    exitCode: 3,
    says: [
      /network \S+_internal was edited in the files since the instance was started: replacing app and worker would/,
    ],
    ends: [
      'refused (network-edited): nothing was changed, v1.0.0 runs on. Next: Apply the edit with docker compose -p',
    ],
  };
  const edited = text.replace('  internal:\n', '  internal:\n    enable_ipv6: false\n');
  await instance.write('compose.yaml', edited);
  await expectAttempt(instance, [...toNext, '--accept-drift'], refused);
  await expectAttempt(instance, ['plan', ...toNext], refused);
  await instance.write('compose.yaml', text);

  // Edited while the worker stops: compose stops the app, takes it off the network, and fails. What it planned to do after
  // that may be done before it ends: then it is compose that has connected the app again, and there is nothing to say.
  await letStop(instance, 'app');
  const run = instance.startUpdate(toNext);
  await run.waitFor('recreate stopping worker');
  await instance.write('compose.yaml', edited);
  await letStop(instance, 'worker');
  const failed = await run.done;
  await instance.write('compose.yaml', text);
  expectWords(failed, {
    exitCode: 4,
    says: ['compose could not replace app'],
    ends: ['failed (recreate-failed): the files are as they were and v1.0.0 runs again.'],
  });
  expect(judgeBroughtBack(before, await look(instance))).toEqual([]);
  expect(await networks(instance)).toEqual(inside);

  // Somebody takes the old worker off its network while the new app cannot start.
  const worker = `${instance.project}-worker-1`;
  await hold(instance, 'worker');
  const bad = instance.startUpdate(['--target', 'v1.1.3']);
  await bad.waitFor('recreate stopping worker');
  await execa('docker', ['network', 'disconnect', `${instance.project}_internal`, worker]);
  await letStop(instance, 'worker');
  expectWords(await bad.done, {
    exitCode: 4,
    says: [`${worker} is in network ${instance.project}_internal again`],
    ends: ['failed (recreate-failed): the files are as they were and v1.0.0 runs again.'],
  });
  expect(judgeBroughtBack(before, await look(instance))).toEqual([]);
  expect(await networks(instance)).toEqual(inside);

  // The app is being stopped when compose fails: it runs still, and ends after it was found running.
  const engine = await startBadEngine(`${instance.directory}.sock`);
  onTestFinished(() => engine.close());
  const app = (await findContainers(`${instance.project}-app-1`))[0]?.Id;
  const told = Promise.withResolvers<string>();
  const watching = await onEngineEvent('kill', 'app').watch(instance, told.resolve);
  await Promise.all([hold(instance, 'app'), hold(instance, 'worker')]);
  const late = instance.startUpdate(toNext, engine);
  await late.waitFor('recreate stopping worker');
  await instance.write('compose.yaml', 'services: [');
  const stop = execa('docker', ['stop', `${instance.project}-app-1`]);
  await told.promise;
  watching.stop();
  await letStop(instance, 'worker');
  // The updater's own, by a path without a version: it waits for what it has found running.
  const isWaitedFor = () => engine.requests.some((asked) => asked.startsWith(`POST /containers/${app}/stop`));
  await vi.waitUntil(isWaitedFor, { timeout: 60_000 });
  await letStop(instance, 'app');
  const rejected = await late.done;
  await Promise.all([stop, instance.write('compose.yaml', text)]);
  expectWords(rejected, {
    exitCode: 4,
    says: ['compose could not replace app'],
    ends: ['failed (recreate-failed): the files are as they were and v1.0.0 runs again.'],
  });
  expect(judgeBroughtBack(before, await look(instance))).toEqual([]);

  // Another definition of a volume is a warning; of a network that only others are in, it is nothing.
  await instance.write(
    'compose.yaml',
    text
      .replace('  bare:\n', '  bare: { labels: { a: b } }\n')
      .replace('  db:\n  odd', '  db: { labels: { a: b } }\n  odd'),
  );
  const last = await look(instance);
  const updated = await instance.update(toNext);
  expect([...judgeOutcome(updated, ['updated']), ...judgeUpdated(last, await look(instance), good)]).toEqual(
    [],
  );
  expect(updated.log).toContain(`volume ${instance.project}_bare was made from another definition`);
  expect(updated.log).not.toContain(`volume ${instance.project}_db`);
  expect(await networks(instance)).toEqual(inside);
});

test('a network that an older compose has made is no reason to refuse', async (context) => {
  const instance = await createInstance(alone);
  const { Labels } = await inspectNetwork(`${instance.project}_internal`);
  if (Labels[label] !== undefined) return context.skip('the compose of this machine gives networks a hash');
  const text = await instance.read('compose.prod.yaml');
  await instance.write(
    'compose.prod.yaml',
    text.replace('  internal:\n', '  internal: { labels: { a: b } }\n'),
  );
  await updateWell(instance, toNext, good);
});
