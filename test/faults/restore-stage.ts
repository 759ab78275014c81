import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { findContainers } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { LayoutContext } from '../rig/layout.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import type { TestHost } from '../rig/test-host.ts';
import { type DataKind, databases, firstVersion, password } from './databases.ts';

// An instance whose app writes only at the first start of a version: between two starts, all data is known exactly. A
// live instance also writes rows until it is stopped, while its gate is open.

export const versions = { old: firstVersion, good: 'v1.1.0', bad: 'v1.1.2' } as const;

const usualHealth = `{ test: [CMD, /bin/wget, -qO-, 'http://127.0.0.1:8080/version'], timeout: 3s, retries: 3 }`;

/** A release that creates /tmp/busy at its start is `starting` until it removes that file, and the updater waits. */
export const patientHealth = `{ test: [CMD, /bin/sh, -c, 'while [ -e /tmp/busy ]; do /bin/busybox sleep 0.1; done; exec /bin/wget -qO- http://127.0.0.1:8080/version'], interval: 1s, timeout: 180s, retries: 3 }`;

interface StageOptions {
  /** App and worker write until they stop, and `data` is a disk of 64 MB. */
  isLive?: boolean;
  /** The app's health check, for compose. */
  health?: string;
}

const compose = (
  kind: DataKind,
  parts: string,
  image: string,
  { isLive = false, health = usualHealth }: StageOptions,
) => `services:
  app:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: app
    restart: always
    ${isLive ? 'mem_limit: 192m' : ''}
    stop_grace_period: 5s
    ${kind === 'files' ? '' : 'depends_on: [db]'}
    ports: ['127.0.0.1:\${SVC_PORT:?}:8080']
    environment: ['DB_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['./data:/data', 'uploads:/uploads', '\${WITNESS:?}:/witness']
    healthcheck: ${health}
  worker:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: worker
    restart: on-failure:5
    ${kind === 'files' ? '' : 'depends_on: [db]'}
    environment: ['DB_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['./data:/data', 'uploads:/uploads', '\${WITNESS:?}:/witness']
    healthcheck: { test: [CMD, /bin/test, -e, /tmp/alive], timeout: 3s, retries: 3 }
  proxy: { image: '${parts}/proxy:1', command: proxy, restart: always }
${kind === 'files' ? '' : `  db:\n    image: ${image}\n    restart: always\n    ${databases[kind].lines}\n`}volumes:
  uploads:
${kind === 'files' ? '' : '  db:'}
`;

/** Downloads everything that a stage needs. Returns the image of its database; null for files. */
export async function prepareStage(kind: DataKind): Promise<string | null> {
  if (kind === 'files') return null;
  await databases[kind].layers();
  return databases[kind].image();
}

/** Numbers by the name of each start of app and worker. */
type Numbers = Map<string, number[]>;

export class RestoreStage {
  readonly kind: DataKind;
  readonly instance: Instance;
  /** The app's data directories, by name. */
  readonly trees: Readonly<Record<string, string>>;
  /** The directory of its restore points. */
  points: string;
  readonly #witness: string;

  private constructor(kind: DataKind, instance: Instance, uploads: string) {
    this.kind = kind;
    this.instance = instance;
    this.trees = { data: join(instance.directory, 'data'), uploads };
    this.points = join(instance.directory, '.svc-updater', 'restore');
    this.#witness = witnessOf(instance.name);
  }

