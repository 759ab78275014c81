import { spawn } from 'node:child_process';
import { endingOf } from '../judge/log.ts';
import { askEngine, type ContainerInspection, listContainers } from '../rig/engine-api.ts';
import type { UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import { Lost } from './fault.ts';
import { atMoment, killAt, type Moment } from './kill.ts';
import { ownHost } from './own-host.ts';
import { awaitComeback, launched } from './restarted-updater.ts';
import {
  judgeBoots,
  judgeRemains,
  judgeUp,
  judgeVersion,
  judgeWhole,
  lookWhole,
  type Whole,
} from './restore-judge.ts';
import { type RestoreStage, versions } from './restore-stage.ts';

/** Commands of a user during the run. */
export const people = {
  up: ['up', '-d'],
  recreate: ['up', '-d', '--force-recreate', 'db'],
  restart: ['restart', 'db'],
  run: ['run', '--rm', '-T', '--entrypoint', '/bin/test', 'app', '-e', '/'],
  down: ['down'],
} as const;
type Person = keyof typeof people;

/** The killed process (`power`: all processes at once), or a user. `unit` is a systemd unit with an attached `up`. */
export type Strike =
  | 'updater'
  | 'database'
  | 'tools'
  | 'engine'
  | 'power'
  | 'engine restart'
  | 'unit'
  | Person;
/** Strikes that need a separate engine. */
const ofEngine: readonly Strike[] = ['engine', 'power', 'engine restart'];

/** `bad` is rolled back automatically, `rollback` by command after a good release. */
export type Story = 'bad' | 'good' | 'rollback';

export interface Try {
  story: Story;
  strike: Strike;
  moment: Moment;
  /** A user's `docker compose up -d` between the kill and the next run. */
  isMeddled?: boolean;
}

interface Tried {
  /** The event that made the moment; null if it came too late. */
  why: string | null;
  runs: string[];
  /** The final version of the app. */
  version: string;
  /** Whether the new version had been verified when a person typed a command. */
  isVerified: boolean;
  /** Logs commands and their output. */
  log(text: string): void;
}

const mostRuns = 4;

export const wordsOf: Record<Story, string[]> = {
  bad: ['--target', versions.bad, '--restore-point', '--wait-timeout', '4'],
  good: ['--target', versions.good, '--restore-point', '--wait-timeout', '30'],
  rollback: ['rollback', '--yes'],
};

/** The state before the story, and after the good release that is rolled back. */
interface Begun {
  old: Whole;
  good: Whole | null;
  /** Number of known starts. */
  boots: number;
}

export async function begin(stage: RestoreStage, story: Story): Promise<Begun> {
  await stage.touch();
  const old = await lookWhole(stage);
  const { length } = await stage.boots();
  if (story !== 'rollback') return { old, good: null, boots: length };
  const updated = await stage.instance.update(wordsOf.good);
  if (updated.exitCode !== 0) throw new Lost(['the update before the rollback failed', updated.log]);
  await stage.instance.waitUntilHealthy(60);
  return { old, good: await lookWhole(stage), boots: length };
}

/** Strikes once, repeats the command until it has ended, and checks the instance. @throws Lost */
export async function tryOnce(
  stage: RestoreStage,
  given: Try,
  log: (text: string) => void = () => {},
): Promise<Tried> {
  const { story, strike, isMeddled } = given;
  const begun = await begin(stage, story);
  const { instance } = stage;
  const tried: Tried = { why: null, runs: [], version: '', isVerified: false, log };
  const unit = strike === 'unit' ? startUnit(instance.directory) : null;
  try {
    let result = await struckRun(stage, tried, given);
    if (isMeddled && result.exitCode === 137) {
      await type(stage, tried, 'up');
      tried.runs.push('up');
    }
    for (let runs = 1; !isOver(story, result) && runs < mostRuns; runs++)
      result = await note(tried, instance.startUpdate(wordsOf[story], { patience: 400 }));
    unit?.kill();
    await judge(stage, begun, tried, { result, given });
    return tried;
  } finally {
    unit?.kill();
  }
}

/** Runs the interrupted command to its end. If the engine was killed, it has to restart the updater. */
async function struckRun(
  stage: RestoreStage,
  tried: Tried,
  { story, strike, moment }: Try,
): Promise<UpdateResult> {
  const { instance } = stage;
  const isEngine = ofEngine.includes(strike);
  const options = { patience: 400, ...(isEngine && launched) };
  const start = () => instance.startUpdate(wordsOf[story], options);
  const { run, why } =
    strike === 'updater'
      ? await killAt(moment, instance, start)
      : await atMoment(moment, instance, start, (run) => act(stage, tried, strike, run));
  tried.why = strike === 'unit' ? 'all the time' : why;
  if (!isEngine) return note(tried, run);
  const result = await awaitComeback({ runs: [] }, run);
  tell(tried, run, result);
  await askEngine('DELETE', `/containers/${run.name}?force=1&v=1`);
  return result;
}

async function act(stage: RestoreStage, tried: Tried, strike: Strike, run: UpdaterRun): Promise<void> {
  if (strike === 'updater' || strike === 'unit') return;
  if (strike === 'database' || strike === 'tools') return strikeContainer(stage, strike);
  if (strike in people) {
    // The updater is paused until the command has ended: the moment is the same on every machine.
    const names = [
      run.name,
      ...(await listContainers({ label: [`svc-updater.scratch=${stage.instance.project}`] })),
    ];
    for (const name of names) await askEngine('POST', `/containers/${name}/pause`);
    tried.isVerified = / verify .*healthy after /.test(run.log);
    await type(stage, tried, strike as Person);
    for (const name of names) await askEngine('POST', `/containers/${name}/unpause`);
    return;
  }
  const { engine } = ownHost();
  await (strike === 'power' ? engine.cut() : strike === 'engine' ? engine.kill() : engine.stop());
  await engine.start();
}

async function type({ instance }: RestoreStage, tried: Tried, who: Person): Promise<void> {
  const said = await instance.compose(...people[who]).catch(String);
  tried.log(`$ docker compose ${people[who].join(' ')}\n${said}\n`);
}

/**
 * Runs `docker compose up` like a systemd unit with `Restart=always`. The unit is killed without a signal to its
 * containers.
 */
function startUnit(cwd: string): { kill(): void } {
  const loop = 'while :; do docker compose up; sleep 1; done';
  const { pid } = spawn('sh', ['-c', loop], { cwd, detached: true, stdio: 'ignore' });
  return {
    kill() {
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      } catch {}
    },
  };
}

