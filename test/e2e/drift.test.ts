import { randomInt } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import { messages } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import type { LayoutContext } from '../rig/layout.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// If the files describe the running containers, whichever compose version created them, the run is not refused and has
// no warning. Otherwise, the run is refused if the containers would lose something, and names all other differences.

/** All keys of the compose specification that this engine supports, in short and long form. */
const everyKey = (c: LayoutContext) => ({
  flags: [],
  files: {
    '.env': `SVC_VERSION=${c.tag}\nDB_PASSWORD='correct horse battery'\nGREETING=hello\nLABEL=a$$b\n`,
    'app.env': 'FROM_FILE=1\nALSO="two words"\n# ALSO=none\nDOLLAR=$$x\n',
    'base.yaml': 'services:\n  base:\n    environment: { BASE: 1 }\n    logging: { driver: none }\n',
    'secret.txt': 'a very secret text\n',
    'config.txt': 'setting = 1\n',
    'compose.yaml': `
x-logging: &logging
  driver: json-file
  options: { max-size: 1m, max-file: '2' }
services:
  app:
    image: ${c.image}:\${SVC_VERSION}
    pull_policy: missing
    command: [app]
    attach: false
    restart: on-failure:3
    stop_signal: SIGINT
    stop_grace_period: 7s
    hostname: svc-app
    domainname: example.org
    user: '0:0'
    working_dir: /www/
    init: true
    tty: true
    stdin_open: true
    ipc: shareable
    cgroup: private
    shm_size: 100m
    oom_score_adj: 10
    oom_kill_disable: false
    mem_limit: 300m
    mem_reservation: 20m
    mem_swappiness: 10
    memswap_limit: 400m
    cpus: 1.5
    cpu_shares: 512
    cpuset: '0'
    pids_limit: 400
    blkio_config: { weight: 300 }
    userns_mode: host
    runtime: runc
    isolation: default
    platform: linux/amd64
    annotations: { org.example.note: hello }
    cap_add: [NET_ADMIN, CAP_SYS_PTRACE]
    cap_drop: [MKNOD, cap_audit_write]
    security_opt: [no-new-privileges, 'seccomp:unconfined', 'label:disable', systempaths=unconfined]
    group_add: [1000, "1001"]
    sysctls: [net.core.somaxconn=1024, net.ipv4.ip_local_port_range=10000 60000]
    ulimits: { nproc: 2000, nofile: { soft: 500, hard: 1000 } }
    dns: [10.1.2.3, 10.1.2.4]
    dns_search: example.org
    dns_opt: [use-vc, 'ndots:2']
    extra_hosts: ['one.example.org:10.0.0.7', 'host.docker.internal:host-gateway', 'six.example.org:::1']
    devices: ['/dev/null:/dev/null2', '/dev/zero:/dev/zero2:r', /dev/full]
    device_cgroup_rules: ['c 1:3 mr']
    tmpfs: ['/run/a:size=1m,mode=700', /run/b]
    expose: [9000, '9001/udp', 9002-9003]
    ports:
      - 127.0.0.1:${c.port}:8080
      - 127.0.0.1::9100
      - 127.0.0.1:21000-21900:9101
      - { target: 9102, host_ip: 127.0.0.1, published: '0', protocol: udp, mode: host }
      - '9103'
    volumes:
      - ./data:/data
      - ./data/sub dir:/sub:ro
      - ./a$$b:/dollar/
      - named:/named
      - /anonymous
      - { type: bind, source: ./config.txt, target: /mounted, read_only: true, bind: { propagation: private } }
      - { type: volume, source: named, target: /named2, read_only: true, volume: { nocopy: true } }
      - { type: volume, target: /anonymous2 }
      - { type: tmpfs, target: /run/c, tmpfs: { size: 1000000 } }
      - { type: bind, source: /etc/hostname, target: /host-name, bind: { create_host_path: true } }
    env_file: [app.env]
    environment:
      DB_PASSWORD: \${DB_PASSWORD:?}
      EMPTY: ''
      NUMBER: 1.50
      YES: 'true'
      NOT_SET:
      DEFAULTED: \${NOWHERE:-default value}
      DOLLAR: cost $$5 and \${GREETING}
    labels:
      - traefik.http.routers.svc.rule=Host(\`example.org\`) && PathPrefix(\`/\`)
      - com.example.dollar=$$x
      - com.example.variable=\${LABEL}
      - com.example.bare
    logging: *logging
    healthcheck:
      test: wget -qO- http://127.0.0.1:8080/version || exit 1
      interval: 1m
      timeout: 3s
      retries: 3
      start_period: 30s
      start_interval: 500ms
    secrets: [from_file, { source: from_variable, target: other, mode: 0400 }]
    configs: [from_file, { source: inline, target: /etc/inline.conf }]
    depends_on: { db: { condition: service_started, restart: true } }
    networks:
      internal: { aliases: [www, api], priority: 100 }
      fixed: { ipv4_address: '10.\${OCTET:?}.10' }
  worker:
    extends: { file: base.yaml, service: base }
    image: ${c.image}:\${SVC_VERSION}
    entrypoint: [/bin/sh, /bin/entry.sh]
    command: worker
    restart: unless-stopped
    read_only: true
    privileged: true
    pid: host
    uts: host
    tmpfs: /tmp
    volumes: ['./data:/data']
    volumes_from: ['db:ro']
    links: ['db:database']
    healthcheck: { disable: true }
    deploy:
      replicas: 2
      resources: { limits: { cpus: '0.5', memory: 100M, pids: 50 }, reservations: { memory: 20M } }
      restart_policy: { condition: on-failure, max_attempts: 3 }
    networks: [internal]
  sidecar:
    image: ${c.parts}/tunnel:1
    command: sidecar
    network_mode: service:app
    pid: service:app
    cpu_period: 50000
    cpu_quota: 25000
    healthcheck: { test: [NONE] }
  proxy:
    image: ${c.parts}/tunnel:1
    command: idle
    networks: [internal]
  db:
    image: ${c.parts}/db:1
    command: db
    volumes: ['db:/var/lib/db', ./data/dump:/dump]
    networks: [internal]
volumes:
  other:
  named: { labels: { keep: yes } }
  db: { name: '\${COMPOSE_PROJECT_NAME}_data' }
networks:
  internal:
  fixed: { ipam: { config: [{ subnet: '10.\${OCTET:?}.0/24' }] } }
secrets:
  from_file: { file: ./secret.txt }
  from_variable: { environment: DB_PASSWORD }
configs:
  from_file: { file: ./config.txt }
  inline: { content: "\${NOWHERE:-default} costs $$5" }
`,
  },
});

