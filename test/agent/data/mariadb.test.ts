import { describe, expect, it } from 'vitest';
import { mariadb } from '../../../src/agent/data/mariadb.ts';

const source = { service: 'db', flavor: 'mariadb', version: '10.11.18-MariaDB', packet: 16_777_216 };
const written = { sha256: 'a'.repeat(64), bytes: 10 };
const kept = {
  service: 'db',
  flavor: 'mariadb',
  major: '10.11',
  schemas: written,
  accounts: written,
  tables: { '`svc`.`a`': [1, '2'], '`svc`.`b`': [1, null] },
  definers: ['app@%'],
};

describe('what comes from the disk', () => {
  it('is taken as it was written', () => {
    expect([mariadb.isSource([source]), mariadb.isPart([kept])]).toEqual([true, true]);
  });

  it.each([
    null,
    {},
    'x',
    [null],
    [{}],
    [{ ...source, service: '../../etc/passwd' }],
    [{ ...source, packet: '1; DROP' }],
  ])('is no source where it is %j', (value) => {
    expect(mariadb.isSource(value)).toBe(false);
  });

  it.each([
    [{ ...kept, service: 'a/b' }],
    [{ ...kept, schemas: { ...written, sha256: 'x' } }],
    [{ ...kept, accounts: { ...written, bytes: -1 } }],
    [{ ...kept, tables: { a: [1] } }],
    [{ ...kept, tables: null }],
    [{ ...kept, definers: [1] }],
    [{ ...kept, flavor: 'oracle' }],
  ])('is no part where it is %j', (value) => {
    expect(mariadb.isPart([value])).toBe(false);
  });
});
