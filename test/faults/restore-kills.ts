import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { engineSocket } from '../rig/engine-api.ts';
import { openTestHost } from '../rig/test-host.ts';
import { Lost } from './fault.ts';
import { afterMs, type Moment, onLine } from './kill.ts';
import { loadImage } from './own-engine.ts';
import { openOwnHost, outerEngineOf, runInOwnHost } from './own-host.ts';
import { type Random, seeded } from './random.ts';
import { type Damage, damages } from './restore-damage.ts';
import { rollbackSteps, updateSteps } from './restore-moments.ts';
import { type DataKind, dataKinds, prepareStage, RestoreStage, versions } from './restore-stage.ts';
import { people, type Story, type Strike, type Tried, type Try, tryOnce } from './restore-tries.ts';

/** The program behind scripts/campaign restore-kills. */

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

  --count N   tries at random moments; 200 by default
  --seed S    of the random numbers
  --each S    one try at each step instead, all with this strike; several are separated by commas:
              ${strikes.join(', ')}
  --kind K    of the data; all kinds in turn by default
  --engine    random kills of the engine, and of everything at once, on an engine of their own
  --up        a person's docker compose up -d after each kill
  --damage    restore points that were changed or forged, and full disks, instead of kills
  --only P    only tries whose name matches the pattern
`;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    each: { type: 'string' },
    kind: { type: 'string' },
    engine: { type: 'boolean', default: false },
    images: { type: 'string' },
    up: { type: 'boolean', default: false },
    damage: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
const isOnOwnEngine = values.engine || /engine|power/.test(values.each ?? '');

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const kinds = dataKinds.filter((kind) => values.kind === undefined || kind === values.kind);
  if (isOnOwnEngine && values.images === undefined) {
    const images = (await Promise.all(kinds.map(prepareStage))).filter((image) => image !== null);
    const args = [...process.argv.slice(2), '--seed', `${seed}`, '--images', images.join()];
    return runInOwnHost(import.meta.filename, args);
  }
  const logs = join(tmpdir(), `restore-kills-${seed}`);
  const { host, close } = isOnOwnEngine ? await openOwnHost([], 2_000_000_000) : await openTestHost();
  for (const image of values.images?.split(',').filter(Boolean) ?? []) {
    await loadImage(image, outerEngineOf(), `unix://${engineSocket}`);
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => close().finally(() => process.exit(130)));
  }
  const sum = { tries: 0, lost: 0, late: 0 };
  let stage: RestoreStage | null = null;
  try {
    for (const kind of kinds) {
      for (const [at, { name, play }] of playsOf(kind, seed).entries()) {
        if (!new RegExp(values.only).test(name)) continue;
        stage ??= await RestoreStage.start(host, kind);
        const began = performance.now();
        const { told, facts, isReusable, log } = await play(stage);
        const seconds = ((performance.now() - began) / 1000).toFixed(0);
        say(`${facts.length === 0 ? 'ok  ' : 'LOST'} ${kind} ${at} ${name} | ${told} | ${seconds} s`);
        for (const fact of facts) say(`       ${fact.slice(0, 1500)}`);
        sum.tries++;
        if (told.startsWith(tooLate)) sum.late++;
        if (facts.length > 0) sum.lost++;
        await mkdir(logs, { recursive: true });
        await writeFile(join(logs, `${kind}-${at}.log`), log);
        if (isReusable) continue;
        await stage.dispose();
        stage = null;
      }
      await stage?.dispose();
      stage = null;
    }
  } finally {
    await stage?.dispose();
    await close();
  }
  say(`${sum.tries} tries, ${sum.lost} lost, ${sum.late} struck after the end; seed ${seed}`);
  say(`logs: ${logs}`);
  return sum.lost > 0 ? 1 : 0;
}

interface Play {
  name: string;
  play(
    stage: RestoreStage,
  ): Promise<{ told: string; facts: readonly string[]; isReusable: boolean; log: string }>;
}

const tooLate = 'too late';

function playsOf(kind: DataKind, seed: number): Play[] {
  if (values.damage) return damages.map(playOfDamage);
  return (values.each === undefined ? chances(kind, seed) : steps(kind, values.each.split(','))).map(
    playOfTry,
  );
}

const playOfTry = (next: Try): Play => ({
  name: `${next.story} ${next.strike} ${next.moment.name}${next.isMeddled ? ', then up' : ''}`,
  async play(stage) {
    const { tried, facts } = await tryAndTell(stage, next);
    const told = `${tried.why ?? tooLate}: ${tried.runs.join(' > ')}, at ${tried.version}`;
    return { told, facts, isReusable: facts.length === 0 && tried.version === versions.old, log: tried.log };
  },
});

const playOfDamage = ({ name, play }: Damage): Play => ({
  name,
  async play(stage) {
    try {
      return { told: await play(stage), facts: [], isReusable: false, log: '' };
    } catch (error) {
      return { told: '', facts: factsOf(error), isReusable: false, log: factsOf(error).join('\n') };
    }
  },
});

async function tryAndTell(
  stage: RestoreStage,
  next: Try,
): Promise<{ tried: Tried; facts: readonly string[] }> {
  const none: Tried = { why: null, runs: [], version: 'unknown', log: '' };
  try {
    return { tried: await tryOnce(stage, next), facts: [] };
  } catch (error) {
    return { tried: (error as { tried?: Tried }).tried ?? none, facts: factsOf(error) };
  }
}

const factsOf = (error: unknown): readonly string[] =>
  error instanceof Lost ? error.facts : [(error as Error).stack ?? String(error)];

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
        .map((moment) => ({ story, strike, moment, isMeddled: values.up })),
    ),
  );
}

/** A third each while data is saved, while a bad release is rolled back, and during a rollback by command. */
function chances(kind: DataKind, seed: number): Try[] {
  const random = seeded(seed);
  return Array.from({ length: Number(values.count) }, () => chance(random, kind));
}

function chance(random: Random, kind: DataKind): Try {
  const where = random.pick(['save', 'rolling back', 'rollback'] as const);
  const ms = random.below(6_000);
  const moment =
    where === 'save'
      ? onLine(/copying the data, /, ms)
      : where === 'rolling back'
        ? onLine(/: rolling back to /, ms)
        : afterMs(ms);
  const dice = random.below(10);
  const story =
    where === 'rollback' ? 'rollback' : where === 'save' && random.below(2) === 0 ? 'good' : 'bad';
  if (isOnOwnEngine)
    return { story, strike: random.pick(['engine', 'power', 'engine restart'] as const), moment };
  const strike: Strike =
    dice < 6
      ? 'updater'
      : dice === 6
        ? 'up'
        : dice === 7 || kind === 'files'
          ? 'tools'
          : dice === 8
            ? 'database'
            : 'down';
  const isMeddled = (random.below(6) === 0 || values.up) && strike === 'updater';
  return { story, strike, moment, isMeddled };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();
