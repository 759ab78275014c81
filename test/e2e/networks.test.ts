import { execa } from 'execa';
import { expect, test } from 'vitest';
import { judgeBroughtBack, judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { composeText } from '../rig/compose-text.ts';
import { findContainers } from '../rig/engine-api.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 4.7 and 5.16: compose disconnects containers from a network that was edited after its creation, and
// a recreated container gets its old networks.

const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') } };

/** The networks of the app and worker containers, by container name. */
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

/**
 * Network and volume definitions of all kinds, and empty ones: unedited, they must match what compose created from
 * them.
 */
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

/** The worker stops only when the test writes a file. */
const patient = {
  extra: { worker: 'stop_grace_period: 10m' },
  workerEnvironment: { STOP_UNTIL: '/data/worker-may-stop' },
};

test('refuses an update if a network definition was edited, and rolls back if it is edited during the update', async () => {
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
  const text = await instance.read('compose.yaml');
  const before = await look(instance);
  const inside = await networks(instance);

  // The network is edited before the update: nothing is stopped, and no option accepts the edit.
  const refused = {
    exitCode: 3,
    says: [
      /network \S+_internal was edited in the files after the app was started: replacing app and worker would/,
    ],
    ends: [
      'refused (network-edited): nothing was changed; v1.0.0 is still running. Next: Apply the changes with docker compose up -d',
    ],
  };
  const edited = text.replace('  internal:\n', '  internal:\n    enable_ipv6: false\n');
  await instance.write('compose.yaml', edited);
  await expectAttempt(instance, [...toNext, '--accept-drift'], refused);
  await expectAttempt(instance, ['plan', ...toNext], refused);
  await instance.write('compose.yaml', text);

  // The network is edited while the worker stops: compose stops the app, disconnects it from the network, and fails.
  // Compose may still reconnect the app before it exits; then the updater has nothing to report about networks.
  const run = instance.startUpdate(toNext);
  await run.waitFor('recreate stopping worker');
  await instance.write('compose.yaml', edited);
  await instance.write('data/worker-may-stop', '');
  const failed = await run.done;
  await instance.write('compose.yaml', text);
  expectWords(failed, {
    exitCode: 4,
    says: ['compose could not replace app'],
    ends: ['failed (recreate-failed): the original files are in place, and v1.0.0 is running again.'],
  });
  expect(judgeBroughtBack(before, await look(instance))).toEqual([]);
  expect(await networks(instance)).toEqual(inside);

  // A changed volume definition causes a warning, unless only services that are not updated use the volume.
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
  expect(updated.log).toContain(`the definition of volume ${instance.project}_bare in the files has changed`);
  expect(updated.log).not.toContain(`volume ${instance.project}_db`);
  expect(await networks(instance)).toEqual(inside);
});
