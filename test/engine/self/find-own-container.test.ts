import { describe, expect, it } from 'vitest';
import { type Container, toContainer } from '../../../src/engine/objects/container.ts';
import { findOwnContainer, parseOwnContainerClues } from '../../../src/engine/self/find-own-container.ts';

const vpn = 'a'.repeat(64);
const server = 'b'.repeat(64);
const twin = 'd'.repeat(64);
const docker = '/var/lib/docker';

/** Mount table by Docker: a container in the network of container `etc` has that container's files in /etc. */
function table(etc: string, { layer = '', mounts = {} as Record<string, string> } = {}): string {
  const lines = [
    `117 67 0:50 / / rw,relatime master:3 - overlay overlay rw,lowerdir=${docker}/overlay2/l/X,upperdir=${layer},workdir=${layer}/../work`,
    '118 117 0:52 / /proc rw,nosuid - proc proc rw',
    ...['resolv.conf', 'hostname', 'hosts'].map(
      (file) =>
        `135 117 254:0 ${docker}/containers/${etc}/${file} /etc/${file} rw,relatime - ext4 /dev/vda rw,discard`,
    ),
    ...Object.entries(mounts).map(
      ([point, root]) => `138 117 254:0 ${root} ${point} rw,relatime - ext4 /dev/vda rw`,
    ),
  ];
  return `${(layer === '' ? lines.slice(1) : lines).join('\n')}\n`;
}

interface Changes {
  network?: string;
  layer?: string;
  mounts?: Record<string, string>;
  env?: string[];
  image?: string;
  status?: string;
}

const container = (id: string, changes: Changes = {}): Container =>
  toContainer({
    Id: id,
    Image: changes.image ?? 'sha256:1',
    State: { Status: changes.status ?? 'running' },
    Config: { Env: changes.env ?? [] },
    HostConfig: { NetworkMode: changes.network ?? 'bridge' },
    Mounts: Object.entries(changes.mounts ?? {}).map(([Destination, Source]) => ({
      Type: 'bind',
      Source,
      Destination,
    })),
    ...(changes.layer && { GraphDriver: { Data: { UpperDir: changes.layer } } }),
  });

/** The id of the own container, and the number of list requests. */
async function found(
  all: readonly Container[],
  mountTable: string,
  env: Record<string, string> = {},
): Promise<{ id: string | null; lists: number }> {
  let lists = 0;
  const own = await findOwnContainer(
    {
      inspect: async (name) => all.find(({ id }) => id === name || id.startsWith(name)) ?? null,
      listNetworkUsers: async (id) => {
        lists += 1;
        return all.flatMap((each) => (each.networkMode === `container:${id}` ? [each.id] : []));
      },
    },
    parseOwnContainerClues(mountTable, 'aaaaaaaaaaaa', env),
  );
  return { id: own?.id ?? null, lists };
}

describe('parseOwnTraces', () => {
  it('reads the id, the layer and the mounts from the mount table', () => {
    const traces = parseOwnContainerClues(
      table(server, { layer: '/l/1/diff', mounts: { '/da\\040ta': '/srv/x' } }),
      'h',
      {},
    );
    expect(traces).toMatchObject({ id: server, name: server, layer: '/l/1/diff' });
    expect(traces.mounts.get('/da ta')).toBe('/srv/x');
  });

  it('uses the host name if the mount table is empty', () => {
    expect(parseOwnContainerClues('', 'h', {})).toMatchObject({ id: null, name: 'h', layer: null });
  });

  it('ignores the mounted directory of another container', () => {
    const mounts = { '/logs': `${docker}/containers/${vpn}/x` };
    expect(parseOwnContainerClues(`${table(server, { mounts })}`, 'h', {}).id).toBe(server);
    expect(
      parseOwnContainerClues(`138 1 8:1 ${mounts['/logs']} /logs rw - ext4 x rw`, 'h', {}).id,
    ).toBeNull();
  });
});

describe('findOwnContainer', () => {
  it('finds the container by the mount table alone if the layer matches', async () => {
    const all = [container(server, { layer: '/l/1/diff' })];
    expect(await found(all, table(server, { layer: '/l/1/diff' }))).toEqual({ id: server, lists: 0 });
  });

  it('returns null if the engine does not have the container', async () => {
    expect((await found([], table(server))).id).toBeNull();
  });

  it.each([
    ['by its layer', '/l/2/diff', '/l/2/diff'],
    ['by its layer where the options of its mount were too long', '/l/2/diff', '2/diff'],
  ])('finds the container in the network of another container %s', async (_, upper, seen) => {
    const all = [
      container(vpn, { layer: '/l/1/diff' }),
      container(twin, { network: `container:${vpn}`, layer: '/l/3/diff' }),
      container(server, { network: `container:${vpn}`, layer: upper }),
    ];
    expect((await found(all, table(vpn, { layer: seen }))).id).toBe(server);
  });

  const inVpn = `container:${vpn}`;
  const data = { '/data': '/opt/svc/data', '/run/docker.sock': '/var/run/docker.sock' };
  it.each<[string, Container[], Record<string, string>, string | null]>([
    ['by its mounts', [container(server, { network: inVpn, mounts: data })], {}, server],
    [
      'by where its mounts come from',
      [
        container(twin, { network: inVpn, mounts: { ...data, '/data': '/opt/other/data' } }),
        container(server, { network: inVpn, mounts: data }),
      ],
      {},
      server,
    ],
    [
      'by its environment',
      [
        container(twin, { network: inVpn, mounts: data, env: ['A=2', 'B=1'] }),
        container(server, { network: inVpn, mounts: data, env: ['A=1', 'B=1'], image: 'sha256:2' }),
      ],
      { A: '1', B: '1' },
      server,
    ],
    [
      'but not where a mount is not here',
      [container(server, { network: inVpn, mounts: { ...data, '/more': '/opt/more' } })],
      {},
      vpn,
    ],
    [
      'or one of its replicas',
      [server, twin].map((id) => container(id, { network: inVpn, mounts: data })),
      {},
      server,
    ],
    [
      'and none where two are alike',
      [server, twin].map((id) => container(id, { network: inVpn, mounts: data, image: id })),
      {},
      null,
    ],
  ])(
    'finds the container in the network of another container without a layer, %s',
    async (_, others, env, expected) => {
      const all = [container(vpn), ...others];
      const mounts = { '/data': '/opt/svc/data', '/run/docker.sock': '/docker.sock' };
      expect((await found(all, table(vpn, { mounts }), env)).id).toBe(expected);
    },
  );
});
