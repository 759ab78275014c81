import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { Engine } from '../../src/engine/cli/engine.ts';
import {
  type ContainerSnapshot,
  takeContainerSnapshots,
} from '../../src/engine/containers/container-snapshot.ts';
import { listCopiedPaths } from '../../src/engine/containers/copied-files.ts';
import { recreateContainer } from '../../src/engine/containers/recreate-container.ts';
import { engineSocket } from '../rig/engine-api.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 5.9: a container that compose removed is recreated with its anonymous volumes. Neither other
// containers nor the next `docker compose up -d` of the operator see a difference.

// biome-ignore lint/suspicious/noExplicitAny: whatever the engine says is compared, field by field
type Inspection = any;

const docker = async (...args: string[]): Promise<string> =>
  (await execa('docker', args, { stdin: 'ignore', timeout: 120_000 })).stdout;

async function openEngine(): Promise<Engine> {
  const address = { host: `unix://${engineSocket}`, tls: [], configDirectory: '/nonexistent' };
  const engine = new Engine(address, { home: '/' });
  // A run does the same first: it determines the API version for all later requests.
  await engine.getFacts();
  return engine;
}

const inspect = async (...ids: string[]): Promise<Inspection[]> =>
  JSON.parse(await docker('container', 'inspect', ...ids));

/** All containers of the project; those that refer to other containers come last. */
async function inspectAll(instance: Instance): Promise<Inspection[]> {
  const ids = await docker('ps', '-aq', '--filter', `label=com.docker.compose.project=${instance.project}`);
  const found = await inspect(...ids.split('\n'));
  return found.toSorted((a, b) => Number(pointsElsewhere(a)) - Number(pointsElsewhere(b)));
}

const pointsElsewhere = ({ HostConfig }: Inspection): boolean =>
  HostConfig.VolumesFrom !== null || /"container:/.test(JSON.stringify(HostConfig));

const nameOf = (inspection: Inspection): string => inspection.Name.slice(1);

interface Round {
  before: Map<string, Inspection>;
  after: Map<string, Inspection>;
  blueprints: Map<string, ContainerSnapshot>;
}

/**
 * Takes snapshots, removes every container like compose does, recreates all of them and starts those that were running.
 */
async function round(instance: Instance, meanwhile: () => Promise<void> = async () => {}): Promise<Round> {
  const engine = await openEngine();
  const old = await inspectAll(instance);
  const model = JSON.parse(await instance.compose('config', '--format', 'json'));
  const copied = new Map(
    old.map((each) => [
      each.Id,
      listCopiedPaths(model.services[each.Config.Labels['com.docker.compose.service']]),
    ]),
  );
  const taken = await takeContainerSnapshots(engine, [...old.map(({ Id }) => Id), 'f'.repeat(64)], copied);
  await docker('rm', '-f', ...old.map(({ Id }) => Id));
  await meanwhile();
  // The journal stores snapshots as JSON.
  const blueprints: ContainerSnapshot[] = JSON.parse(JSON.stringify(taken));
  const successors = new Map<string, string>();
  for (const blueprint of blueprints) {
    const id = await recreateContainer(engine, blueprint, successors);
    successors.set(blueprint.id, id);
    const ran = old.find(({ Id }) => Id === blueprint.id).State.Running;
    if (ran) await docker('start', id);
  }
  const byName = (list: Inspection[]) => new Map(list.map((each) => [nameOf(each), each]));
  return {
    before: byName(old),
    after: byName(await inspect(...successors.values())),
    blueprints: new Map(blueprints.map((each) => [each.name, each])),
  };
}

/** An inspection without values that differ for every container: ids, times, and values that the engine assigns. */
function comparable(inspection: Inspection, ids: ReadonlyMap<string, string>): Inspection {
  let text = JSON.stringify(inspection);
  for (const [id, name] of ids)
    text = text.replaceAll(id, `<${name}>`).replaceAll(id.slice(0, 12), `<${name}>`);
  const { Created, State, GraphDriver, ExecIDs, RestartCount, NetworkSettings, ...kept } = JSON.parse(
    text,
    // JavaScript cannot represent the greatest integer of the engine.
    (_, value) => (typeof value === 'number' && value > 2 ** 63 - 2 ** 12 ? 'greatest' : value),
  );
  const { Networks, Ports, ...settings } = NetworkSettings;
  const anonymous = (mount: Inspection) => /^[0-9a-f]{64}$/.test(mount.Name ?? mount.Source ?? '');
  return {
    ...kept,
    State: { Status: State.Status, StartedAt: State.StartedAt.startsWith('0001') },
    HostConfig: {
      ...kept.HostConfig,
      // Anonymous volumes are now mounted by name; `Mounts` lists the volumes.
      Mounts: (kept.HostConfig.Mounts ?? []).filter((mount: Inspection) => mount.Source && !anonymous(mount)),
    },
    Mounts: kept.Mounts.map((mount: Inspection) =>
      anonymous(mount) ? { ...mount, Mode: '' } : mount,
    ).toSorted((a: Inspection, b: Inspection) => (a.Destination < b.Destination ? -1 : 1)),
    Networks: Object.fromEntries(
      Object.entries(Networks as Record<string, Inspection>).map(([name, network]) => [
        name,
        {
          ...network,
          EndpointID: '',
          ...(network.IPAMConfig?.IPv4Address ? {} : { IPAddress: '' }),
          ...(network.IPAMConfig?.IPv6Address ? {} : { GlobalIPv6Address: '' }),
          // Engines before 28 derive the MAC address from the IP address; later engines choose it at random.
          ...(network.MacAddress.startsWith('02:11:') ? {} : { MacAddress: '' }),
        },
      ]),
    ),
    Ports: Object.keys(Ports ?? {}),
    Bridge: settings.Bridge,
  };
}