/** Lines and their replacements: changes that remove something or grant rights, and one change of each other kind. */
const keys: readonly (readonly [is: string, changed: string])[] = [
  ['    command: [app]', '    command: [app, more]'],
  ['    init: true', '    init: false'],
  ['    ipc: shareable', '    ipc: host'],
  ['    cgroup: private', '    cgroup: host'],
  ['    cap_drop: [MKNOD, cap_audit_write]', '    cap_drop: [MKNOD]'],
  [
    "    devices: ['/dev/null:/dev/null2', '/dev/zero:/dev/zero2:r', /dev/full]",
    "    devices: ['/dev/null:/dev/null2', '/dev/zero:/dev/zero2:rw', /dev/full]",
  ],
  ["      - '9103'", "      - '9103/udp'"],
  ['      - 127.0.0.1::9100', '      - 127.0.0.1::9104'],
  ['      - 127.0.0.1:21000-21900:9101', '      - 127.0.0.1:22000-22900:9101'],
  ['      - named:/named', '      - other:/named'],
  ['      - ./data/sub dir:/sub:ro', '      - ./data/sub dir:/sub'],
  ['      - /anonymous', '      - ./data:/anonymous'],
  ['      NUMBER: 1.50', '      NUMBER: 1.60'],
  [
    `      fixed: { ipv4_address: '10.\${OCTET:?}.10' }`,
    `      fixed: { ipv4_address: '10.\${OCTET:?}.11' }`,
  ],
  ['    pid: host', '    pid: service:db'],
  ["    volumes_from: ['db:ro']", "    volumes_from: ['proxy:ro']"],
  ['    networks: [internal]', '    networks: [internal, fixed]'],
  ['    command: sidecar', '    command: sidecar\n    container_name: chosen'],
  ['    env_file: [app.env]', '    env_file: []'],
  [
    '    secrets: [from_file, { source: from_variable, target: other, mode: 0400 }]',
    '    secrets: [{ source: from_file, target: moved }]',
  ],
  ['    network_mode: service:app', '    network_mode: service:db'],
  ['    pid: service:app', '    pid: service:db'],
];

/** The compose file with all changed lines. */
const changeKeys = (text: string): string =>
  keys.reduce((now, [is, changed]) => {
    expect(`${now}\n`).toContain(`${is}\n`);
    return now.replace(`${is}\n`, () => `${changed}\n`);
  }, text);

