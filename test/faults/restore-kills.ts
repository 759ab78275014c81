import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { report } from '../judge/report.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { openTestHost } from '../rig/test-host.ts';
import { type DataKind, dataKinds } from './databases.ts';
import { afterMs, type Moment, onLine } from './kill.ts';
import { loadImage } from './own-engine.ts';
import { openOwnHost, outerEngineOf, runInOwnHost } from './own-host.ts';
import { type Random, seeded } from './random.ts';
import { damages } from './restore-damage.ts';
import { rollbackSteps, updateSteps } from './restore-moments.ts';
import { prepareStage, versions } from './restore-stage.ts';
import { people, type Story, type Strike, type Try, tryOnce } from './restore-tries.ts';
import { type Play, runPlays } from './run-plays.ts';

/** The program of scripts/campaign restore-kills. */

const strikes = [
  'updater',
  'database',
  'tools',
  'engine',
  'power',
  'engine restart',
  'unit',
  ...Object.keys(people),
];
const usage = `usage: scripts/campaign restore-kills [--count N] [--seed S] [--each STRIKE] [--kind ${dataKinds.join('|')}] [--engine] [--damage] [--only PATTERN]

Kills the updater, its tools container, the database or the engine while data is saved and restored, or types a command of a second
person, repeats the updater's command until it has ended, and checks that everything is wholly of one version.

  --count N   tries at random moments, on each kind; 200 by default
  --seed S    of the random numbers
  --each S    one try at each step instead, all with this strike; several are separated by commas:
              ${strikes.join(', ')}
  --kind K    of the data; several are separated by commas; files, postgres and redis by default
  --engine    random kills of the engine, and of everything at once, on an engine of their own
  --damage    restore points that were changed, and full disks, instead of kills
  --only P    only tries whose name matches the pattern
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: {
    count: { ...text, default: '200' },
    seed: { ...text, default: `${Date.now() % 1_000_000}` },
    each: text,
    kind: { ...text, default: 'files,postgres,redis' },
    images: text,
    only: { ...text, default: '' },
    engine: flag,
    damage: flag,
    help: flag,
  },
});
const isOnOwnEngine = values.engine || /engine|power/.test(values.each ?? '');

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const kinds = dataKinds.filter((kind) => values.kind.split(',').includes(kind));
  if (isOnOwnEngine && values.images === undefined) {
    const images = (await Promise.all(kinds.map(prepareStage))).filter((image) => image !== null);
    const args = [...process.argv.slice(2), '--seed', `${seed}`, '--images', images.join()];
    return runInOwnHost(import.meta.filename, args);
  }
  const { host, close } = isOnOwnEngine ? await openOwnHost([], 2_000_000_000) : await openTestHost();
  for (const image of values.images?.split(',').filter(Boolean) ?? []) {
    await loadImage(image, outerEngineOf(), `unix://${engineSocket}`);
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => close().finally(() => process.exit(130)));
  }
  try {
    const rows = await runPlays({
      campaign: 'restore-kills',
      host,
      kinds,
      of: (kind) =>
        playsOf(kind, seed).filter(({ name, detail }) => new RegExp(values.only).test(`${name} ${detail}`)),
      isLive: false,
      directory: join(tmpdir(), `restore-kills-${seed}`),
    });
    for (const line of report(rows)) console.log(line);
    return rows.some(({ lost }) => lost > 0) ? 1 : 0;
  } finally {
    await close();
  }
}

function playsOf(kind: DataKind, seed: number): Play[] {
  if (values.damage)
    return damages.map((damage) => ({ ...damage, again: `--damage --kind ${kind} --only '${damage.name}'` }));
  const again = `--kind ${kind} --seed ${seed} --count ${values.count}${isOnOwnEngine ? ' --engine' : ''}`;
  const tries = values.each === undefined ? chances(kind, seed) : steps(kind, values.each.split(','));
  return tries.map((next) => ({
    name: `${next.story}, ${next.strike}`,
    detail: next.moment.name + (next.isMeddled ? ', then up' : ''),
    again:
      values.each === undefined
        ? again
        : `--kind ${kind} --each '${next.strike}' --only '${next.moment.name}'`,
    async run(stage, log) {
      const { why, runs, version } = await tryOnce(stage, next, log);
      return {
        ended: (why === null ? 'too late: ' : '') + runs.join(' > '),
        isReusable: version === versions.old,
      };
    },
  }));
}

function steps(kind: DataKind, asked: readonly string[]): Try[] {
  const known = asked.filter((each): each is Strike => strikes.includes(each));
  if (known.length < asked.length) throw new Error(`--each takes ${strikes.join(', ')}`);
  const all: [Story, readonly Moment[]][] = [
    ['bad', updateSteps],
    ['good', updateSteps.slice(0, 12)],
    ['rollback', rollbackSteps],
  ];
  return known.flatMap((strike) =>
    all.flatMap(([story, moments]) =>
      moments
        .filter(({ name }) => kind !== 'files' || !/-db-1/.test(name))
        .filter((_, at) => strike !== 'unit' || at === 0)
        .map((moment) => ({ story, strike, moment })),
    ),
  );
}

/** One third each: while data is saved, while a bad release is rolled back, and during a rollback by command. */
function chances(kind: DataKind, seed: number): Try[] {
  const random = seeded(seed);
  return Array.from({ length: Number(values.count) }, () => chance(random, kind));
}

function chance(random: Random, kind: DataKind): Try {
  const [where, moment] = random.pick([
    ['save', (ms: number) => onLine(/copying the data \(/, ms)],
    ['bad', (ms: number) => onLine(/; rolling back to /, ms)],
    ['rollback', afterMs],
  ] as const);
  const story = where === 'save' ? random.pick(['good', 'bad'] as const) : where;
  const others: readonly Strike[] =
    kind === 'files' ? ['up', 'tools', 'down'] : ['up', 'tools', 'database', 'down'];
  const strike = isOnOwnEngine
    ? random.pick(['engine', 'power', 'engine restart'] as const)
    : random.next() < 0.6
      ? 'updater'
      : random.pick(others);
  const isMeddled = strike === 'updater' && random.below(6) === 0;
  return { story, strike, moment: moment(random.below(6_000)), isMeddled };
}

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();
