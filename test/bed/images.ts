import { type DebianPrograms, debianLayer } from '../platform/rig/debian.ts';
import { postgres } from '../platform/rig/stand-ins.ts';
import { assemble, baseLayer, type Image, type Layer, layer } from '../rig/image.ts';
import { bundle } from '../rig/server/bundle.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import type { DatabaseKind } from './app/database.ts';

const client = (name: string, paths: readonly string[]): DebianPrograms => ({
  name: `bed-${name}`,
  package: name,
  paths,
});

/** The programs by which the app speaks to its database. */
const clients: Record<DatabaseKind, DebianPrograms | null> = {
  postgres,
  mariadb: client('mariadb-client-core', ['usr/bin/mariadb']),
  openldap: client('ldap-utils', ['usr/bin/ldapmodify', 'usr/bin/ldapdelete']),
  sqlite: null,
  redis: null,
};
const attributes = client('attr', ['usr/bin/setfattr']);

let program: Promise<Layer> | undefined;

function programLayer(): Promise<Layer> {
  program ??= bundle(new URL('app/main.ts', import.meta.url)).then((content) =>
    layer([{ name: 'srv/bed.mjs', kind: 'file', content }]),
  );
  return program;
}

/** A release of app and worker; `bad` is its name among the bad ones, if it is one of them. */
export async function buildBedRelease(database: DatabaseKind, version: string, bad = ''): Promise<Image> {
  const own = clients[database];
  const layers = [
    await baseLayer(),
    await nodeLayer(),
    await debianLayer(attributes),
    ...(own === null ? [] : [await debianLayer(own)]),
    await programLayer(),
    layer([{ name: 'etc/svc-version', kind: 'file', content: `${version}\n` }]),
  ];
  return assemble(layers, {
    Env: [
      'PATH=/usr/bin:/bin',
      'NODE_NO_WARNINGS=1',
      `DB_KIND=${database}`,
      `VERSION=${version}`,
      `BAD=${bad}`,
    ],
    Entrypoint: ['/bin/node', '/srv/bed.mjs'],
    Cmd: ['app'],
    Labels: { 'org.opencontainers.image.version': version.replace(/^v/, '') },
  });
}

export async function buildWitness(): Promise<Image> {
  return assemble([await baseLayer(), await nodeLayer(), await programLayer()], {
    Env: ['PATH=/bin'],
    Entrypoint: ['/bin/node', '/srv/bed.mjs'],
    Cmd: ['witness'],
  });
}