/** The output of `plan`. Without `--accept-drift`, each difference after `accepted` causes a refusal. */
const sentences = `
    app was edited: a mount at /run/secrets/moved, init, environment variable NUMBER, command
    app was edited: published port 127.0.0.1:22000-22900:9101/tcp, published port 0:9103/udp
    app was edited: published port 127.0.0.1:0:9104/tcp
    worker was edited: network PROJECT_fixed
    sidecar was edited: container_name
    accepted: app would be removed: environment variable FROM_FILE, environment variable ALSO
    accepted: app would be removed: the mount of DIR/secret.txt at /run/secrets/from_file
    accepted: app would be removed: published port 127.0.0.1:0:9100/tcp
    accepted: app would be removed: published port 127.0.0.1:21000-21900:9101/tcp, published port 0:9103/tcp
    accepted: app would become writable: the mount at /sub
    accepted: app would change: network address PROJECT_fixed
    accepted: worker would change: volumes_from
    accepted: app would be granted: ipc: host, cgroup: host, capability AUDIT_WRITE, device /dev/zero
    accepted: worker would be granted: pid: service:db
    accepted: sidecar would be granted: pid: service:db
    accepted: app: the source of the mount at /anonymous would change from an anonymous volume to DIR/data
    accepted: app: the source of the mount at /named would change from PROJECT_named to PROJECT_other
    accepted: sidecar: network mode would change from service:app to service:db
`;

/** Splits each line such as `app would be removed: init, tty` into one sentence for each item. */
const sentencesFor = ({ project, directory }: Instance): string[] =>
  sentences
    .trim()
    .replaceAll('PROJECT', project)
    .replaceAll('DIR', directory)
    .split('\n')
    .flatMap((line) => {
      const [, service, verb, items = ''] =
        /^ *(\S+|accepted: \S+) (would [a-z ]+|was edited): (.*)$/.exec(line) ?? [];
      if (service === undefined) return [line.trim()];
      return items.split(', ').map((item) => `${service}: ${item} ${verb}`);
    })
    .sort();

const toNext = ['--target', 'v1.1.0'];
const isolated = () => `OCTET=${randomInt(250)}.${randomInt(250)}\n`;
/** The warnings. A warning that names all edited keys of a service becomes one line for each key. */
const warnings = (result: UpdateResult) =>
  messages(result, 'warn').flatMap((line) => {
    const [, service, edited] = /^(\S+): the files were edited .* the edits of (.*)$/.exec(line) ?? [];
    return edited?.split(/, | and /).map((key) => `${service}: ${key} was edited`) ?? [line];
  });

test('plan reports no drift for any compose key, names each edited key, and reports no drift after an update', async () => {
  const proxies = { default: { ftpProxy: 'http://proxy.example.org:3128', noProxy: 'example.org' } };
  const config = join(inject('host').directory, `proxies-${randomInt(1e6)}`);
  await mkdir(config);
  await writeFile(join(config, 'config.json'), JSON.stringify({ proxies }));
  const own = await createInstance({ layout: everyKey, env: isolated(), shell: { DOCKER_CONFIG: config } });
  const volumes = [`${join(config, 'config.json')}:/root/.docker/config.json:ro`];

  const before = await look(own);
  const unedited = await own.update(['plan', ...toNext], { volumes });
  expect([...messages(unedited, 'warn'), ...messages(unedited, 'error')]).toEqual([]);
  expectWords(unedited, { exitCode: 0, says: [], ends: ['planned'] });
  expect(judgeUntouched(before, await look(own))).toEqual([]);

  // Settings that no file contains, and that would be lost: proxies from config.json, and a manually connected network.
  const app = `${own.project}-app-1`;
  await execa('docker', ['network', 'connect', 'bridge', app]);
  const lost = {
    exitCode: 3,
    says: [
      'app: environment variable FTP_PROXY would be removed',
      'app: environment variable no_proxy would be removed',
      'app: network bridge would be removed',
    ],
    ends: [
      'Mount the config.json that contains the proxy settings',
      'If you manually connected containers to bridge',
    ],
    never: [/3128/],
  };
  expectWords(await own.update(['plan', ...toNext]), lost);
  await execa('docker', ['network', 'disconnect', 'bridge', app]);

  const text = await own.read('compose.yaml');
  await own.write('compose.yaml', changeKeys(text));
  const changed = await own.update(['plan', ...toNext, '--accept-drift'], { volumes });
  expect(warnings(changed).sort(), changed.log).toEqual(sentencesFor(own));
  const editedServices = messages(changed, 'warn').flatMap(
    (line) => /^(\S+): the files were edited/.exec(line)?.[1] ?? [],
  );
  expect(editedServices.sort()).toEqual(['app', 'sidecar', 'worker']);
  expect(changed.exitCode, changed.log).toBe(0);
  await own.write('compose.yaml', text);
  expectWords(await own.update(toNext, { volumes }), { exitCode: 0, says: [], ends: ['updated'] });
  const again = await own.update(['plan', ...toNext], { volumes });
  expect([...warnings(again), ...messages(again, 'error')]).toEqual([]);
});

