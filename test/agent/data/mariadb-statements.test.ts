import { describe, expect, it } from 'vitest';
import {
  dumpOfPrivileges,
  dumpOfSchemas,
  emptyPrivileges,
  type Facts,
  inventDefiners,
  lock,
  majorOf,
  othersIn,
  quoted,
  refusalsOf,
  rollBackPrepared,
  rowsOf,
  tableName,
  tellTables,
  wordsOf,
} from '../../../src/agent/data/mariadb-statements.ts';

const facts = (differing: Partial<Facts> = {}): Facts => ({
  flavor: 'mariadb',
  version: '10.11.18-MariaDB-0+deb12u1',
  schemas: 2,
  tables: 20,
  bytes: 237_000_000,
  plain: 0,
  versioned: 0,
  floats: 0,
  replication: false,
  prepared: 0,
  brokenViews: [],
  ...differing,
});

describe('a name', () => {
  it.each([
    ['svc', '`svc`'],
    ['a`; DROP DATABASE svc; --', '`a``; DROP DATABASE svc; --`'],
    ['`', '````'],
    ["a'b\\\n", "`a'b\\\n`"],
  ])('%j is quoted as %j', (name, text) => {
    expect(quoted(name)).toBe(text);
  });

  it('of a table is its own, whatever is in it', () => {
    expect(tableName('a`.`b', 'c')).not.toBe(tableName('a', 'b`.`c'));
  });

  it('of a definer is one text, whatever is in it', () => {
    expect(inventDefiners(["o'dd\\@x@%"])).toBe(
      "CREATE USER 'o\\'dd\\\\@x'@'%' ACCOUNT LOCK; GRANT ALL ON *.* TO 'o\\'dd\\\\@x'@'%';",
    );
  });

  it('of a schema is no option of the dump', () => {
    const args = dumpOfSchemas('mariadb', '10.11.1', ['--result-file=/x', '-p'], ['a.b']);
    expect(args.slice(args.indexOf('--'))).toEqual(['--', '--result-file=/x', '-p']);
  });
});

describe('an answer', () => {
  it.each([
    ['', []],
    [
      'a\tb\n\tNULL\n',
      [
        ['a', 'b'],
        ['', 'NULL'],
      ],
    ],
    ['a\\tb\\nc\\\\n\\0\n', [['a\tb\nc\\n\0']]],
  ])('%j has the rows %j', (text, rows) => {
    expect(rowsOf(text)).toEqual(rows);
  });
});

describe('sessions', () => {
  it('of others are all but our own, the server its own, and the health check', () => {
    const rows = [
      ['7'],
      ['1', 'system user', '', 'NULL', 'Daemon', '0', 'InnoDB purge', 'NULL'],
      ['2', 'event_scheduler', 'localhost', 'NULL', 'Daemon', '0', 'Waiting', 'NULL'],
      ['3', 'healthcheck', 'localhost', 'NULL', 'Sleep', '0', '', 'NULL'],
      ['7', 'root', 'localhost', 'NULL', 'Query', '0', 'starting', 'SHOW PROCESSLIST'],
      ['8', 'svc', '172.18.0.3:51234', 'svc', 'Sleep', '3', '', 'NULL'],
      ['9', 'root', 'localhost', 'NULL', 'Sleep', '3', '', 'NULL'],
    ];
    expect(othersIn(rows)).toEqual([
      { id: '8', words: 'svc from 172.18.0.3, in svc' },
      { id: '9', words: 'root from localhost' },
    ]);
  });

  it.each([
    ['mariadb', [['1', '4', '0', "'left'"]], ["XA ROLLBACK 'left';"]],
    ['mysql', [['1', '2', '1', '0x612762']], ["XA ROLLBACK X'6127',X'62',1;"]],
  ] as const)('that are gone may have left something prepared at %s', (flavor, rows, statements) => {
    expect(rollBackPrepared(flavor, rows)).toEqual(statements);
  });
});

describe('accounts', () => {
  it.each(['mariadb', 'mysql'] as const)('are locked but for ours, at %s', (flavor) => {
    expect(lock(flavor)).toContain("WHERE NOT (User = 'root' AND Host = 'localhost')");
  });

  it('are emptied but for ours, with all that anybody may do', () => {
    expect(emptyPrivileges(['global_priv', 'db', 'roles_mapping'])).toBe(
      [
        "DELETE FROM mysql.global_priv WHERE NOT (User = 'root' AND Host = 'localhost');",
        'DELETE FROM mysql.db;',
        'DELETE FROM mysql.roles_mapping;',
      ].join('\n'),
    );
  });

  it('are dumped as rows for tables that are there', () => {
    expect(dumpOfPrivileges('mysql', ['user', 'db'])).toEqual(
      expect.arrayContaining([
        '--no-create-info',
        '--replace',
        '--set-gtid-purged=OFF',
        '--',
        'mysql',
        'user',
        'db',
      ]),
    );
  });
});

describe('what is looked at first', () => {
  it.each<[string, Partial<Facts>, RegExp[]]>([
    ['what is usual', {}, []],
    ['the oldest MariaDB that can', { version: '10.4.0-MariaDB' }, []],
    [
      'an older one',
      { version: '10.3.39-MariaDB-1:10.3.39+maria~ubu2004' },
      [/^db is mariadb 10\.3\.39.*10\.4 is/],
    ],
    ['a newer one', { version: '11.8.2-MariaDB-ubu2404' }, []],
    ['the oldest MySQL that can', { flavor: 'mysql', version: '8.0.21' }, []],
    ['an older MySQL', { flavor: 'mysql', version: '5.7.44-log' }, [/8\.0\.21 is the first/]],
    ['a newer MySQL', { flavor: 'mysql', version: '8.4.0' }, []],
    ['nothing', { schemas: 0 }, [/no database yet/]],
    ['a replica', { replication: true }, [/replicates/]],
    ['histories', { versioned: 2 }, []],
    [
      'histories in an older one',
      { versioned: 2, version: '10.6.1-MariaDB' },
      [/2 tables with their history/],
    ],
    ['prepared transactions', { prepared: 1 }, [/XA RECOVER/]],
    ['two that hinder', { prepared: 1, brokenViews: ['svc.v'] }, [/svc\.v would be lost/, /XA RECOVER/]],
  ])('%s', (_, differing, sentences) => {
    const refusals = refusalsOf('db', facts(differing));
    expect(refusals).toHaveLength(sentences.length);
    for (const [at, form] of sentences.entries()) expect(refusals[at]).toMatch(form);
  });

  it.each<[Partial<Facts>, string]>([
    [{}, 'db (mariadb 10.11, 2 databases, 237 MB, dumped; putting them back takes about 36 s)'],
    [
      { flavor: 'mysql', version: '8.4.0', schemas: 1, bytes: 1, plain: 1, floats: 2 },
      'db (mysql 8.4, 1 database, 1 MB, dumped; putting them back takes about 36 s, 1 Aria or MyISAM table, kept while nobody writes, 2 FLOAT columns, kept to 6 digits)',
    ],
  ])('%j is told in words', (differing, words) => {
    expect(wordsOf('db', facts(differing), 36)).toBe(words);
  });

  it('tells the version that a dump is of', () => {
    expect(majorOf('10.11.18-MariaDB-0+deb12u1')).toBe('10.11');
  });
});

it('tells tables as people call them', () => {
  expect(tellTables({ '`svc`.`a`': [3, '1'], '`s``v`.`new`': [2, null] }, 'db ')).toEqual({
    'db svc.a': [3, '1'],
    'db s`v.new': [2, null],
  });
});
