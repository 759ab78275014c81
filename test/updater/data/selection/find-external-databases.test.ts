import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import {
  databaseHostsOf,
  findExternalDatabases,
} from '../../../../src/updater/data/selection/find-external-databases.ts';
import { container } from '../../../build.ts';

describe('hosts of databases in a variable', () => {
  it.each<[string, string, string[]]>([
    ['DATABASE_URL', 'postgres://svc:pw@db.example:5432/svc', ['db.example']],
    ['X', 'mongodb+srv://u:p@cluster0.example.net/x', ['cluster0.example.net']],
    ['X', 'mongodb://u:p@h1:27017,h2:27018/x?replicaSet=r', ['h1', 'h2']],
    ['X', 'postgres://u:p@h1:5432,h2:5432/db', ['h1', 'h2']],
    ['X', '"postgres://DB.Example./x"', ['db.example']],
    ['X', 'postgres://[2001:db8::1]:5432/x', ['2001:db8::1']],
    ['X', 'postgres:///x?host=/var/run/postgresql', []],
    ['X', 'postgres:///x?host=db.example&user=a', ['db.example']],
    ['X', 'postgres://%2Fvar%2Frun%2Fpostgresql/x', []],
    ['X', 'mysql://u:p@tcp(db.example:3306)/x', ['db.example']],
    ['X', 'postgres://u:pa/ss@db.example/x', ['db.example']],
    ['X', 'https://api.example/x', []],
    ['DB_HOST', 'db.example:5432', ['db.example']],
    ['PGHOST', '/var/run/postgresql', []],
    ['REDIS_HOST', 'tcp://cache.example:6379', ['cache.example']],
    ['DB_HOST_PASSWORD', 'hunter2', []],
    ['MYSQL_ROOT_HOST', '%', []],
    ['HOST_DB', 'h', []],
  ])('are parsed from %s=%s', (name, value, hosts) => expect(databaseHostsOf(name, value)).toEqual(hosts));
});

describe('a database outside the project', () => {
  const app = (env: Record<string, string>, changes: Partial<Container> = {}): Container =>
    container('app-1', { env: new Map(Object.entries(env)), networks: ['svc_default'], ...changes });
  const db = container('db-1', { networks: ['svc_default'], addresses: ['f00d', 'Primary', '172.20.0.5'] });
  const found = (one: Container, others: Container[] = [db]): string[] =>
    findExternalDatabases(['app'], ['app', 'db', 'profile-db'], [one, ...others]).map(
      ({ host, service, variable }) => `${service} ${variable} ${host}`,
    );

  it.each([
    'db',
    'profile-db',
    'svc-db-1',
    'f00d',
    'primary',
    '172.20.0.5',
    'db.svc_default',
    'localhost',
    '/var/run/postgresql',
  ])('is not reported for the host %s', (host) => expect(found(app({ DB_HOST: host }))).toEqual([]));

  it.each(['db.example', 'host.docker.internal', '10.0.0.5', 'db.other_default', '2001:db8::1'])(
    'is reported for the host %s',
    (host) => expect(found(app({ DB_HOST: host }))).toEqual([`app DB_HOST ${host}`]),
  );

  it('is reported once if it is one of several hosts', () => {
    const env = { A: 'postgres://db,far.example/x', B_DB_HOST: 'far.example' };
    expect(found(app(env))).toEqual(['app A far.example']);
  });

  it('is reported if an entry of extra_hosts points to it', () => {
    const env = { DB_HOST: 'db' };
    expect(found(app(env, { extraHosts: ['db:10.0.0.5'] }))).toEqual(['app DB_HOST db']);
    expect(found(app(env, { extraHosts: ['db=host-gateway'] }))).toEqual(['app DB_HOST db']);
    expect(found(app(env, { extraHosts: ['db:172.20.0.5'] }))).toEqual([]);
  });

  it('is reported if a link points to it', () => {
    const env = { DB_HOST: 'store' };
    expect(found(app(env, { links: ['svc-db-1:store'] }))).toEqual([]);
    expect(found(app(env, { links: ['other-db-1:store'] }))).toEqual(['app DB_HOST store']);
  });

  it('is reported for localhost in the host network, unless a service of the project publishes the port', () => {
    const host = app({ DB_HOST: 'localhost' }, { networkMode: 'host' });
    expect(found(host)).toEqual(['app DB_HOST localhost']);
    expect(found(host, [{ ...db, published: ['5432/tcp'] }])).toEqual([]);
  });
});