/** Services whose containers the strike may have stopped or replaced. */
const struckBy: Partial<Record<Strike, readonly string[]>> = {
  down: ['proxy'],
  recreate: ['proxy'],
  unit: ['proxy'],
  engine: ['proxy'],
  power: ['proxy'],
  'engine restart': ['proxy'],
};

async function judge(
  stage: RestoreStage,
  { old, good, boots }: Begun,
  tried: Tried,
  { result, given: { story, strike } }: { result: UpdateResult; given: Try },
): Promise<void> {
  const line = lastLine(result);
  const fresh = judgeBoots((await stage.boots()).slice(boots));
  const lost = (facts: readonly string[]) => {
    if (facts.length > 0) throw new Lost([...facts, `last line: ${line}`]);
  };
  if (!isOver(story, result)) lost([`it is not over after ${mostRuns} runs`]);
  if (isForward(result)) {
    // A user has started the bad version before the data was saved, and the run reports it.
    tried.version = versions.bad;
    return lost([...(await judgeRemains(stage)), ...fresh]);
  }
  // Containers that a user removes before the first stop, or after the last check, stay removed until the user starts them.
  const isUpToUser =
    (tried.isVerified && result.exitCode === 0) ||
    / was removed by another process during the update/.test(result.log);
  if (strike === 'down' && isUpToUser) await stage.instance.compose('up', '-d');
  await stage.instance.waitUntilHealthy(60).catch((error: Error) => {
    lost([`not healthy: ${error.message.split('\n')[0]}`, ...fresh]);
  });
  tried.version = (await stage.instance.version()) ?? 'nothing';
  const { version } = tried;
  const then = version === versions.old ? old : version === versions.good ? good : null;
  const named =
    /(v[\d.]+) is running again|updated \S+ → (v[\d.]+)|(v[\d.]+) (?:is still )?run(?:s|ning)/.exec(line);
  const told = named?.slice(1).find((each) => each !== undefined) ?? version;
  lost([
    ...(then === null ? await judgeRemains(stage) : await judgeWhole(stage, then, struckBy[strike])),
    ...(await judgeVersion(stage, version)),
    ...fresh,
    ...(told === version ? [] : [`${version} is running`]),
    ...(await judgeUp(stage, struckBy[strike])),
  ]);
}

const isOver = (story: Story, result: UpdateResult): boolean => {
  const ending = endingOf(result);
  if (isForward(result)) return true;
  if (story === 'bad') return ending === 'failed';
  return result.exitCode === 0 || ending === 'failed' || (story === 'rollback' && ending === 'refused');
};

/** A user started the new version before the data was saved: no rollback is possible. */
const isForward = (result: UpdateResult): boolean =>
  endingOf(result) === 'broken' &&
  /continues without a restore point|will not be started again/.test(result.log);

async function note(tried: Tried, run: UpdaterRun): Promise<UpdateResult> {
  const result = await run.done;
  tell(tried, run, result);
  return result;
}

function tell(tried: Tried, run: UpdaterRun, result: UpdateResult): void {
  tried.runs.push(result.exitCode === 137 ? 'killed' : (lastLine(result).split(':')[0] ?? ''));
  tried.log(`$ ${run.name}\n${result.log}\nexit code ${result.exitCode}\n`);
}

export const lastLine = ({ lines }: UpdateResult): string => lines.at(-1)?.message ?? '';

/** Kills a container by the kernel, not by the engine, which then acts by the container's restart policy. */
async function strikeContainer(stage: RestoreStage, which: 'database' | 'tools'): Promise<void> {
  const [tools] = await listContainers({ label: [`svc-updater.scratch=${stage.instance.project}`] });
  const id = which === 'database' ? await stage.databaseId() : tools;
  if (id === undefined) return;
  const { status, body } = await askEngine('GET', `/containers/${id}/json`);
  if (status !== 200) return;
  const { State } = JSON.parse(body) as ContainerInspection & { State: { Pid: number } };
  if (State.Pid > 0) process.kill(State.Pid, 'SIGKILL');
}
