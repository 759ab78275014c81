import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { debianLayer } from '../platform/rig/debian.ts';
import { postgres } from '../platform/rig/stand-ins.ts';
import { postgresImage } from '../rig/databases/postgres.ts';
import { redisImage } from '../rig/databases/redis.ts';
import { findContainers } from '../rig/engine-api.ts';
import type { Layer } from '../rig/image.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { LayoutContext } from '../rig/layout.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import type { TestHost } from '../rig/test-host.ts';

// An instance whose app writes only when a version first starts: between two starts the data is known to the last byte.

export const dataKinds = ['files', 'postgres', 'redis'] as const;
export type DataKind = (typeof dataKinds)[number];

export const versions = { old: 'v1.0.0', good: 'v1.1.0', bad: 'v1.1.2' } as const;

interface Server {
  image(): Promise<string>;
  /** The lines of its service. */
  lines: string;
  /** The owner's client, which reads from its input. */
  client: readonly string[];
  /** The client in the app's image. */
  layers(): Promise<Layer[]>;
  question: string;
  seed: string;
  /** Changes the data to something that no try before has had. */
  touch: (word: string) => string;
}

const servers: Record<Exclude<DataKind, 'files'>, Server> = {
  postgres: {
    image: () => postgresImage(15),
    lines: `environment: [POSTGRES_USER=svc, POSTGRES_DB=svc, 'POSTGRES_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/var/lib/postgresql/data']`,
    client: [
      'psql',
      '-h',
      '127.0.0.1',
      '-U',
      'svc',
      '-d',
      'svc',
      '-X',
      '-q',
      '-A',
      '-t',
      '-v',
      'ON_ERROR_STOP=1',
    ],
    layers: async () => [await debianLayer(postgres)],
    question: 'SELECT 1',
    seed: `CREATE TABLE schema_of (version varchar(20));
INSERT INTO schema_of VALUES ('${versions.old}');
CREATE TABLE things (id integer PRIMARY KEY, name varchar(200));
INSERT INTO things SELECT n, 'thing ' || repeat(md5(n::text), 3) FROM generate_series(1, 20000) n;
CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT ON things TO clerk; CREATE SEQUENCE numbers START 7`,
    touch: (word) => `UPDATE things SET name = '${word}' WHERE id = 1`,
  },
  redis: {
    image: redisImage,
    lines: `environment: ['REDIS_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/data']`,
    client: ['redis-cli', '-e'],
    // Busybox has nc.
    layers: async () => [],
    question: 'PING',
    seed: `EVAL "for n=1,5000 do redis.call('SET','thing:'..n,string.rep('x',n%200)) end" 0\nSET schema ${versions.old}\n`,
    touch: (word) => `SET thing:1 ${word}\n`,
  },
};

const password = 'correct horse battery';

const compose = (kind: DataKind, parts: string, image: string) => `services:
  app:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: app
    restart: always
    ${kind === 'files' ? '' : 'depends_on: [db]'}
    ports: ['127.0.0.1:\${SVC_PORT:?}:8080']
    environment: ['DB_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['./data:/data', 'uploads:/uploads', '\${WITNESS:?}:/witness']
    healthcheck: { test: [CMD, /bin/wget, -qO-, 'http://127.0.0.1:8080/version'], timeout: 3s, retries: 3 }
  worker:
    image: \${SVC_IMAGE:?}:\${SVC_VERSION:?}
    command: worker
    restart: on-failure:5
    ${kind === 'files' ? '' : 'depends_on: [db]'}
    environment: ['DB_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['./data:/data', 'uploads:/uploads', '\${WITNESS:?}:/witness']
    healthcheck: { test: [CMD, /bin/test, -e, /tmp/alive], timeout: 3s, retries: 3 }
  proxy: { image: '${parts}/proxy:1', command: proxy, restart: always }
${kind === 'files' ? '' : `  db:\n    image: ${image}\n    restart: always\n    ${servers[kind].lines}\n`}volumes:
  uploads:
${kind === 'files' ? '' : '  db:'}
`;

/** Fetches what a stage needs from the network. Gives the image of its database; null for files. */
export async function prepareStage(kind: DataKind): Promise<string | null> {
  if (kind === 'files') return null;
  await servers[kind].layers();
  return servers[kind].image();
}

export class RestoreStage {
  readonly kind: DataKind;
  readonly instance: Instance;
  /** The app's directories of data, by name. */
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

