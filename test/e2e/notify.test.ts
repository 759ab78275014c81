import { expect, test } from 'vitest';
import { receiver } from '../notify/receiver.ts';
import { bridgeAddress } from '../rig/bridge-address.ts';
import { runUpdater } from './support/good-run.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 6.12: a run posts notifications, and never depends on them.

test('an update posts notifications of its start and outcome, even if the receiver does not respond', async () => {
  let isAnswering = false;
  using hooks = await receiver(() => (isAnswering ? 200 : null), await bridgeAddress());
  const address = `http://${hooks.host}/secret-token`;
  const instance = await createInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0'] });
  /**
   * The received notifications, in order and without duplicates: on a busy machine, a notification may be sent twice.
   */
  const told = () => [
    ...new Set(
      hooks.received
        .splice(0)
        .map(({ path, body: { event, from, version, outcome } }) =>
          [path, event, from, version, outcome].filter(Boolean).join(' '),
        ),
    ),
  ];

  await runUpdater(instance, ['plan', '--target', 'v1.1.0', '--notify', address]);
  const repeated = ['--target', 'v1.0.0', '--notify', address];
  expect((await runUpdater(instance, repeated)).lines.at(-1)?.message).toMatch(/^unchanged/);
  expect(told()).toEqual([]);

  const hanging = await runUpdater(instance, ['--target', 'v1.1.0', '--notify', address]);
  expect([hanging.exitCode, hanging.lines.at(-1)?.message]).toEqual([
    0,
    expect.stringMatching(/^updated v1\.0\.0 → v1\.1\.0 /),
  ]);
  expect(hanging.log).toContain(
    `cannot post the notification "finished" to ${hooks.host}: no response before the timeout\n`,
  );
  expect(hanging.log).not.toContain('secret-token');
  expect(told()).toEqual([
    'POST /secret-token started v1.0.0 v1.1.0',
    expect.stringMatching(/^POST \/secret-token finished .*updated$/),
  ]);

  isAnswering = true;
  await instance.write('.svc-updater.yaml', `notify: ['${address}']\n`);
  const good = await runUpdater(instance, ['--target', 'v1.2.0']);
  expect([good.exitCode, good.log.match(/secret-token|cannot post/)]).toEqual([0, null]);
  const refused = await runUpdater(instance, ['--target', 'v1.0.0']);
  expect(refused.exitCode).toBe(3);
  expect(told()).toEqual([
    'POST /secret-token started v1.1.0 v1.2.0',
    expect.stringMatching(/^POST \/secret-token finished .*updated$/),
    expect.stringMatching(/^POST \/secret-token finished .*refused$/),
  ]);
});
