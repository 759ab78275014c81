import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { engineSocket } from '../rig/engine-api.ts';
import { openTestHost } from '../rig/test-host.ts';
import { Lost } from './fault.ts';
import { afterMs, onLine } from './kill.ts';
import { loadImage } from './own-engine.ts';
import { openOwnHost, outerEngineOf, runInOwnHost } from './own-host.ts';
import { type Random, seeded } from './random.ts';
import { type Damage, damages } from './restore-damage.ts';
import { onRecord } from './restore-moments.ts';
import { type DataKind, dataKinds, prepareStage, RestoreStage, versions } from './restore-stage.ts';
import { type Story, type Tried, type Try, tryOnce } from './restore-tries.ts';

/** What scripts/restore-kills runs once everything is set up. */

const usage = `usage: scripts/restore-kills [--count N] [--seed S] [--kind files|mariadb|postgres] [--steps] [--engine] [--database] [--up] [--damage] [--only PATTERN]

Kills the updater, its reader or the database while data are kept and put back, runs the same words again until they end,
and judges whether the instance is wholly of one time.

  --count N   so many tries at random moments; 200 by default
  --seed S    where chance begins
  --kind K    of which data; all of them in turn by default
  --steps     one kill at each thing that journal and restore point record, in place of random ones
  --engine    kills of the engine, and of everything at once as when the power fails, on an engine of their own
  --database  with --steps: kills of the database in place of the updater
  --up        somebody's docker compose up -d after each kill
  --damage    restore points that were changed or forged, and full disks, in place of kills
  --only P    only those whose name fits the pattern
`;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    kind: { type: 'string' },
    steps: { type: 'boolean', default: false },
    engine: { type: 'boolean', default: false },
    database: { type: 'boolean', default: false },
    images: { type: 'string' },
    up: { type: 'boolean', default: false },
    damage: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const kinds = dataKinds.filter((kind) => values.kind === undefined || kind === values.kind);
  if (values.engine && values.images === undefined) {
    const images = (await Promise.all(kinds.map(prepareStage))).filter((image) => image !== null);
    const args = [...process.argv.slice(2), '--seed', `${seed}`, '--images', images.join()];
    return runInOwnHost(import.meta.filename, args);
  }
  const logs = join(tmpdir(), `restore-kills-${seed}`);
  const { host, close } = values.engine ? await openOwnHost() : await openTestHost();
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
        if (facts.length > 0) {
          sum.lost++;
          await mkdir(logs, { recursive: true });
          await writeFile(join(logs, `${kind}-${at}.log`), log);
        }
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
  if (sum.lost > 0) say(`the logs of what was lost: ${logs}`);
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
  return (values.steps ? steps() : chances(kind, seed)).map(playOfTry);
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

/** A bad release records 12 things of files, and going back by command 5; databases a few more. */
function steps(): Try[] {
  const all = (story: Story, most: number): Try[] =>
    Array.from({ length: most }, (_, at) => ({
      story,
      strike: values.engine ? (at % 2 === 0 ? 'power' : 'engine') : values.database ? 'database' : 'updater',
      moment: onRecord(at + 1),
      isMeddled: values.up,
    }));
  return [...all('bad', 14), ...all('back', 7)];
}

/** A third each while data are kept, on the way back of a bad release, and on the way back by command. */
function chances(kind: DataKind, seed: number): Try[] {
  const random = seeded(seed);
  const longest = kind === 'files' ? 4_000 : 9_000;
  return Array.from({ length: Number(values.count) }, () => chance(random, kind, longest));
}

function chance(random: Random, kind: DataKind, longest: number): Try {
  const where = random.pick(['save', 'going back', 'back'] as const);
  const ms = random.below(longest);
  const moment =
    where === 'save'
      ? onLine(/then keeping the data/, Math.floor(ms / 2))
      : where === 'going back'
        ? onLine(/did not come up: going back/, ms)
        : afterMs(ms);
  const dice = random.below(10);
  if (values.engine) {
    return { story: where === 'back' ? 'back' : 'bad', strike: dice < 5 ? 'engine' : 'power', moment };
  }
  const strike =
    dice < 7 ? 'updater' : dice === 7 ? 'up' : dice === 8 || kind === 'files' ? 'reader' : 'database';
  const isMeddled = (random.below(6) === 0 || values.up) && strike === 'updater';
  return { story: where === 'back' ? 'back' : 'bad', strike, moment, isMeddled };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();
