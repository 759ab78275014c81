import { randomBytes } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { postgresImage } from '../rig/databases/postgres.ts';
import type { Instance } from '../rig/instance.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { mountLoop } from '../rig/loop-disk.ts';
import { watchOutage } from '../rig/outage.ts';
import type { TestHost } from '../rig/test-host.ts';
import { onTestHost, startBenchInstance } from './bench-instance.ts';
import { type Comparison, describeMachine, report } from './compare.ts';

/**
 * The section `restore` of scripts/bench: the additional app downtime for a restore point, compared with manual stop,
 * tar, sync and start in the same run; the time for which a rehearsal suspends the app, compared with the same; and the
 * downtime that `plan` expects, compared with the actual downtime.
 */

const turns = Number(process.env.PAIRS ?? 3);
const megabytes = Number(process.env.MEGABYTES ?? 1_000);
const diskBytes = 8e9;
const mostFactor = 2;
const updatesPerSecond = 20;
/** Rows in each of four tables. */
const rows = Math.round(megabytes * 1_000);

const psql = ['exec', '-T', 'db', 'psql', '-XqAtU', 'svc', 'svc', '-c'];

interface Profile {
  name: string;
  database: boolean;
  fill(instance: Instance): Promise<void>;
}

const profiles: Profile[] = [
  { name: `${megabytes} MB of PostgreSQL`, database: true, fill: fillDatabase },
  { name: `${megabytes} MB of files`, database: false, fill: fillFiles },
];

await onTestHost(async (host) => {
  console.log(`${turns} turns; ${describeMachine()}`);
  const all: Comparison[] = [];
  const only = process.env.ONLY ?? '';
  for (const [at, profile] of profiles.entries()) {
    if (!profile.name.includes(only)) continue;
    const directory = join(host.directory, `disk${at}`);
    const disk = await mountLoop('ext4', directory, diskBytes);
    try {
      all.push(...(await measure(host, `disk${at}`, profile)));
    } finally {
      await disk.unmount();
    }
  }
  report(all);
});

async function measure(
  host: TestHost,
  folder: string,
  { name, database, fill }: Profile,
): Promise<Comparison[]> {
  const image = database ? await postgresImage(17) : null;
  const { instance, next } = await startBenchInstance(host, 3 * turns + 3, {
    folder,
    layout: (context) => ({
      files: { 'compose.yaml': composeFile(context, image), '.env': `SVC_VERSION=${context.tag}\n` },
      flags: [],
    }),
  });
  const update = async (...flags: string[]) => {
    const result = await instance.update(['--target', next(), ...flags]);
    if (result.exitCode !== 0) throw new Error(result.log);
    return result.log;
  };
  const byHand = async () => {
    const { stdout } = await execa(
      'docker',
      ['compose', 'ps', '-aq', 'worker', 'app', ...(database ? ['db'] : [])],
      {
        cwd: instance.directory,
      },
    );
    const ids = stdout.split('\n').join(' ');
    const data = database ? 'db' : 'data';
    const script = `docker stop -t 60 ${ids}; tar -cf by-hand.tar ${data}; sync -f by-hand.tar; docker start ${ids}`;
    await execa('bash', ['-euc', script], { cwd: instance.directory, stdin: 'ignore' });
  };
  const load = database ? startLoad(instance) : { stop: async () => {} };
  const rehearse = async () => {
    const { exitCode, log } = await instance.update(['rehearse', '--target', next()], { patience: 600 });
    const pause = /running again after ([\d.]+) s/.exec(log)?.[1];
    if (exitCode !== 0 || pause === undefined) throw new Error(log);
    return 1_000 * Number(pause);
  };
  const additional: number[] = [];
  const pauses: number[] = [];
  const hand: number[] = [];
  const factors: number[] = [];
  try {
    await fill(instance);
    for (let turn = 0; turn < turns; turn++) {
      const plain = await downtime(instance, () => update());
      const saved = await downtime(instance, () => update('--restore-point'));
      const own = await downtime(instance, byHand);
      pauses.push(await rehearse());
      additional.push(saved.ms - plain.ms);
      hand.push(own.ms);
      factors.push(factorOf(saved.result, saved.ms));
      console.log(
        `  ${name}: saved ${seconds(saved.ms)}, plain ${seconds(plain.ms)}, by hand ${seconds(own.ms)}, suspended ${seconds(pauses.at(-1) ?? 0)}; ${planOf(saved.result)}`,
      );
    }
  } finally {
    await load.stop();
    await instance.dispose();
  }
  const factor = Math.max(...factors);
  console.log(
    `${name}: plan's estimate is off by a factor of ${factor.toFixed(1)} at most: ${reached(factor <= mostFactor)}`,
  );
  const common = { against: 'stop, tar, sync, start', unit: 'ms', theirs: hand } as const;
  return [
    { ...common, figure: `${name}: additional downtime`, reach: 0.5, ours: additional },
    { ...common, figure: `${name}: suspended in a rehearsal`, reach: 0.3, ours: pauses },
  ];
}