  static async start(host: TestHost, kind: DataKind, options: StageOptions = {}): Promise<RestoreStage> {
    const { isLive = false } = options;
    const name = `${host.run}-${randomBytes(3).toString('hex')}`;
    const image = (await prepareStage(kind)) ?? '';
    const settings = ({ image, port, tag }: LayoutContext) =>
      `DB_PASSWORD='${password}'\nSVC_IMAGE=${image}\nSVC_PORT=${port}\nSVC_VERSION=${tag}\nWITNESS=${witnessOf(name)}\n`;
    await mkdir(join(witnessOf(name), 'wrote'), { recursive: true });
    const instance = await startInstance(host, {
      name,
      release: await releaseOf(kind, isLive ? { LIVE: 'yes' } : {}),
      publish: [],
      impatient: true,
      up: ['--no-start'],
      layout: (c) => ({
        files: { 'compose.yaml': compose(kind, c.parts, image, options), '.env': settings(c) },
        flags: [],
      }),
    });
    const volume = `${instance.project}_uploads`;
    const { stdout } = await execa('docker', ['volume', 'inspect', '--format', '{{.Mountpoint}}', volume]);
    const stage = new RestoreStage(kind, instance, stdout);
    try {
      if (isLive) await mountDisk(stage.trees.data ?? '', stage.#disk);
      await stage.setGate('open');
      await stage.publish(versions.good, {});
      await stage.publish(versions.bad, { FAULT_APP: 'unhealthy' });
      for (const tree of Object.values(stage.trees))
        await execa('bash', ['-euc', isLive ? makeTree + makeOddFiles : makeTree, 'make', tree]);
      if (kind !== 'files') {
        await instance.compose('up', '-d', 'db');
        for (let tries = 0; ; tries++) {
          const ready = await stage.ask(databases[kind].question).catch(() => null);
          if (ready !== null) break;
          if (tries === 240) throw new Error(await instance.compose('logs', 'db'));
          await sleep(500);
        }
        await stage.ask(databases[kind].seed);
      }
      await instance.compose('up', '-d');
      await instance.waitUntilHealthy(120);
      return stage;
    } catch (error) {
      await stage.dispose();
      throw error;
    }
  }

  /** Publishes a release that migrates data. @param env see restore-app.sh */
  async publish(
    tag: string,
    env: Record<string, string>,
    labels: Record<string, string> = {},
  ): Promise<void> {
    const release = await releaseOf(this.kind, { MIGRATES: 'yes', ...env });
    await this.instance.publish(tag, { ...release, labels });
  }

  /** Changes the data to a value that no earlier try has used. */
  async touch(): Promise<void> {
    const word = randomBytes(8).toString('hex');
    const script = 'echo "$2" >>"$1/stamp"; touch -d "1 hour ago" "$1/stamp"';
    for (const tree of Object.values(this.trees)) await execa('bash', ['-euc', script, 'touch', tree, word]);
    if (this.kind !== 'files') await this.ask(databases[this.kind].touch(word));
  }

  /** Runs commands as the database's owner. */
  ask(text: string): Promise<string> {
    if (this.kind === 'files') throw new Error('there is no database');
    return this.inDatabase(databases[this.kind].client, text);
  }

  inDatabase = async (command: readonly string[], input = ''): Promise<string> => {
    const secrets = ['REDISCLI_AUTH', 'PGPASSWORD', 'MYSQL_PWD'].flatMap((name) => [
      '-e',
      `${name}=${password}`,
    ]);
    const args = ['exec', '-i', ...secrets, await this.databaseId(), ...command];
    return (await execa('docker', args, { input, timeout: 120_000, maxBuffer: 1e9 })).stdout;
  };

  /** The versions that have migrated the data: of each directory, and of the database. */
  async schemas(): Promise<string[]> {
    const files = Object.values(this.trees).map((tree) => readFile(join(tree, 'schema'), 'utf8'));
    const rows = this.kind === 'files' ? [] : [databases[this.kind].version(this.inDatabase)];
    return (await Promise.all([...files, ...rows])).map((text) => text.trim());
  }

  async databaseId(): Promise<string> {
    const containers = await findContainers(this.instance.project);
    const db = containers.find(({ Config }) => Config.Labels['com.docker.compose.service'] === 'db');
    if (db === undefined) throw new Error('there is no database');
    return db.Id;
  }

  /** All starts so far, such as `app v1.0.0 on v1.0.0 v1.0.0 v1.0.0`, from files and from rows. */
  async boots(): Promise<string[]> {
    return (await readFile(join(this.#witness, 'boots'), 'utf8')).trim().split('\n');
  }

  /** `open`: all starts write; `hold`: only current writers; `paused`: none. */
  async setGate(gate: 'open' | 'hold' | 'paused'): Promise<void> {
    await writeFile(join(this.#witness, 'gate'), gate);
  }

  /** The last number that each start is known to have written. */
  wrote = (): Promise<Numbers> => numbersIn(join(this.#witness, 'wrote'));

  /** The numbers of each start in a file. */
  liveLines = (): Promise<Numbers> => numbersIn(join(this.trees.uploads ?? '', 'live'));

  /** The numbers of each start in the database; null for files. */
  async liveRows(): Promise<Numbers | null> {
    if (this.kind === 'files') return null;
    const numbers: Numbers = new Map();
    for (const [boot = '', n] of (await databases[this.kind].liveRows(this.inDatabase)).map((row) =>
      row.split(' '),
    )) {
      numbers.set(
        boot,
        [...(numbers.get(boot) ?? []), Number(n)].sort((a, b) => a - b),
      );
    }
    return numbers;
  }

  /** Waits until app and worker of the old version have each written more. */
  async awaitWrites(): Promise<void> {
    const before = await this.wrote();
    for (let tries = 0; tries < 600; tries++) {
      const fresh = [...(await this.wrote())].filter(
        ([boot, [n = 0]]) => n > (before.get(boot)?.[0] ?? 0) + 2,
      );
      if (
        ['app', 'worker'].every((role) => fresh.some(([boot]) => boot.startsWith(`${role}-${versions.old}-`)))
      )
        return;
      await sleep(100);
    }
    throw new Error(`app and worker do not write:\n${await this.instance.compose('logs', 'app', 'worker')}`);
  }

  /** Waits until nothing is written. */
  async pause(): Promise<void> {
    await this.setGate('paused');
    for (let before = ''; ; ) {
      const now = JSON.stringify([...(await this.wrote())]);
      if (now === before) return;
      before = now;
      await sleep(1_500);
    }
  }

  async dispose(): Promise<void> {
    await execa('umount', ['--lazy', this.trees.data ?? ''], { reject: false });
    await this.instance.dispose();
    await rm(this.#witness, { recursive: true, force: true });
    await rm(this.#disk, { force: true });
  }

  get #disk(): string {
    return `${this.instance.directory}.ext4`;
  }
}

async function releaseOf(kind: DataKind, env: Record<string, string>): Promise<ReleaseOptions> {
  return {
    files: { 'app.sh': await readFile(new URL('restore-app.sh', import.meta.url), 'utf8') },
    entrypoint: ['/bin/sh', '/usr/share/svc/release/app.sh'],
    env: { PATH: '/bin:/usr/bin', ...(kind !== 'files' && { DB_KIND: kind }), ...env },
    layers: kind === 'files' ? [] : await databases[kind].layers(),
  };
}

/** A disk that a release can fill. */
async function mountDisk(directory: string, file: string): Promise<void> {
  await execa('truncate', ['-s', '64M', file]);
  await execa('mkfs.ext4', ['-q', file], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
  await mkdir(directory, { recursive: true });
  await execa('mount', ['-o', 'loop', file, directory]);
}

async function numbersIn(directory: string): Promise<Numbers> {
  const numbers: Numbers = new Map();
  for (const boot of await readdir(directory).catch(() => [])) {
    const text = await readFile(join(directory, boot), 'utf8');
    numbers.set(boot, text.split('\n').filter(Boolean).map(Number));
  }
  return numbers;
}

/** In a system directory, which is never saved. */
const witnessOf = (name: string) => `/dev/shm/${name}`;

const makeTree = `cd "$1"; umask 022; echo ${versions.old} >schema; echo kept >kept; echo gone >gone; echo stamp >stamp
mkdir -p deep/er 'sp ace' live; ln -s ../kept deep/link; ln kept deep/er/same; chown 1234:4321 gone; chmod 4750 gone
for n in $(seq 300); do echo "$n" >deep/$n; done; head -c 8000000 /dev/urandom >large; truncate -s 5M holes
mkfifo pipe; setfattr -n user.x -v 1 kept; setfattr -n user.rsync.%stat -v '100644 0,0 1:2' kept; chmod 2770 deep; chown 33:33 deep .; touch -d '2001-02-03 04:05:06.789' deep/er deep .
`;

/** The long values are the capability to bind any port, and an access control list. */
const makeOddFiles = `ln -s '/nowhere/at all' dangling; chown -h 1234:4321 dangling
echo odd >$'sp ace/n\\xe4me\\nof "bytes" -rf'; : >"sp ace/$(printf 'x%.0s' {1..255})"
setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 large
for name in kept deep; do
  setfattr -n system.posix_acl_access -v 0x0200000001000700ffffffff02000500e903000004000500ffffffff10000700ffffffff20000000ffffffff $name
done`;