function expectSame({ before, after }: Round): void {
  expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
  const idsOf = (map: Round['before']) => new Map([...map].map(([name, { Id }]) => [Id as string, name]));
  const [old, now] = [idsOf(before), idsOf(after)];
  for (const [name, inspection] of before) {
    const [expected, got] = [comparable(inspection, old), comparable(after.get(name), now)];
    // The engine sets many values only at the first start of a container.
    if (inspection.State.Running) expect(got, name).toEqual(expected);
    else expect(asked(got), name).toEqual(asked(expected));
    expect(after.get(name).Id).not.toBe(inspection.Id);
  }
}

const asked = ({ Name, Image, Config, HostConfig, Mounts, Networks }: Inspection): Inspection => ({
  ...{ Name, Image, Config, HostConfig, Mounts },
  Networks: Object.entries(Networks as Record<string, Inspection>).map(([name, { Aliases }]) => [
    name,
    Aliases,
  ]),
});

/**
 * The next `docker compose up -d` of the operator changes nothing except that it starts stopped containers. A container
 * that refers to another container is replaced by an equal one, because compose treats the id of the other container as
 * part of the definition.
 */
async function expectUpDoesNothing(instance: Instance): Promise<void> {
  const before = await inspectAll(instance);
  await instance.compose('up', '-d');
  const after = await inspectAll(instance);
  const ids = (list: Inspection[]) =>
    list.map((each) => `${each.Name} ${pointsElsewhere(each) ? each.Image : each.Id}`).sort();
  expect(ids(after)).toEqual(ids(before));
  const started = (list: Inspection[]) => new Map(list.map(({ Id, State }) => [Id, State]));
  for (const [id, state] of started(before)) {
    const now = started(after).get(id);
    if (state.Running && now) expect(now.StartedAt).toBe(state.StartedAt);
  }
}

const app =
  (services: string, rest = '') =>
  (context: LayoutContext) => ({
    files: {
      'compose.yaml': `services:
  app:
    image: ${context.image}:${context.tag}
    command: tunnel
${services.replaceAll('IMAGE', `${context.image}:${context.tag}`)}${rest}`,
      '.env': `SVC_PORT=${context.port}\nSECRET_VALUE='correct horse battery'\n`,
    },
    flags: [],
  });

/** A service definition with the image, an idle command, and further lines. */
const service = (name: string, lines: string) =>
  `  ${name}:\n    image: IMAGE\n    command: tunnel\n${lines.trim().replace(/^(?=.)/gm, '    ')}\n`;

/** Creates an image from another image, changed by Dockerfile instructions. */
async function derive(from: string, to: string, changes: readonly string[]): Promise<void> {
  const id = await docker('create', from);
  await docker('commit', ...changes.flatMap((change) => ['--change', change]), id, to);
  await docker('rm', id);
}

const inside = (name: string, ...command: string[]) => docker('exec', name, ...command);

