import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { propertyOf, type Target } from './target.ts';
import { targets } from './targets.ts';

/** The program that scripts/campaign fuzz runs after the setup. */

const usage = `usage: scripts/campaign fuzz [--cases N] [--only NAME,…] [--seed N [--path P]]

Plays cases against all that reads what comes from outside: a million of them, and another million at the next call; it
may be stopped at any time, and goes on where it was. What it finds it prints with the call that plays it again.

  --cases N       the first N cases, the same ones each time
  --only NAME,…   of ${targets.map(({ name }) => name).join(', ')}
  --seed N        those of one seed alone; with --path P the one case
`;

/** The number of cases for each seed: some seconds of work. */
const chunkOf = ({ share }: Target<unknown>): number => 5 * share;
/** The number of completed cases by target; the next seed is derived from it. */
type State = Record<string, number>;

/** The number of cases started with the current seed. */
const beat = new Int32Array(new SharedArrayBuffer(4));
/**
 * A hanging case blocks its own thread. Therefore another thread detects it and ends the process. It measures
 * processor time, because a busy machine may give the process none.
 */
const watchman = new Worker(
  `const { workerData: beat, parentPort } = require('node:worker_threads');
  let call = '', last = -1, since = Date.now(), used = process.cpuUsage();
  parentPort.on('message', (next) => ([call, last] = [next, -1]));
  setInterval(() => {
    const now = Atomics.load(beat, 0);
    const { user, system } = process.cpuUsage(used);
    if (now !== last) [last, since, used] = [now, Date.now(), process.cpuUsage()];
    else if (user + system > 30e6 || Date.now() - since > 600e3) {
      require('node:fs').writeSync(2, 'it hangs: ' + call + ' --path ' + (now - 1) + '\\n');
      process.kill(process.pid, 'SIGKILL');
    }
  }, 1000);`,
  { eval: true, workerData: beat },
);
watchman.unref();

let call = '';
// A late rejection belongs to no certain case: the current case is the closest.
process.on('uncaughtException', (error) => {
  say(`${error.stack}\n  ${call} --path ${Atomics.load(beat, 0) - 1}`);
  process.exit(1);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    for (const target of targets) await target.end?.();
    process.exit(130);
  });

const { values } = parseArgs({
  options: {
    cases: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(usage);
else process.exitCode = await main();

async function main(): Promise<number> {
  const names = values.only?.split(',') ?? targets.map(({ name }) => name);
  const chosen = targets.filter(({ name }) => names.includes(name));
  const isOdd = [values.cases, values.seed].some((text) => text !== undefined && !/^\d{1,10}$/.test(text));
  if (chosen.length < names.length || isOdd) {
    process.stderr.write(usage);
    return 2;
  }
  const failed =
    values.seed === undefined
      ? await playAll(
          chosen,
          values.cases === undefined ? await keptState() : countedState(Number(values.cases)),
        )
      : await playSeed(chosen, Number(values.seed), values.path);
  for (const target of chosen) await target.end?.();
  return failed.length === 0 ? 0 : 1;
}

interface Progress {
  done: State;
  /** The total over all targets. */
  goal: number;
  save(): Promise<void>;
}

function countedState(goal: number): Progress {
  return { done: {}, goal, save: async () => {} };
}

async function keptState(): Promise<Progress> {
  const path = process.env.FUZZ_STATE ?? '';
  const done: State = JSON.parse(await readFile(path, 'utf8').catch(() => '{}'));
  const million = 1_000_000;
  const save = async () => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.new`, `${JSON.stringify(done, null, 1)}\n`);
    await rename(`${path}.new`, path);
  };
  return { done, goal: Math.floor(sum(Object.values(done)) / million + 1) * million, save };
}

async function playAll(
  chosen: readonly Target<unknown>[],
  { done, goal, save }: Progress,
): Promise<string[]> {
  const shares = sum(chosen.map(({ share }) => share));
  const failed = new Set<string>();
  const began = performance.now();
  for (;;) {
    const left = chosen
      .map((target) => {
        const wanted = Math.ceil((goal * target.share) / shares);
        return {
          target,
          cases: Math.min(chunkOf(target), wanted - (done[target.name] ?? 0)),
          of: (done[target.name] ?? 0) / wanted,
        };
      })
      .filter(({ target, cases }) => cases > 0 && !failed.has(target.name))
      .sort((a, b) => a.of - b.of);
    const [next] = left;
    if (next === undefined) break;
    const { target, cases } = next;
    const before = done[target.name] ?? 0;
    if (await play(target, Math.imul(before + 1, 0x9e3779b1) >>> 1, { numRuns: cases }))
      done[target.name] = before + cases;
    else failed.add(target.name);
    await save();
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  for (const { name } of chosen) say(`${name}: ${done[name] ?? 0}${failed.has(name) ? ', FAILED' : ''}`);
  say(
    `${sum(chosen.map(({ name }) => done[name] ?? 0))} cases, ${failed.size} targets failed, in ${seconds} s`,
  );
  return [...failed];
}

async function playSeed(chosen: readonly Target<unknown>[], seed: number, path?: string): Promise<string[]> {
  const failed = [];
  for (const target of chosen)
    if (!(await play(target, seed, { numRuns: chunkOf(target), ...(path && { path }) })))
      failed.push(target.name);
  return failed;
}

async function play(
  target: Target<unknown>,
  seed: number,
  how: { numRuns: number; path?: string },
): Promise<boolean> {
  call = `scripts/campaign fuzz --only ${target.name} --seed ${seed}`;
  Atomics.store(beat, 0, 0);
  watchman.postMessage(call);
  const result = await fc.check(
    propertyOf(target, () => Atomics.add(beat, 0, 1)),
    { seed, ...how },
  );
  if (!result.failed) return true;
  const { counterexample, counterexamplePath, errorInstance } = result;
  const text = (_: string, bytes: string) =>
    JSON.stringify(Buffer.from(bytes.split(',').map(Number)).toString('latin1'));
  const shown = fc.stringify(counterexample?.[0]).replace(/Buffer\.from\(\[([\d,]*)\]\)/g, text);
  say(`${target.name}: ${(errorInstance as Error)?.stack ?? errorInstance}`);
  say(`  ${shown.length > 3000 ? `${shown.slice(0, 3000)}…` : shown}`);
  say(`  ${call} --path ${counterexamplePath}`);
  return false;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
