import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { postgresImage } from '../rig/databases/postgres.ts';
import type { Instance } from '../rig/instance.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { watchOutage } from '../rig/outage.ts';
import type { TestHost } from '../rig/test-host.ts';
import { onTestHost, runUpdater, setVariables, startBenchInstance } from './bench-instance.ts';
import { type Comparison, describeMachine, report } from './compare.ts';
import { type DiskKind, diskKinds, mountDisk } from './loop-disk.ts';

/** What scripts/bench runs for `restore`: how long the app is away for a restore point, beside a dump by hand. */

const turns = Number(process.env.PAIRS ?? 3);
const megabytes = Number(process.env.MEGABYTES ?? 1_000);
const smallFiles = 50 * megabytes;
const diskBytes = 16e9;

interface Profile {
  name: string;
  database: boolean;
  fill(instance: Instance): Promise<void>;
  /** What a person types once app and worker have stopped. */
  keep: string;
}

const tar = 'tar --create --file=by-hand.tar data';

const profiles: Profile[] = [
  {
    name: `${megabytes} MB of PostgreSQL`,
    database: true,
    fill: fillDatabase,
    keep: 'docker compose exec -T db pg_dump -U svc svc | zstd -q -1 -f -o by-hand.sql.zst',
  },
  { name: `${megabytes} MB in files of 10 MB`, database: false, fill: fillLarge, keep: tar },
  { name: `${smallFiles} files of 4 KB`, database: false, fill: fillSmall, keep: tar },
];

await onTestHost(async (host) => {
  console.log(`${turns} turns; ${describeMachine()}`);
  const all: Comparison[] = [];
  const only = process.env.ONLY ?? '';
  for (const kind of diskKinds) {
    const unmount = await mountDisk(kind, join(host.directory, kind), diskBytes);
    try {
      for (const profile of profiles) {
        if (`${profile.name}, ${kind}`.includes(only)) all.push(...(await measure(host, kind, profile)));
      }
    } finally {
      await unmount();
    }
  }
  report(all);
});

async function measure(
  host: TestHost,
  kind: DiskKind,
  { name, database, fill, keep }: Profile,
): Promise<Comparison[]> {
  const image = database ? await postgresImage(17) : null;
  const { instance, next } = await startBenchInstance(host, 4 * turns, {
    folder: kind,
    layout: (context) => ({
      files: { 'compose.yaml': composeFile(context, image), '.env': `SVC_VERSION=${context.tag}\n` },
      flags: [],
    }),
  });
  const byHand = async (to: string, commands: string) => {
    await setVariables(instance, { SVC_VERSION: to });
    const script = `docker compose pull app worker\n${commands}\ndocker compose up -d --no-deps --wait app worker`;
    await execa('bash', ['-euo', 'pipefail', '-c', script], { cwd: instance.directory, stdin: 'ignore' });
  };
  const stopped = `docker compose stop worker app\n${keep}`;
  const ways = {
    kept: (to: string) => runUpdater(instance, ['--target', to, '--restore-point'], 'updated'),
    plain: (to: string) => runUpdater(instance, ['--target', to], 'updated'),
    byHand: (to: string) => byHand(to, stopped),
    byHandSynced: (to: string) => byHand(to, `${stopped}\nsync by-hand.*`),
  };
  const away: Record<keyof typeof ways, number[]> = { kept: [], plain: [], byHand: [], byHandSynced: [] };
  try {
    await fill(instance);
    for (let turn = 0; turn < turns; turn++) {
      for (const [way, work] of Object.entries(ways)) {
        // What the one has left to be written is not for the next to wait for.
        await execa('sync', ['-f', instance.directory]);
        const took = await awayIn(instance, next(), work);
        away[way as keyof typeof ways].push(took);
        console.log(`  ${name}, ${kind}: ${way} ${(took / 1000).toFixed(1)} s`);
      }
    }
  } finally {
    await instance.dispose();
  }
  const figure = `${name}, ${kind}: app away`;
  const base = { unit: 'ms' as const, ours: away.kept };
  return [
    {
      ...base,
      figure,
      against: `stop, ${database ? 'pg_dump' : 'tar'}, up`,
      reach: 1.1,
      theirs: away.byHand,
    },
    { ...base, figure, against: 'the same, and sync', reach: null, theirs: away.byHandSynced },
    { ...base, figure, against: 'an update without', reach: null, theirs: away.plain },
  ];
}

