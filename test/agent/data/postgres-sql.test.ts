import { expect, it } from 'vitest';
import { postgres } from '../../../src/agent/data/postgres.ts';
import {
  asideSql,
  copySql,
  identifier,
  literal,
  ownNames,
  readSums,
  rolesSql,
} from '../../../src/agent/data/postgres-sql.ts';

it.each([
  ['plain', '"plain"', "'plain'"],
  ['a"b', '"a""b"', `'a"b'`],
  ["a'b", `"a'b"`, "'a''b'"],
  ['new\nline $do$ \\ ü :x', '"new\nline $do$ \\ ü :x"', "'new\nline $do$ \\ ü :x'"],
  ['"; DROP DATABASE x; --', '"""; DROP DATABASE x; --"', `'"; DROP DATABASE x; --'`],
])('quotes %j', (name, asIdentifier, asLiteral) => {
  expect([identifier(name), literal(name)]).toEqual([asIdentifier, asLiteral]);
});

it('takes no name with a byte 0', () => {
  expect(() => identifier('a\0b')).toThrow('byte 0');
});

it('says how a copy is made only where the server knows', () => {
  expect(copySql('x', 'y', 15)).toContain(
    'CREATE DATABASE "y" TEMPLATE "x" STRATEGY file_copy CONNECTION LIMIT 0;',
  );
  expect(copySql('x', 'y', 14)).toContain('CREATE DATABASE "y" TEMPLATE "x" CONNECTION LIMIT 0;');
});

it('lets no role end the block that it stands in', () => {
  const roles = [{ oid: '16400', rolname: "x$do$; DROP DATABASE app; --'" }];
  const statements = rolesSql({ roles, members: [], depends: [], settings: [], comments: [], databases: {} });
  const block = statements.find((each) => each.startsWith('DO $do$')) ?? '';
  expect(block.split('$do$')).toHaveLength(3);
  expect(block).toContain(`x$do\\u0024; DROP DATABASE app; --''`);
});

it('renames last what it puts aside', () => {
  expect(asideSql({ name: 'a"', copy: 'k' }).at(-1)).toBe('ALTER DATABASE "a""" RENAME TO "k"');
});

it('reads sums', () => {
  expect(readSums([['public.a', '1', '-2']])).toEqual({ 'public.a': ['1', '-2'] });
});

it.each(['svc_point_20261121t104207z_0', 'svc_kept_a_12', 'svc_look_00ff'])('%s is ours', (name) => {
  expect(ownNames.test(name)).toBe(true);
});

it('checks what comes from the disk', () => {
  const state = { file: 'db.point.json', sha256: '0'.repeat(64) };
  const one = { name: 'app', copy: 'svc_point_x_0', dump: null };
  const part = { service: 'db', major: 15, databases: [one], state };
  expect(postgres.isPart(part)).toBe(true);
  for (const lie of [
    null,
    { ...part, state: { ...state, file: '../../etc/passwd' } },
    { ...part, state: { ...state, file: '..' } },
    { ...part, databases: [{ ...one, copy: 'app' }] },
    { ...part, databases: [{ ...one, name: 'svc_kept_x_1' }] },
    { ...part, databases: [{ ...one, dump: { file: 'a/b', sha256: state.sha256 } }] },
    { ...part, major: '15' },
  ]) {
    expect(postgres.isPart(lie)).toBe(false);
  }
  expect(postgres.isSource({ service: 'db', databases: ['a'] })).toBe(true);
  expect(postgres.isSource({ service: 'db', databases: [1] })).toBe(false);
});
