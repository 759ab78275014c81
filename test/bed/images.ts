import { type DebianPrograms, debianLayer } from '../platform/rig/debian.ts';
import { bundle } from '../platform/rig/images.ts';
import { postgres } from '../platform/rig/stand-ins.ts';
import { assemble, baseLayer, type Image, type Layer, layer } from '../rig/image.ts';
import { nodeLayer } from '../rig/server/node-layer.ts';
import type { DatabaseKind } from './app/database.ts';

const mariadbClient: DebianPrograms = {
  name: 'bed-mariadb-client',
  package: 'mariadb-client-core',
  paths: ['usr/bin/mariadb'],
};

/** The client that the app speaks to its database with. */
const clients = { postgres, mariadb: mariadbClient, sqlite: null } as const;

let program: Promise<Layer> | undefined;

function programLayer(): Promise<Layer> {
  program ??= bundle(new URL('app/main.ts', import.meta.url).href).then((content) =>
    layer([{ name: 'srv/bed.mjs', kind: 'file', content }]),
  );
  return program;
}

/** A release of app and worker; `bad` is its name among the bad ones, if it is one of them. */
export async function buildBedRelease(database: DatabaseKind, version: string, bad = ''): Promise<Image> {
  const client = clients[database];
  const layers = [
    await baseLayer(),
    await nodeLayer(),
    ...(client === null ? [] : [await debianLayer(client)]),
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

/** The neighbour that remembers what was acknowledged. */
export async function buildCache(): Promise<Image> {
  return assemble([await baseLayer(), await nodeLayer(), await programLayer()], {
    Env: ['PATH=/bin'],
    Entrypoint: ['/bin/node', '/srv/bed.mjs'],
    Cmd: ['cache'],
  });
}