describe('a recreated container', () => {
  test('has the same storage, limits and settings as before', async () => {
    const instance = await createInstance({
      layout: app(
        [
          service(
            'storage',
            `
volumes:
- /var/cache/x
- named:/named
- ./data:/bound:ro
- { type: bind, source: ./svc.yaml, target: /etc/svc.yaml, read_only: true }
- { type: volume, target: /anonymous }
- { type: volume, source: named, target: /below, volume: { nocopy: true, subpath: '.' } }
- { type: tmpfs, target: /scratch, tmpfs: { size: 1048576, mode: 01770 } }
tmpfs: ['/tmp:size=1m', /more]
configs:
- source: greeting
- { source: greeting, target: /etc/deep/er/greeting.conf, uid: '1000', gid: '70000000', mode: 0440 }
- { source: filed, target: /etc/filed }
secrets:
- password
- { source: password, target: other-name, mode: 0400 }
`,
          ),
          service(
            'limits',
            `
ulimits: { nofile: { soft: 1024, hard: 2048 }, fsize: 9223372036854775807, nproc: 100 }
sysctls: { net.core.somaxconn: 1024 }
init: true
shm_size: 1m
mem_limit: 64m
memswap_limit: 128m
mem_reservation: 32m
cpus: 0.5
cpu_shares: 512
cpuset: '0'
pids_limit: 50
oom_score_adj: 100
cap_add: [NET_ADMIN]
cap_drop: [MKNOD]
security_opt: ['no-new-privileges:true', 'seccomp:./seccomp.json', 'label:type:svc_t']
devices: ['/dev/null:/dev/nothing:rw']
device_cgroup_rules: ['c 1:3 mr']
group_add: ['1234', '5678']
read_only: true
user: '0:0'
working_dir: /data
entrypoint: [/bin/sh, /bin/entry.sh]
domainname: example.org
hostname: chosen
extra_hosts: ['somewhere=10.1.2.3', 'gate=host-gateway']
dns: [10.9.8.7]
dns_search: [example.org]
dns_opt: ['ndots:2']
tty: true
stdin_open: true
stop_signal: SIGINT
stop_grace_period: 3s
restart: on-failure:5
cgroup: host
userns_mode: host
logging: { driver: json-file, options: { max-size: 1m, max-file: '2' } }
labels: { svc.odd: "a=b \\"c\\" $$d", empty: '' }
environment: { QUOTED: "it's $$5 \\n", EMPTY: '', SECRET_VALUE: , UNSET: }
healthcheck: { disable: true }
annotations: { svc.note: kept }
runtime: runc
`,
          ),
          service(
            'healthy',
            `healthcheck: { test: [CMD, /bin/test, -e, /data], interval: 1s, timeout: 3s, retries: 2, start_period: 2s, start_interval: 200ms }`,
          ),
          service(
            'random',
            `ports: ['8080', '127.0.0.1::8081/udp', '127.0.0.1:\${SVC_PORT}:8082']\nexpose: ['9999']`,
          ),
          service('many', `deploy: { replicas: 2 }\nvolumes: [/var/cache/x]`),
          service('idle', `volumes: [/var/cache/x]`),
          service('custom', `container_name: \${COMPOSE_PROJECT_NAME}-chosen-name\nprivileged: true`),
        ].join(''),
        `volumes:
  named:
configs:
  greeting: { content: "hello from a config\\n" }
  filed: { file: ./svc.yaml }
secrets:
  password: { environment: SECRET_VALUE }
`,
      ),
      files: () => ({ 'seccomp.json': JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls: [] }) }),
    });
    const name = (part: string) => `${instance.project}-${part}-1`;
    await inside(name('storage'), 'sh', '-c', 'echo cached >/var/cache/x/kept; echo named >/named/kept');
    await inside(`${instance.project}-many-2`, 'sh', '-c', 'echo second >/var/cache/x/kept');
    await inside(name('idle'), 'sh', '-c', 'echo idle >/var/cache/x/kept');
    await docker('stop', '-t', '0', name('idle'));
    const files = [
      '/greeting',
      '/etc/deep/er/greeting.conf',
      '/run/secrets/password',
      '/run/secrets/other-name',
    ];
    const listing = () => inside(name('storage'), 'ls', '-ln', ...files);
    const listed = await listing();
    expect(listed).toMatch(/-r--r----- +1 1000 +70000000/);

    const done = await round(instance);

    expectSame(done);
    expect(await inside(name('storage'), 'cat', '/var/cache/x/kept', '/named/kept', '/below/kept')).toBe(
      'cached\nnamed\nnamed',
    );
    expect(await inside(`${instance.project}-many-2`, 'cat', '/var/cache/x/kept')).toBe('second');
    expect(await listing()).toBe(listed);
    expect(await inside(name('storage'), 'cat', ...files)).toBe(
      `hello from a config\nhello from a config\n${'correct horse battery'.repeat(2)}`,
    );
    expect(done.blueprints.get(name('storage'))?.copied.map(({ path }) => path)).toEqual(files);
    expect([...done.blueprints.values()].flatMap(({ lost }) => lost)).toEqual([]);
    expect(done.after.get(name('healthy'))?.Config.Hostname).toBe(
      done.after.get(name('healthy'))?.Id.slice(0, 12),
    );
    expect(done.after.get(name('limits'))?.Config.Hostname).toBe('chosen');
    await expectUpDoesNothing(instance);
    expect(await inside(name('idle'), 'cat', '/var/cache/x/kept')).toBe('idle');
  });

  test('has the same networks, image and shared namespaces as before', async () => {
    const instance = await createInstance({ layout: app('') });
    const derived = `${instance.image}:derived`;
    await derive(`${instance.image}:v1.0.0`, derived, [
      'VOLUME ["/from-image", "/etc"]',
      'EXPOSE 9090',
      'HEALTHCHECK --interval=1s --timeout=3s CMD ["/bin/test", "-e", "/from-image"]',
      'STOPSIGNAL SIGINT',
      'ENV FROM_IMAGE=yes',
      'LABEL svc.from-image=yes',
      'WORKDIR /data',
    ]);
    const moving = `${instance.image}:moving`;
    await docker('tag', `${instance.image}:v1.0.0`, moving);
    const subnet = [1 + Math.floor(Math.random() * 250), 1 + Math.floor(Math.random() * 250)];
    const own = (image: string) => `image: ${image}\n`;
    const layout = app(
      [
        service(
          'net',
          `
mac_address: 02:11:22:33:44:55
hostname: net-host
links: ['peer:friend']
networks:
  default: { aliases: [alias-one, alias-two], priority: 9 }
  fixed: { ipv4_address: 10.${subnet.join('.')}.9, ipv6_address: 'fd7a:${subnet.join(':')}::9', link_local_ips: [169.254.8.8], aliases: [in-fixed] }
  other:
`,
        ),
        service('peer', 'networks: [default, fixed, other]'),
        service(
          'leader',
          `ipc: shareable\nvolumes: [/shared, './data:/seen', 'owned:/owned']\nports: ['8080']`,
        ),
        service(
          'follower',
          `network_mode: service:leader\npid: service:leader\nipc: service:leader\nvolumes_from: ['leader:ro']`,
        ).replace(/image: .*/, own(derived).trim()),
        service('reader', `volumes_from: [leader]`),
        service('host', 'network_mode: host\npid: host\nipc: host\nuts: host'),
        service('alone', 'network_mode: none'),
        service('bridged', 'network_mode: bridge'),
        service('imaged', `volumes: ['/from-image']`).replace(/image: .*/, own(derived).trim()),
        service('moved', '').replace(/image: .*/, own(moving).trim()),
      ].join(''),
      `volumes:
  owned:
networks:
  default:
  fixed:
    enable_ipv6: true
    ipam: { config: [{ subnet: 10.${subnet.join('.')}.0/24 }, { subnet: 'fd7a:${subnet.join(':')}::/64' }] }
  other: { driver_opts: { com.docker.network.driver.mtu: '1400' } }
`,
    );
    const { files } = layout({ image: instance.image, parts: '', port: instance.port, tag: 'v1.0.0' });
    await instance.write('compose.yaml', files['compose.yaml']);
    await instance.compose('up', '-d');
    await instance.waitUntilHealthy();
    const name = (part: string) => `${instance.project}-${part}-1`;
    await docker('network', 'connect', '--alias', 'by-hand', `${instance.project}_other`, name('bridged'));
    await inside(name('imaged'), 'sh', '-c', 'echo data >/from-image/kept; echo etc >/etc/kept');
    await inside(name('leader'), 'sh', '-c', 'echo shared >/shared/kept');
    const image = async (reference: string) => docker('image', 'inspect', '-f', '{{.Id}}', reference);
    const old = await image(moving);

    const done = await round(instance, async () => {
      await docker('tag', derived, moving);
    });
    await instance.waitUntilHealthy();

    const moved = done.after.get(name('moved'));
    expect(moved?.Image).toBe(old);
    expect(moved?.Config.Image).toBe(old);
    for (const each of done.before.values()) {
      if (nameOf(each) === name('moved')) each.Config.Image = old;
      delete each.State.Health;
    }
    expectSame(done);
    for (const part of [
      'peer',
      'net',
      'leader',
      'moved',
      'net-host',
      'alias-one',
      'alias-two',
      'in-fixed',
      'by-hand',
    ]) {
      expect(await inside(name('peer'), 'busybox', 'nslookup', part), part).toMatch(/Name:/);
    }
    expect(await inside(name('net'), 'busybox', 'nslookup', 'friend')).toMatch(/Name:/);
    expect(await inside(name('imaged'), 'cat', '/from-image/kept', '/etc/kept')).toBe('data\netc');
    expect(await inside(name('reader'), 'cat', '/shared/kept')).toBe('shared');
    expect(await inside(name('follower'), 'busybox', 'readlink', '/proc/self/ns/net')).toBe(
      await inside(name('leader'), 'busybox', 'readlink', '/proc/self/ns/net'),
    );
    await docker('tag', old, moving);
    await expectUpDoesNothing(instance);
  });
});
