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
import { expectWords } from './support/attempt.ts';
import { createInstance, type Instance } from './support/instance.ts';

// Where the files say what runs, whichever compose has made it, there is neither a refusal nor a warning; where they do
// not, what is lost is refused, and the rest is named.

/** As many keys of the compose specification as this engine can serve, in their short and their long forms. */
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
      fixed: { ipv4_address: '10.\${OCTET:?}.10', mac_address: '02:42:ac:1f:d5:0a' }
  worker:
    extends: { file: base.yaml, service: base }
    image: ${c.image}:\${SVC_VERSION}
    entrypoint: [/bin/sh, /bin/entry.sh]
    command: worker
    restart: unless-stopped
    read_only: true
    privileged: true
    pid: host
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
    healthcheck: { test: [NONE] }
  db:
    image: ${c.parts}/db:1
    command: db
    volumes: ['db:/var/lib/db', ./data/dump:/dump]
    networks: [internal]
volumes:
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

const toNext = ['--target', 'v1.1.0'];
const isolated = () => `OCTET=${randomInt(250)}.${randomInt(250)}\n`;
const warnings = (result: UpdateResult) =>
  messages(result, 'warn').map((line) => line.replace(/: the files say something else by now.*/, ''));

/** Replaces texts in the compose file, each of which has to be there. */
async function edit(own: Instance, edits: readonly (readonly [from: string, to: string])[]): Promise<void> {
  let text = await own.read('compose.yaml');
  for (const [from, to] of edits) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  await own.write('compose.yaml', text);
}

test("every key, made by the machine's compose: no drift; each edit is named; updated, no drift again", async () => {
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

  // What was given from outside the files, and goes: the proxies of a config.json, a network that was joined by hand.
  const app = `${own.project}-app-1`;
  await execa('docker', ['network', 'connect', 'bridge', app]);
  const lost = {
    exitCode: 3,
    says: [
      'app: environment variable FTP_PROXY would be dropped',
      'app: environment variable no_proxy would be dropped',
      'app: network bridge would be dropped',
    ],
    ends: ['Mount the config.json that has the proxies', 'Name bridge in the compose file'],
    never: [/3128/],
  };
  expectWords(await own.update(['plan', ...toNext]), lost);
  await execa('docker', ['network', 'disconnect', 'bridge', app]);

  await own.write('.env', (await own.read('.env')).replace('GREETING=hello', 'GREETING=good day'));
  await edit(own, [
    ['command: [app]', 'command: [app, more]'],
    ["user: '0:0'", "user: '0'"],
    ['hostname: svc-app', 'hostname: svc-other'],
    ['restart: on-failure:3', 'restart: on-failure:4'],
    ['stop_grace_period: 7s', 'stop_grace_period: 8s'],
    ['mem_limit: 300m', 'mem_limit: 310m'],
    ['cap_add: [NET_ADMIN, CAP_SYS_PTRACE]', 'cap_add: [NET_ADMIN]'],
    ['net.core.somaxconn=1024', 'net.core.somaxconn=1025'],
    ['soft: 500', 'soft: 501'],
    ["'host.docker.internal:host-gateway', ", ''],
    [', /dev/full', ''],
    ['size=1m,mode=700', 'size=2m,mode=700'],
    ['com.example.bare', 'com.example.bare=1'],
    ['max-size: 1m', 'max-size: 2m'],
    ['interval: 1m', 'interval: 2m'],
    ['aliases: [www, api]', 'aliases: [www]'],
    ["- '9103'", "- '9103'\n      - 127.0.0.1::9104"],
    ['- /anonymous\n', '- /anonymous\n      - ./data:/data2\n'],
    ['      DEFAULTED:', '      ADDED: 1\n      DEFAULTED:'],
  ]);
  const edited = await own.update(['plan', ...toNext], { volumes });
  expect(warnings(edited).sort()).toEqual(
    [
      'a mount at /data2 would be added',
      'cap_add would change',
      'command would change',
      'devices /dev/full would be dropped',
      'environment variable ADDED would be added',
      'environment variable DOLLAR would change',
      'extra_hosts host.docker.internal would be dropped',
      'healthcheck would change',
      'hostname would change',
      'label com.example.bare would change',
      'logging options max-size would change',
      'mem_limit would change',
      `network aliases ${own.project}_internal would change`,
      'published port 127.0.0.1:0:9104/tcp would be added',
      'restart would change',
      'stop_grace_period would change',
      'sysctls net.core.somaxconn would change',
      'tmpfs /run/a would change',
      'ulimits nofile would change',
      'user would change',
    ].map((what) => `app: ${what}`),
  );
  expect(edited.exitCode, edited.log).toBe(0);

  const updated = await own.update(toNext, { volumes });
  expect(updated.exitCode, updated.log).toBe(0);
  const again = await own.update(['plan', '--target', 'v1.1.0'], { volumes });
  expect([...warnings(again), ...messages(again, 'error')]).toEqual([]);
});

test("every key, made by the image's compose: no drift", async () => {
  const options = { layout: everyKey, env: isolated(), byImagesCompose: true, impatient: true };
  const own = await createInstance(options);
  const plan = await own.update(['plan', ...toNext]);
  expect([...messages(plan, 'warn'), ...messages(plan, 'error')]).toEqual([]);
  expectWords(plan, { exitCode: 0, says: [], ends: ['planned'] });
});