/** Milliseconds in which the app did not answer. */
async function awayIn(
  instance: Instance,
  to: string,
  work: (to: string) => Promise<unknown>,
): Promise<number> {
  const watch = watchOutage(`http://127.0.0.1:${instance.port}/version`);
  await work(to).finally(() => watch.stop());
  const { awayMs, gaps, back } = await watch.stop();
  if (gaps === 0 || !back)
    throw new Error(`the app was away ${gaps} times, and is ${back ? '' : 'not '}back`);
  if ((await instance.version()) !== to) throw new Error(`the app does not run ${to}`);
  return awayMs;
}

function composeFile({ image, port }: LayoutContext, database: string | null): string {
  const service = (command: string, test: string, more: string) => `  ${command}:
    image: ${image}:\${SVC_VERSION}
    command: ${command}
    restart: always
    volumes: ['./data:/data']
    labels: { svc.data: ${database === null ? 'files' : 'none'} }
    healthcheck: { test: [CMD, ${test}], timeout: 3s, retries: 3 }
${more}`;
  return `services:
${service('app', '/bin/wget, -qO-, "http://127.0.0.1:8080/version"', `    ports: ['127.0.0.1:${port}:8080']\n`)}${service('worker', '/bin/test, -e, /tmp/alive', '')}${
  database === null
    ? ''
    : `  db:
    image: ${database}
    restart: always
    volumes: ['./db:/var/lib/postgresql/data']
    labels: { svc.data: postgres }
    environment: { POSTGRES_USER: svc, POSTGRES_PASSWORD: secret }
`
}`;
}

/** Rows of some 190 bytes in four tables with an index each. */
async function fillDatabase(instance: Instance): Promise<void> {
  const sql = (statements: string) =>
    instance.compose('exec', '-T', 'db', 'psql', '-XqAtU', 'svc', '-c', statements, 'svc');
  // The first server, which makes the database, does not listen on TCP.
  for (let tries = 0; ; tries++) {
    const ready = await instance.compose('exec', '-T', 'db', 'pg_isready', '-h', '127.0.0.1').catch(() => '');
    if (ready.includes('accepting')) break;
    if (tries === 120) throw new Error('the database does not begin');
    await sleep(500);
  }
  const rows = Math.round(megabytes * 1_320);
  for (let table = 0; table < 4; table++) {
    await sql(`CREATE TABLE items_${table} AS SELECT n AS id, md5(n::text) AS name, md5(n::text || 'a') || md5(n::text || 'b')
      || md5(n::text || 'c') AS body, now() + n * interval '1 second' AS made FROM generate_series(1, ${rows}) n;
      ALTER TABLE items_${table} ADD PRIMARY KEY (id)`);
  }
  console.log(`  ${await sql("SELECT pg_size_pretty(pg_database_size('svc'))")} of PostgreSQL`);
}

async function fillLarge({ directory }: Instance): Promise<void> {
  await mkdir(join(directory, 'data/files'));
  for (let each = 0; each < megabytes / 10; each++) {
    await writeFile(join(directory, `data/files/${each}`), randomBytes(10_000_000));
  }
}

async function fillSmall({ directory }: Instance): Promise<void> {
  for (let folder = 0; folder < smallFiles / 100; folder++) {
    await mkdir(join(directory, `data/files/${folder}`), { recursive: true });
    for (let each = 0; each < 100; each++) {
      await writeFile(join(directory, `data/files/${folder}/${each}`), randomBytes(4_096));
    }
  }
}
