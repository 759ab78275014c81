import { beforeEach, describe, expect, it } from 'vitest';
import { defaultServerTiming } from '../../../src/server/contract/timing.ts';
import { createRun } from '../../../src/server/run/run-record.ts';
import { StateStore } from '../../../src/server/store/state-store.ts';
import type { OpenRun } from '../../../src/server/store/stored-entries.ts';
import type { Run } from '../../../src/wire/status.ts';
import { channelFile } from '../../feed/channel-copies.ts';
import { HostDouble } from '../../rig/host-double/host-double.ts';

let host: HostDouble;
let ledger: StateStore;
beforeEach(() => {
  host = new HostDouble();
  ledger = new StateStore({ store: host.store, log: host.log }, defaultServerTiming);
});

const run = (id: string, more: Partial<Run> = {}): Run => ({
  ...createRun({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
  state: 'updated',
  outcome: 'updated',
  endedAt: '2026-11-21T10:43:07.000Z',
  ...more,
});
const open = (id: string): OpenRun => ({
  run: createRun({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
  server: { container: 'c', word: 'w' },
  updater: null,
  serverStoppedAt: null,
});
const sets = () => host.calls('set').length;

describe('the open run', () => {
  it('is changed only if the given id matches', async () => {
    await ledger.openRun(open('1'));
    expect(await ledger.changeOpenRun('2', () => null)).toBeNull();
    expect(await ledger.changeOpenRun('1', (now) => ({ ...now, updater: 'u' }))).toMatchObject({
      updater: 'u',
    });
    expect(await ledger.changeOpenRun('1', () => null)).toBeNull();
    expect([await ledger.read('run'), host.state.store.has('run')]).toEqual([null, false]);
  });

  it('in an unknown format is not changed until another run starts', async () => {
    host.state.store.set('run', '{"format":7}');
    expect([await ledger.read('run'), await ledger.changeOpenRun('1', () => null)]).toEqual([null, null]);
    expect([sets(), host.state.store.get('run')]).toEqual([0, '{"format":7}']);
    expect(await ledger.openRun(open('1'))).toBe(true);
  });
});

describe('past runs', () => {
  const past = async () =>
    (await ledger.readPastRuns()).map(({ run, updaterStartedAt }) => [
      run.id,
      run.outcome,
      run.downtimeSeconds,
      updaterStartedAt,
    ]);
  const crashed = { state: 'crashed', outcome: 'crashed' } as const;

  it.each<[string, Partial<Run>, string | null, unknown[]]>([
    ['of the same start stays as it is', crashed, 'a', ['1', 'updated', null, 'a']],
    ['that is only guessed changes nothing', crashed, null, ['1', 'updated', null, 'a']],
    ['of the same start adds what it measured', { downtimeSeconds: 2 }, 'a', ['1', 'updated', 2, 'a']],
    ['of another start takes its place', crashed, 'b', ['1', 'crashed', null, 'b']],
  ])('are updated correctly: a second result %s', async (_, more, startedAt, expected) => {
    await ledger.addPastRun(run('1'), 'a');
    await ledger.changePastRun('1', (now) => ({ ...now, told: true, attempts: 1 }));
    await ledger.addPastRun(run('2'), 'x');
    await ledger.addPastRun(run('1', more), startedAt);
    expect(await past()).toContainEqual(expected);
    const one = (await ledger.readPastRuns()).find(({ run }) => run.id === '1');
    expect([one?.told, one?.attempts]).toEqual(startedAt === 'b' ? [false, 0] : [true, 1]);
    expect(await past()).toHaveLength(2);
  });

  it('are limited to fifty, newest first', async () => {
    for (let at = 1; at <= 52; at++) await ledger.addPastRun(run(`${at}`), 'a');
    const ids = (await past()).map(([id]) => id);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([50, '52', '3']);
  });
});

it('returns the last server process of a container', async () => {
  const lastWord = async (container: string) => (await ledger.findServerProcess(container))?.word;
  await ledger.addServerProcess({ container: 'a', word: 'first' });
  await ledger.addServerProcess({ container: 'b', word: 'x' });
  await ledger.addServerProcess({ container: 'a', word: 'second' });
  expect([await lastWord('a'), await lastWord('c')]).toEqual(['second', undefined]);
  expect(JSON.parse(host.state.store.get('servers') ?? '')).toHaveLength(2);
});

it('keeps the channel and ignores unknown values', async () => {
  await ledger.edit('channel', () => 'canary');
  expect(await ledger.read('channel')).toBe('canary');
  host.state.store.set('channel', 'nightly');
  expect(await ledger.read('channel')).toBeNull();
});

it('keeps the publication date of the last offered release of each signer', async () => {
  const [early, late] = ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00.5Z'];
  const published = (publishedAt: string, signer = 'anna') => ({ signer, publishedAt });
  expect(await ledger.readBySigner('offered', 'stable')).toEqual({});
  await ledger.setLastOffered('stable', published(late));
  // Another server may not have seen the newer release yet.
  await ledger.setLastOffered('stable', published(early));
  expect([
    await ledger.readBySigner('offered', 'stable'),
    await ledger.readBySigner('offered', 'canary'),
    sets(),
  ]).toEqual([{ anna: late }, {}, 1]);
  await ledger.setLastOffered('stable', published(early, 'bert'));
  await ledger.setLastOffered('canary', published(early));
  expect(JSON.parse(host.state.store.get('offered') ?? '')).toEqual({
    stable: { anna: late, bert: early },
    canary: { anna: early },
  });
  for (const text of ['x', '{"stable":{"anna":"yesterday"}}']) {
    host.state.store.set('offered', text);
    expect(await ledger.readBySigner('offered', 'stable')).toEqual({});
  }
  await ledger.setLastOffered('stable', published(early));
  expect(await ledger.readBySigner('offered', 'stable')).toEqual({ anna: early });
});

describe('the id of the instance', () => {
  it('is random, and created once by any number of servers', async () => {
    const ledgers = Array.from(
      { length: 5 },
      () => new StateStore({ store: host.store, log: host.log }, defaultServerTiming),
    );
    const found = await Promise.all(ledgers.map((one) => one.readStagedRollout()));
    await ledger.readStagedRollout('v1.5.0');
    const { instance, asked } = await ledger.readStagedRollout();
    expect(instance).toMatch(/^[0-9a-f-]{36}$/);
    expect([new Set(found.map((one) => one.instance)), asked]).toEqual([new Set([instance]), 'v1.5.0']);
    const other = new HostDouble();
    const elsewhere = await new StateStore(
      { store: other.store, log: other.log },
      defaultServerTiming,
    ).readStagedRollout();
    expect(elsewhere.instance).not.toBe(instance);
  });
});

it('a channel file that was issued before the stored file of its signer changes nothing', async () => {
  const [older, newer] = ['2026-11-19T08:00:00Z', '2026-11-20T08:00:00Z'].map((issuedAt) =>
    channelFile({ issuedAt }),
  );
  if (!older || !newer) throw new Error('two files');
  await ledger.setChannelFile('anna', newer);
  await ledger.setChannelFile('anna', older);
  await ledger.setChannelFile('bert', older);
  await ledger.setChannelFile('anna', { ...older, channel: 'canary' });
  expect(await ledger.readBySigner('channel-files', 'stable')).toEqual({ anna: newer, bert: older });
  expect(await ledger.readBySigner('channel-files', 'canary')).toEqual({
    anna: { ...older, channel: 'canary' },
  });
});
