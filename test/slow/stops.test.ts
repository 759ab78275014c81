import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { createInstanceFor } from '../e2e/support/attempt.ts';
import { alone, createInstance } from '../e2e/support/instance.ts';
import { judgeOthers } from '../judge/containers.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { composeText } from '../rig/compose-text.ts';
import type { UpdateResult } from '../rig/updater-run.ts';

// docs/contract.md 2.15 and 2.16: no timeout interrupts a stop, and an interrupted stop is completed before the updater
// reports that the old version is running again.

const toNext = ['--target', 'v1.1.0'];
const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
const slow = (seconds: number) => ({ STOP_DELAY: `"${seconds}"` });

/** The longest time in seconds between two log lines, from the start of `recreate` to the last line about waiting. */
function longestSilence({ lines }: UpdateResult): number {
  const last = lines.findLastIndex(({ message }) => message.startsWith('waiting for '));
  const told = lines.slice(0, last + 1).filter(({ phase }) => phase === 'recreate');
  const times = told.map(({ time }) => Date.parse(time));
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time))) / 1000;
}

describe.concurrent('a stop that takes longer than the timeout of an engine request', () => {
  /** Longer than the timeout of requests and commands, 30 s. */
  const longer = 35;

  test.for(['worker', 'app'])('is awaited for the %s', async (service, { onTestFinished }) => {
    const instance = await createInstanceFor(onTestFinished, {
      ...alone,
      text: {
        extra: { [service]: 'stop_grace_period: 1h' },
        [service === 'app' ? 'environment' : 'workerEnvironment']: slow(longer),
      },
    });
    const before = await look(instance);
    const result = await instance.update(toNext);
    const waited = new RegExp(`waiting for \\S+-${service}-1 to stop \\([23]\\d s\\)`);
    const good = { exitCode: 0, says: [waited], ends: ['updated v1.0.0 → v1.1.0'], never: [/ WARN /] };
    const facts = [
      ...judgeWords(result, good),
      ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
    ];
    expect(facts, result.log).toEqual([]);
    // The updater logs every nine seconds, with some delay: a missing line is detected.
    expect(longestSilence(result)).toBeLessThan(17);
  });
});

test('a rollback stops a container before it removes and recreates the container', async () => {
  const instance = await createInstance({
    up: ['--no-deps', 'app', 'worker', 'sidecar'],
    publish: ['v1.1.3'],
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({
          app: `${c.image}:v1.0.0`,
          parts: c.parts,
          extra: {
            sidecar: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\nnetwork_mode: service:app`,
          },
        }),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\n`,
      },
      flags: [],
    }),
  });
  const sidecar = `${instance.project}-sidecar-1`;
  const began = Date.now() / 1_000;
  const before = await look(instance);
  const result = await instance.update(['--target', 'v1.1.3']);
  expect(
    judgeWords(result, { exitCode: 4, says: [], ends: ['v1.0.0 is running again'] }),
    result.log,
  ).toEqual([]);
  expect(
    judgeOthers(before.containers, (await look(instance)).containers, ['app', 'worker', 'sidecar']),
  ).toEqual([]);
  const period = ['--since', `${began}`, '--until', `${Date.now() / 1_000}`];
  const filter = ['--filter', `container=${sidecar}`, '--format', '{{json .}}'];
  const events = await execa('docker', ['events', ...period, ...filter]);
  const codes = /"exitCode":"(\d+)"/.exec(events.stdout);
  // A container that is killed without a stop signal exits with 137.
  expect(codes?.[1], result.log).toBe('0');
});