function reached(is: boolean): string {
  return is ? 'REACHED' : 'NOT REACHED';
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function planOf(log: string): string {
  return /unavailable for [^"\n]* s/.exec(log)?.[0] ?? 'no estimate';
}

/** 1 if the time is within the expected range. */
function factorOf(log: string, ms: number): number {
  const [, first, last = first] = /unavailable for (?:about )?(\d+)(?: to (\d+))? s/.exec(log) ?? [];
  if (first === undefined) throw new Error(`the plan has no estimate:\n${log}`);
  return Math.max(1, (Number(first) * 1000) / ms, ms / (Number(last) * 1000));
}

async function downtime<T>(instance: Instance, work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  await execa('sync', ['-f', instance.directory]);
  const watch = watchOutage(`http://127.0.0.1:${instance.port}/version`);
  const result = await work().finally(() => watch.stop());
  // After a manual start, waits until the app responds.
  for (let tries = 0; (await instance.version()) === null && tries < 200; tries++) await sleep(20);
  const { awayMs } = await watch.stop();
  return { ms: awayMs, result };
}

function composeFile({ image, port }: LayoutContext, database: string | null): string {
  const service = (command: string, test: string, more: string) => `  ${command}:
    image: ${image}:\${SVC_VERSION}
    command: ${command}
    restart: always
    ${database === null ? "volumes: ['./data:/data']" : 'depends_on: [db]'}
    healthcheck: { test: [CMD, ${test}], timeout: 3s, retries: 3 }
${more}`;
  return `services:
${service('app', '/bin/wget, -qO-, "http://127.0.0.1:8080/version"', `    ports: ['127.0.0.1:${port}:8080']\n`)}${service('worker', '/bin/test, -e, /tmp/alive', '')}${
  database === null
    ? ''
    : `  db:
    image: ${database}
    restart: always
    command: [postgres, -c, max_wal_size=256MB]
    volumes: ['./db:/var/lib/postgresql/data']
    environment: { POSTGRES_USER: svc, POSTGRES_PASSWORD: secret }
`
}`;
}

/** Random updates, like `pgbench --rate=20`. */
function startLoad(instance: Instance): { stop(): Promise<void> } {
  let isOver = false;
  const work = async () => {
    while (!isOver) {
      const batch = Array.from({ length: updatesPerSecond }, () => {
        const id = 1 + Math.floor(Math.random() * rows);
        return `UPDATE items_${id % 4} SET name = md5(random()::text) WHERE id = ${id}`;
      });
      await instance.compose(...psql, batch.join(';')).catch(() => {});
      await sleep(1000);
    }
  };
  const done = work();
  return {
    stop: () => {
      isOver = true;
      return done;
    },
  };
}

/** Rows of about 190 bytes in four tables, each with an index. */
async function fillDatabase(instance: Instance): Promise<void> {
  for (let tries = 0; ; tries++) {
    const ready = await instance.compose('exec', '-T', 'db', 'pg_isready', '-h', '127.0.0.1').catch(() => '');
    if (ready.includes('accepting')) break;
    if (tries === 120) throw new Error('the database does not start');
    await sleep(500);
  }
  for (let table = 0; table < 4; table++) {
    await instance.compose(
      ...psql,
      `CREATE TABLE items_${table} AS SELECT n AS id, md5(n::text) AS name, md5(n::text || 'a') || md5(n::text || 'b')
      || md5(n::text || 'c') AS body, now() + n * interval '1 second' AS made FROM generate_series(1, ${rows}) n;
      ALTER TABLE items_${table} ADD PRIMARY KEY (id)`,
    );
  }
  await instance.compose(...psql, 'CHECKPOINT');
  const { stdout } = await execa('du', ['-sh', join(instance.directory, 'db')]);
  console.log(`  ${stdout.split('\t')[0]} of PostgreSQL`);
}

async function fillFiles({ directory }: Instance): Promise<void> {
  const files = join(directory, 'data/files');
  await mkdir(files, { recursive: true });
  for (let each = 0; each < megabytes; each++)
    await writeFile(join(files, `${each}`), randomBytes(1_000_000));
  console.log(`  ${(await readdir(files)).length} files of 1 MB`);
}
