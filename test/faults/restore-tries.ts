import { setTimeout as sleep } from 'node:timers/promises';
import { endingOf } from '../judge/log.ts';
import { askEngine, type ContainerInspection, listContainers } from '../rig/engine-api.ts';
import type { UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import { awaitComeback, launched } from './comeback.ts';
import { Lost } from './fault.ts';
import { atMoment, killAt, type Moment } from './kill.ts';
import { ownHost } from './own-host.ts';
import { judgeBoots, judgeRemains, judgeUp, judgeWhole, lookWhole, type Whole } from './restore-judge.ts';
import { type RestoreStage, versions } from './restore-stage.ts';

/** What is killed, `power` being all at once; or somebody's `docker compose up -d` beside the run. */
export type Strike = 'updater' | 'database' | 'reader' | 'up' | EngineStrike;
/** These need an engine of the tests' own. */
type EngineStrike = 'engine' | 'power';

/** `bad` goes back by itself, `back` by command after a good release. */
export type Story = 'bad' | 'back';

export interface Try {
  story: Story;
  strike: Strike;
  moment: Moment;
  /** Somebody's `docker compose up -d` between the kill and the next run. */
  isMeddled?: boolean;
}

/** How a try went. */
export interface Tried {
  /** What made the moment; null where it came too late. */
  why: string | null;
  runs: string[];
  /** What answers in the end. */
  version: string;
  log: string;
}

const mostRuns = 4;

export const wordsOf: Record<Story, string[]> = {
  bad: ['--target', versions.bad, '--restore-point', '--wait-timeout', '4'],
  back: ['back', '--yes'],
};

/** What was before the story, and what a good release has made of it where there is one. */
export interface Begun {
  old: Whole;
  good: Whole | null;
  /** Starts that are known. */
  boots: number;
}

export async function begin(stage: RestoreStage, story: Story): Promise<Begun> {
  await stage.touch();
  const old = await lookWhole(stage);
  const { length } = await stage.boots();
  if (story === 'bad') return { old, good: null, boots: length };
  const updated = await stage.instance.update(['--target', versions.good, '--restore-point']);
  if (updated.exitCode !== 0) throw new Lost(['the update that is gone back from failed', updated.log]);
  await stage.instance.waitUntilHealthy(60);
  return { old, good: await lookWhole(stage), boots: length };
}

/** Strikes once, runs the same words until they end, and judges. @throws Lost */
export async function tryOnce(
  stage: RestoreStage,
  { story, strike, moment, isMeddled }: Try,
): Promise<Tried> {
  const begun = await begin(stage, story);
  const { instance } = stage;
  const start = () => instance.startUpdate(wordsOf[story], { patience: 400 });
  const tried: Tried = { why: null, runs: [], version: '', log: '' };
  try {
    let result = await struckRun(stage, tried, { story, strike, moment });
    if (isMeddled && result.exitCode === 137) {
      await instance.compose('up', '-d').catch((error) => {
        tried.log += `up: ${error}\n`;
      });
      // Time for what has started to do what it does.
      await sleep(2_500);
      tried.runs.push('up');
    }
    for (let runs = 1; !isOver(story, result) && runs < mostRuns; runs++) result = await note(tried, start());
    if ((isMeddled || strike === 'up') && isForward(result)) {
      const facts = [...(await judgeRemains(stage)), ...judgeBoots((await stage.boots()).slice(begun.boots))];
      if (facts.length > 0) throw new Lost(facts);
      tried.version = versions.bad;
      return tried;
    }
    // A run that never began has no end either.
    if (!isOver(story, result) || endingOf(result) === 'broken') {
      throw new Lost([`it is not over after ${mostRuns} runs: ${lastLine(result)}`]);
    }
    await instance.waitUntilHealthy(60).catch((error: Error) => {
      throw new Lost([`not healthy: ${error.message.split('\n')[0]}`]);
    });
    tried.version = (await instance.version()) ?? 'nothing';
    await judge(stage, begun, tried, { result, struck: struckBy[strike] ?? [] });
    return tried;
  } catch (error) {
    const facts = error instanceof Lost ? error.facts : [(error as Error).stack ?? String(error)];
    throw Object.assign(new Lost(facts), { tried });
  }
}

const struckBy: Partial<Record<Strike, string[]>> = {
  database: ['db'],
  engine: ['db', 'proxy'],
  power: ['db', 'proxy'],
};

/** The run that something strikes, to its end, which an engine that was struck has to bring it to by itself. */
async function struckRun(
  stage: RestoreStage,
  tried: Tried,
  { story, strike, moment }: Try,
): Promise<UpdateResult> {
  const { instance } = stage;
  const isEngine = strike === 'engine' || strike === 'power';
  const options = { patience: 400, ...(isEngine && launched) };
  const start = () => instance.startUpdate(wordsOf[story], options);
  const { run, why } =
    strike === 'updater'
      ? await killAt(moment, instance, start)
      : await atMoment(moment, instance, start, () => act(stage, strike));
  tried.why = why;
  if (!isEngine) return note(tried, run);
  const result = await awaitComeback({ runs: [] }, run);
  tell(tried, run, result);
  await askEngine('DELETE', `/containers/${run.name}?force=1&v=1`);
  return result;
}

async function act(stage: RestoreStage, strike: Exclude<Strike, 'updater'>): Promise<void> {
  if (strike === 'up') await stage.instance.compose('up', '-d').catch(() => {});
  else if (strike === 'database' || strike === 'reader') await strikeContainer(stage, strike);
  else {
    const { engine } = ownHost();
    await (strike === 'engine' ? engine.kill() : engine.cut());
    await engine.start();
  }
}

async function judge(
  stage: RestoreStage,
  { old, good, boots }: Begun,
  { version }: Tried,
  { result, struck }: { result: UpdateResult; struck: readonly string[] },
): Promise<void> {
  const then = version === versions.old ? old : version === versions.good ? good : null;
  if (then === null) throw new Lost([`the app answers ${version}`]);
  const facts = [
    ...(await judgeWhole(stage, then, struck)),
    ...judgeBoots((await stage.boots()).slice(boots)),
    ...judgeLastLine(result, version),
    ...(await judgeUp(stage)),
  ];
  if (facts.length > 0) throw new Lost(facts);
}

/** The last line names what runs. */
function judgeLastLine(result: UpdateResult, version: string): string[] {
  const line = lastLine(result);
  const told = /(v[\d.]+) runs again|updated \S+ → (v[\d.]+)|(v[\d.]+) runs|still runs (v[\d.]+)/.exec(line);
  const named = told?.slice(1).find((each) => each !== undefined);
  return named === undefined || named === version ? [] : [`${version} runs, and the last line says: ${line}`];
}

const isOver = (story: Story, result: UpdateResult): boolean =>
  story === 'back' ? result.exitCode === 0 : endingOf(result) === 'failed' || isForward(result);

/** Somebody has started the new version before anything was kept: there is no way back, and the run says so. */
const isForward = (result: UpdateResult): boolean =>
  endingOf(result) === 'broken' && !/going back to|putting the data/.test(result.log);

async function note(tried: Tried, run: UpdaterRun): Promise<UpdateResult> {
  const result = await run.done;
  tell(tried, run, result);
  return result;
}

function tell(tried: Tried, run: UpdaterRun, result: UpdateResult): void {
  tried.runs.push(result.exitCode === 137 ? 'killed' : (lastLine(result).split(': ')[0] ?? ''));
  tried.log += `$ ${run.name}\n${result.log}\nexit code ${result.exitCode}\n`;
}

export const lastLine = ({ lines }: UpdateResult): string => lines.at(-1)?.message ?? '';

/** As the kernel does: the engine is not asked to, and starts it again by its policy. */
async function strikeContainer(stage: RestoreStage, which: 'database' | 'reader'): Promise<void> {
  const [reader] = await listContainers({ label: [`svc-updater.scratch=${stage.instance.project}`] });
  const id = which === 'database' ? await stage.databaseId() : reader;
  if (id === undefined) return;
  const { status, body } = await askEngine('GET', `/containers/${id}/json`);
  if (status !== 200) return;
  const { State } = JSON.parse(body) as ContainerInspection & { State: { Pid: number } };
  if (State.Pid > 0) process.kill(State.Pid, 'SIGKILL');
}