/** Compose settings that grant rights on the host. `given` has their names in the log. */
const powers = {
  lines: `privileged: true
pid: host
ipc: host
uts: host
cap_add: [SYS_ADMIN]
devices: ['/dev/zero:/dev/whole']
device_cgroup_rules: ['c 1:3 mr']
security_opt: ['seccomp:unconfined', 'label:disable']
secrets: [shadow]`,
  mounts: [
    '/:/host',
    '/var/run/docker.sock:/engine.sock',
    './data/out:/out',
    './data:/data/again',
    'root:/root',
  ],
  tail: `secrets: { shadow: { file: /etc/shadow } }`,
};
const given = [
  ...['privileged: true', 'pid: host', 'ipc: host', 'uts: host', 'capability SYS_ADMIN'],
  ...['device /dev/zero', 'devices that match the rule c 1:3', 'seccomp=unconfined', 'label=disable'],
  ...['host path / mounted at /host', 'host path /var/run/docker.sock mounted at /engine.sock'],
  ...['host path / mounted at /root', 'host path /etc/shadow mounted at /run/secrets/shadow (read-only)'],
];

/** The compose file with all these settings for the app. */
const withPowers = (text: string, out: string): string =>
  text
    .replace('    command: app\n', `    command: app\n${powers.lines.replace(/^/gm, '    ')}\n`)
    .replace(
      "volumes: ['./data:/data'",
      (is) => `${is}, ${powers.mounts.map((mount) => `'${mount}'`).join(', ')}`,
    )
    .replace(/^volumes:\n/m, "volumes:\n  root: { driver_opts: { type: none, o: 'bind', device: / } }\n")
    .concat(out);

test('a run that grants new rights is refused with the name of each right, unless the rights are accepted or already applied', async () => {
  const own = await createInstance({ ...alone, kind: 'inline' });
  const text = await own.read('compose.yaml');
  // The app can write to this directory, so a path inside the instance's directory may be a link to another directory.
  await execa('ln', ['-s', '/etc', join(own.directory, 'data/out')]);
  await own.write('compose.yaml', withPowers(text, `${powers.tail}\n`));
  const says = [...given, `host path ${own.directory}/data/out mounted at /out`].map(
    (right) => `app: ${right} would be granted`,
  );
  await expectAttempt(own, toNext, {
    exitCode: 3,
    says,
    ends: [
      'refused (drift)',
      'If you added these privileges yourself, apply them with docker compose up -d first',
    ],
    never: [/mounted at \/data\/again/],
  });
  expectWords(await own.update(['plan', ...toNext]), { exitCode: 3, says, ends: [/^refused/] });
  const accepted = says.map((sentence) => `accepted: ${sentence}`);
  const planned = await own.update(['plan', ...toNext, '--accept-drift']);
  expectWords(planned, { exitCode: 0, says: accepted, ends: ['planned'] });
  await own.compose('up', '-d', '--no-deps', 'app');
  await own.waitUntilHealthy();
  const applied = await own.update(['plan', ...toNext]);
  expectWords(applied, { exitCode: 0, says: [], ends: ['planned'] });
  expect(warnings(applied)).toEqual([]);
});

// Compose supports `provider:` since 2.36.
const { stdout: version } = await execa('docker', ['compose', 'version', '--short']);
const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
const hasProviders = major > 2 || minor >= 36;
const provider = `#!/bin/sh
case "$*" in *" up "*) echo '{"type":"setenv","message":"URL=x"}'; echo '{"type":"rawsetenv","message":"TOKEN=y"}' ;; esac
`;

test.runIf(hasProviders)(
  'an update of a service with variables of a provider is refused with the command to run, even with --accept-drift',
  async () => {
    const bin = join(inject('host').directory, `provider-${randomInt(1e6)}`);
    await mkdir(bin);
    await writeFile(join(bin, 'test-provider'), provider, { mode: 0o755 });
    const shell = { PATH: `${bin}:${process.env.PATH}` };
    const own = await createInstance({ ...alone, kind: 'inline', shell });
    const text = await own.read('compose.yaml');
    const storage = '  storage:\n    provider: { type: test-provider }\n';
    const edited = text
      .replace('depends_on: [db]', 'depends_on: [db, storage]')
      .replace('services:\n', `services:\n${storage}`);
    await own.write('compose.yaml', edited);
    await own.compose('up', '-d', '--force-recreate', 'app');
    await own.waitUntilHealthy();
    for (const args of [toNext, [...toNext, '--accept-drift']]) {
      await expectAttempt(own, args, {
        exitCode: 3,
        says: ['app: provider storage sets STORAGE_URL; the updater cannot run providers'],
        ends: ['refused (drift)', /pull app worker && docker compose .*up -d app worker on the host/],
      });
    }
  },
);
