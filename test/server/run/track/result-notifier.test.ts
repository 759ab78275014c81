import { afterEach, beforeEach, expect, it } from 'vitest';
import { defaultServerTiming } from '../../../../src/server/contract/timing.ts';
import { createRun } from '../../../../src/server/run/run-record.ts';
import { ResultNotifier } from '../../../../src/server/run/track/result-notifier.ts';
import { StateStore } from '../../../../src/server/store/state-store.ts';
import type { PastRun, ServerProcess } from '../../../../src/server/store/stored-entries.ts';
import type { Run } from '../../../../src/wire/status.ts';
import { HostDouble } from '../../../rig/host-double/host-double.ts';
import { until } from '../../updates/rig.ts';

// No test here waits for a timeout.
const timing = { ...defaultServerTiming, retry: 10, longestRetry: 20 };
const own = { container: 'own', word: 'w' };
let host: HostDouble;
let ledger: StateStore;
let closing: AbortController;
/** The state of another server, requested between the read of the store and the claim. */
let stateOf: (boot: ServerProcess) => 'this' | 'lives' | 'gone';
beforeEach(async () => {
  host = new HostDouble();
  ledger = new StateStore({ store: host.store, log: host.log }, timing);
  closing = new AbortController();
  stateOf = ({ container }) => (container === own.container ? 'this' : 'gone');
  await ledger.addPastRun(ended('1'), 'a');
});
afterEach(() => closing.abort());

const ended = (id: string): Run => ({
  ...createRun({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
  outcome: 'updated',
  endedAt: '2026-11-21T10:43:07.000Z',
});
const notifier = () =>
  new ResultNotifier(
    { ledger, settings: { onEnd: host.onEnd, log: host.log }, timing, closing: closing.signal },
    { own, stateOf: async (boot) => stateOf(boot) },
  );
const told = () => host.calls('onEnd').map(({ args }) => (args[0] as Run).id);
const first = async () => (await ledger.readPastRuns())[0];
const mark = (more: Partial<PastRun>) => ledger.changePastRun('1', (now) => ({ ...now, ...more }));

it('reports the oldest result first, each once, after recording the attempt', async () => {
  await ledger.addPastRun(ended('2'), 'a');
  host.fail('onEnd', { how: 'hang' });
  const all = notifier();
  const telling = all.notifyAll();
  await until(() => told().length === 1);
  expect((await ledger.readPastRuns()).at(-1)).toMatchObject({ told: false, attempts: 1, teller: own });
  host.recover();
  await telling;
  await all.notifyAll();
  expect(told()).toEqual(['1', '2']);
  expect((await ledger.readPastRuns()).map(({ told, attempts }) => [told, attempts])).toEqual([
    [true, 1],
    [true, 1],
  ]);
});

it.each<[string, Partial<PastRun>, 'lives' | 'gone', string[]]>([
  ['that lives', {}, 'lives', []],
  ['that is gone', {}, 'gone', ['1']],
  ['that is gone, for the third time', { attempts: 3 }, 'gone', []],
])('reports a result of another server %s only if necessary: %j', async (_, more, state, expected) => {
  await mark({ attempts: 1, teller: { container: 'other', word: 'x' }, ...more });
  stateOf = () => state;
  await notifier().notifyAll();
  expect(told()).toEqual(expected);
});

it('calls a failing onEnd three times, then logs that it gives up', async () => {
  host.fail('onEnd', { how: 'reject', times: 10 });
  await notifier().notifyAll();
  expect([told().length, await first()]).toMatchObject([3, { told: false, attempts: 3 }]);
  expect(host.logged.map(({ message }) => message)).toEqual([
    'onEnd failed and will be called again',
    'onEnd failed and will be called again',
    'onEnd failed too often and will not be called again for this update',
  ]);
});
