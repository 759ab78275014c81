import { describe, expect, it } from 'vitest';
import {
  copyName,
  dataOf,
  type KeptDatabase,
  planRestore,
  refusalsOf,
  tellTables,
} from '../../../src/agent/data/postgres-plan.ts';
import { hiddenOf, lookName } from '../../../src/agent/data/postgres-session.ts';
import type { FoundDatabase, ServerFacts } from '../../../src/agent/data/postgres-sql.ts';

const database = (name: string, given: Partial<FoundDatabase> = {}): FoundDatabase => ({
  name,
  bytes: 1,
  isOpen: true,
  isMarked: false,
  limit: -1,
  real: null,
  ...given,
});
const facts = (given: Partial<ServerFacts> = {}): ServerFacts => ({
  major: 15,
  isSuperuser: true,
  isStandby: false,
  slots: 0,
  subscriptions: 0,
  prepared: [],
  directory: '/data',
  databases: [database('app')],
  ...given,
});
const copy = (name: string, at: string): KeptDatabase => ({ name, copy: at, dump: null });
const dumped = (name: string, at: string): KeptDatabase => ({
  ...copy(name, at),
  dump: { file: 'x', sha256: '' },
});

it('knows whose data they are', () => {
  const databases = [
    database('app'),
    database('shut', { isOpen: false }),
    database('ours', { isOpen: false, isMarked: true }),
    database(copyName('point', 'p', 0), { isMarked: true }),
    database('svc_point'),
  ];
  expect(dataOf({ databases }).map(({ name }) => name)).toEqual(['app', 'ours', 'svc_point']);
});

it.each([
  [lookName('a:b\nc'), '50:a:b\nc', { name: 'a:b\nc', limit: 50 }],
  [lookName('app'), '-1:app', { name: 'app', limit: -1 }],
  [lookName('app'), null, null],
  [lookName('app'), '-1:postgres', null],
  [lookName('app'), 'app', null],
  ['app', '-1:postgres', null],
])('believes of %s no other name than its own: %j', (name, real, was) => {
  expect(hiddenOf(database(name, { real }))).toEqual(was);
});

describe('refusals', () => {
  it.each<[string, Partial<ServerFacts>, readonly string[], RegExp | null]>([
    ['nothing', {}, [], null],
    ['an old major', { major: 13 }, [], /is PostgreSQL 13/],
    ['no superuser', { isSuperuser: false }, [], /no superuser/],
    ['a standby', { isStandby: true }, [], /follows another/],
    ['slots', { slots: 1 }, [], /replication slots/],
    ['subscriptions', { subscriptions: 2 }, [], /subscriptions/],
    ['prepared', { prepared: [{ id: 'g', database: 'app' }] }, [], /\(g in app\)/],
    ['timescale', {}, ['app'], /timescaledb/],
    ['no database', { databases: [] }, [], /no database/],
  ])('%s', (_, given, withTimescale, said) => {
    const found = refusalsOf(facts(given), 'db', withTimescale);
    expect(found).toEqual(said === null ? [] : [expect.stringMatching(said)]);
  });
});

describe('what is left of a restore', () => {
  const point = [copy('a', 'p0'), copy('b', 'p1')];
  const kept = [copy('a', 'k0'), copy('new', 'k1')];
  const none = { aside: [], load: [], back: [], missing: [] };

  it.each([
    ['all', ['a', 'new', 'p0', 'p1'], { ...none, aside: kept, back: point }],
    ['nothing', ['a', 'b', 'k0', 'k1'], none],
    ['a copy is gone', ['a', 'new', 'p1'], { ...none, aside: kept, back: point, missing: ['p0'] }],
    ['all copies are gone', ['a', 'b'], { ...none, aside: [kept[0]], back: point, missing: ['p0', 'p1'] }],
    ['one was dropped since', ['new', 'p0', 'p1'], { ...none, aside: [kept[1]], back: point }],
  ])('of copies: %s', (_, existing, plan) => {
    expect(planRestore(existing, point, kept)).toEqual(plan);
  });

  const dumps = [dumped('a', 'p0')];
  it.each([
    ['all', ['a', 'new'], kept, { ...none, aside: kept, load: dumps, back: dumps }],
    ['loading', ['k0', 'k1', 'p0'], kept, { ...none, load: dumps, back: dumps }],
    ['nothing', ['a', 'k0', 'k1'], kept, none],
    [
      'it is done once more',
      ['a'],
      [dumped('a', 'k0')],
      { ...none, aside: [dumped('a', 'k0')], load: dumps, back: dumps },
    ],
  ])('of dumps: %s', (_, existing, away, plan) => {
    expect(planRestore(existing, dumps, away)).toEqual(plan);
  });
});

it('tells tables as people call them, and nothing that is no table', () => {
  const sums = {
    app: { 'public.a': ['3', '1'], 's.c': ['2', '7'], 'catalog proc': ['5', '5'] },
  } as const;
  expect(tellTables(sums, true)).toEqual({ a: [3, '1'], 's.c': [2, '7'] });
  expect(tellTables(sums, false)).toEqual({ 'app: a': [3, '1'], 'app: s.c': [2, '7'] });
});
