import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usualTiming } from '../../../src/instance/contract/timing.ts';
import { HostFailure } from '../../../src/instance/host/ask-host.ts';
import type { QueueHold } from '../../../src/instance/host/queue-hold.ts';
import { HomeNotFound } from '../../../src/instance/place/home-not-found.ts';
import { RunWatch } from '../../../src/instance/run/watch-runs.ts';
import { until } from '../updates/rig.ts';

// What is done about the silence of store and engine, by what is known of runs (docs/contract.md 8.12).

const noStore = new HostFailure('store.get', 'failed');
const noEngine = new HomeNotFound('no-engine', 'no engine answers', { mayPass: true });
const noPlace = new HomeNotFound('not-compose', 'this is no compose project');

let closing: AbortController;
/** What the next looks find. */
let finds: Error | null;
let looks: number;
/** How often giving up fails. */
let failures: number;
let asked: (boolean | 'give up')[];
const logged: string[] = [];
beforeEach(() => {
  closing = new AbortController();
  finds = null;
  looks = 0;
  failures = 0;
  asked = [];
  logged.length = 0;
});
afterEach(() => closing.abort());

const known = { isKnown: true, isUnderWay: false, hasSession: false };
function watch(runs: Partial<typeof known> = {}, timing: Partial<typeof usualTiming> = {}): RunWatch {
  return new RunWatch(
    {
      ...known,
      ...runs,
      reconcile: async () => {
        looks++;
        if (finds) throw finds;
        return { home: null, noHome: null, updater: null, foreign: null };
      },
      giveUp: async () => {
        asked.push('give up');
        if (failures-- > 0) throw noStore;
      },
    },
    {
      hold: { ensure: async (held: boolean) => void asked.push(held) } as unknown as QueueHold,
      settings: { log: ({ level, message }) => void logged.push(`${level}: ${message}`) },
      timing: { ...usualTiming, watch: 40, watchClosely: 5, silence: 60, ...timing },
      closing: closing.signal,
    },
  );
}

describe('a silence', () => {
  it.each<[string, Error, Partial<typeof known>, boolean[]]>([
    ['of the store, before it is known what is on', noStore, { isKnown: false }, [true]],
    ['of the store, beside a run', noStore, { isUnderWay: true }, [true]],
    ['of the store, with nothing on', noStore, {}, []],
    ['of the engine, of which the store has a run', noEngine, {}, [true]],
  ])('%s', async (_, error, runs, expected) => {
    finds = error;
    await watch(runs, { watchClosely: 1_000 }).start();
    expect(asked).toEqual(expected);
  });

  it.each<[string, Error, Partial<typeof known>, unknown[]]>([
    ['resumes', noStore, { isKnown: false }, [false]],
    ['leaves a run alone that is followed', noStore, { isUnderWay: true, hasSession: true }, []],
    ['ends a run that nobody can tell of', noPlace, { isKnown: false }, ['give up']],
  ])('that is too long %s, once, with an error', async (_, error, runs, expected) => {
    finds = error;
    await watch(runs).start();
    await until(() => logged.length === 2);
    const before = asked.filter((what) => what !== true).length;
    const most = looks;
    await until(() => looks > most + 3);
    expect(asked.filter((what) => what !== true)).toEqual(expected);
    expect(before).toBeLessThanOrEqual(1);
    expect(asked.at(-1)).toBe(expected.at(-1) ?? true);
    expect(logged).toEqual([
      `warn: cannot tell whether an update is on: ${error.message}`,
      'error: for 0.001 minutes nobody could tell whether an update is on: the queue goes on',
    ]);
  });

  it('begins anew after an answer, and so does what is said of it', async () => {
    finds = noStore;
    await watch({ isKnown: false }).start();
    await until(() => logged.length === 2);
    finds = null;
    const before = looks;
    await until(() => looks > before);
    asked.length = 0;
    finds = noStore;
    await until(() => asked.length > 0);
    expect([asked[0], logged[2]]).toEqual([true, logged[0]]);
    await until(() => logged.length === 4);
    expect(asked.at(-1)).toBe(false);
  });
});

describe('a look', () => {
  it.each<[string, Error | null, Partial<typeof known>, boolean]>([
    ['while nobody tells', noStore, {}, true],
    ['while another server prepares a run', null, { isUnderWay: true }, true],
    ['while this one follows a run', null, { isUnderWay: true, hasSession: true }, false],
    ['with nothing on', null, {}, false],
  ])('%s', async (_, error, runs, isClose) => {
    finds = error;
    await watch(runs, { watch: 10_000, silence: 10_000 }).start();
    if (isClose) return until(() => looks > 2);
    await sleep(60);
    expect(looks).toBe(1);
  });
});