  static async start(host: TestHost, kind: DataKind): Promise<RestoreStage> {
    const name = `${host.run}-${randomBytes(3).toString('hex')}`;
    const server = kind === 'files' ? null : servers[kind];
    const image = (await server?.image()) ?? '';
    const text = await readFile(new URL('restore-app.sh', import.meta.url), 'utf8');
    const release = async (env: Record<string, string>): Promise<ReleaseOptions> => ({
      files: { 'app.sh': text },
      entrypoint: ['/bin/sh', '/usr/share/svc/release/app.sh'],
      env: { PATH: '/bin:/usr/bin', ...(server && { DB_KIND: kind }), ...env },
      layers: (await server?.layers()) ?? [],
    });
    const settings = ({ image, port, tag }: LayoutContext) =>
      `DB_PASSWORD='${password}'\nSVC_IMAGE=${image}\nSVC_PORT=${port}\nSVC_VERSION=${tag}\nWITNESS=${witnessOf(name)}\n`;
    await mkdir(witnessOf(name), { recursive: true });
    const instance = await startInstance(host, {
      name,
      release: await release({}),
      publish: [],
      impatient: true,
      up: ['--no-start'],
      layout: (c) => ({
        files: { 'compose.yaml': compose(kind, c.parts, image), '.env': settings(c) },
        flags: [],
      }),
    });
    const volume = `${instance.project}_uploads`;
    const { stdout } = await execa('docker', ['volume', 'inspect', '--format', '{{.Mountpoint}}', volume]);
    const stage = new RestoreStage(kind, instance, stdout);
    try {
      await instance.publish(versions.good, await release({ MIGRATES: 'yes' }));
      await instance.publish(versions.bad, await release({ MIGRATES: 'yes', FAULT_APP: 'unhealthy' }));
      for (const tree of Object.values(stage.trees)) await execa('bash', ['-euc', makeTree, 'make', tree]);
      if (server !== null) {
        await instance.compose('up', '-d', 'db');
        for (let tries = 0; ; tries++) {
          const ready = await stage.ask(server.question).catch(() => null);
          if (ready !== null) break;
          if (tries === 240) throw new Error(await instance.compose('logs', 'db'));
          await sleep(500);
        }
        await stage.ask(server.seed);
      }
      await instance.compose('up', '-d');
      await instance.waitUntilHealthy(120);
      return stage;
    } catch (error) {
      await stage.dispose();
      throw error;
    }
  }

  /** Changes the data to something that no try before has had. */
  async touch(): Promise<void> {
    const word = randomBytes(8).toString('hex');
    for (const tree of Object.values(this.trees)) {
      await execa('bash', [
        '-euc',
        'echo "$2" >>"$1/stamp"; touch -d "1 hour ago" "$1/stamp"',
        'touch',
        tree,
        word,
      ]);
    }
    if (this.kind !== 'files') await this.ask(servers[this.kind].touch(word));
  }

  /** As the database's owner. */
  ask(text: string): Promise<string> {
    if (this.kind === 'files') throw new Error('there is no database');
    return this.inDatabase(servers[this.kind].client, text);
  }

  async inDatabase(command: readonly string[], input = ''): Promise<string> {
    const secrets = ['-e', `REDISCLI_AUTH=${password}`, '-e', `PGPASSWORD=${password}`];
    const args = ['exec', '-i', ...secrets, await this.databaseId(), ...command];
    return (await execa('docker', args, { input, timeout: 120_000, maxBuffer: 1e9 })).stdout;
  }

  /** The versions that have migrated the data: of each tree, and of the database. */
  async schemas(): Promise<string[]> {
    const files = Object.values(this.trees).map(async (tree) =>
      (await readFile(join(tree, 'schema'), 'utf8')).trim(),
    );
    const asked = { postgres: 'SELECT max(version) FROM schema_of', redis: 'GET schema' };
    const rows = this.kind === 'files' ? [] : [(await this.ask(asked[this.kind])).trim()];
    return [...(await Promise.all(files)), ...rows];
  }

  async databaseId(): Promise<string> {
    const containers = await findContainers(this.instance.project);
    const db = containers.find(({ Config }) => Config.Labels['com.docker.compose.service'] === 'db');
    if (db === undefined) throw new Error('there is no database');
    return db.Id;
  }

  /** Every start so far, such as `app v1.0.0 on v1.0.0 v1.0.0 v1.0.0`: of the files, and of the rows. */
  async boots(): Promise<string[]> {
    return (await readFile(join(this.#witness, 'boots'), 'utf8')).trim().split('\n');
  }

  async dispose(): Promise<void> {
    await this.instance.dispose();
    await rm(this.#witness, { recursive: true, force: true });
  }
}

/** Inside a directory of the system, which is never saved. */
const witnessOf = (name: string) => `/dev/shm/${name}`;

const makeTree = `cd "$1"; umask 022; echo ${versions.old} >schema; echo kept >kept; echo gone >gone; echo stamp >stamp
mkdir -p deep/er 'sp ace'; ln -s ../kept deep/link; ln kept deep/er/same; chown 1234:4321 gone; chmod 4750 gone
for n in $(seq 300); do echo "$n" >deep/$n; done; head -c 8000000 /dev/urandom >large; truncate -s 5M holes
mkfifo pipe; setfattr -n user.x -v 1 kept; chmod 2770 deep; chown 33:33 deep .; touch -d '2001-02-03 04:05:06.789' deep/er deep .`;
