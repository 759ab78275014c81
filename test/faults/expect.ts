import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../../src/core/progress/outcome.ts';
import { judgeNames, type Meanwhile } from '../judge/containers.ts';
import { judgeDead, judgeDeadFiles } from '../judge/dead.ts';
import { type Changes, changeFiles, type Files, judgeFilesTogether } from '../judge/files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeLeftovers } from '../judge/leftovers.ts';
import { endingOf, judgeBrokenLog, judgeOutcome } from '../judge/log.ts';
import { judgePins, judgeUpKeepsVersion } from '../judge/operators-up.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { survive } from './fault.ts';
import type { Release } from './install.ts';
import type { Before, Subject } from './subject.ts';

// The verdicts of test/judge on a try. Each throws `Lost` with all that is wrong.

/** An update that something goes wrong with: whose, from where, and to which release. */
export interface Attempt {
  subject: Subject;
  before: Before;
  to: Release;
}

/** What the fault itself changes, so that the updater is not blamed for it. */
export interface Allowance extends Meanwhile {
  /** Somebody's own edit, which stands: by path, in place of what the update makes of the file. */
  edited?: Readonly<Record<string, (text: string) => string>>;
}

/** Everything at the new release, nothing else changed, nothing left over. */
export async function expectUpdated(attempt: Attempt, allowance: Allowance = {}): Promise<void> {
  const { subject, before, to } = attempt;
  const expected = {
    version: to.version,
    changed: changesTo(attempt, to, allowance),
    reference: `${subject.instance.image}:${to.tag}`,
  };
  survive(judgeUpdated(before, await subject.look(), expected, allowance));
  subject.release = to;
}

/** Every byte and every tag as before; app and worker in the very same containers, never stopped. */
export async function expectUntouched(attempt: Attempt, allowance: Allowance = {}): Promise<void> {
  const { subject, before } = attempt;
  const edited = changesTo(attempt, before.release, allowance);
  survive(judgeUntouched(before, await subject.look(), edited));
}

/** Every byte and every tag as before; app and worker well on the old image. */
export async function expectBroughtBack(attempt: Attempt, allowance: Allowance = {}): Promise<void> {
  const { subject, before } = attempt;
  const edited = changesTo(attempt, before.release, allowance);
  survive(judgeBroughtBack(before, await subject.look(), edited, allowance));
}

/** The run says that a person must look, and what to type; nobody else was touched. */
export async function expectBroken(
  attempt: Attempt,
  result: UpdateResult,
  allowance: Allowance = {},
): Promise<void> {
  const { subject, before, to } = attempt;
  const states = {
    'the old ones': filesAt(attempt, before.release, allowance),
    'the new ones': filesAt(attempt, to, allowance),
  };
  survive([...judgeBrokenLog(result), ...judgeBroken(before, await subject.look(), states, allowance)]);
}

const endings: readonly Outcome[] = ['updated', 'unchanged', 'refused', 'failed', 'broken', 'cancelled'];

/** After a run that ended by itself: as its last line says. Gives its outcome. */
export async function expectEnding(
  attempt: Attempt,
  result: UpdateResult,
  allowance: Allowance = {},
): Promise<Outcome> {
  survive(judgeOutcome(result, endings));
  const outcome = endingOf(result) as Outcome;
  if (outcome === 'broken') await expectBroken(attempt, result, allowance);
  else if (outcome === 'updated' || outcome === 'unchanged') await expectUpdated(attempt, allowance);
  else {
    const hasStopped = outcome === 'failed' && result.lines.some(({ phase }) => phase === 'recreate');
    if (hasStopped || allowance.restarted) await expectBroughtBack(attempt, allowance);
    else await expectUntouched(attempt, allowance);
  }
  return outcome;
}

/** Every container that was there runs, under its name, and is well; after a minute it is looked at as it is. */
async function lookOnceWell({ subject, before }: Attempt): Promise<Before> {
  for (let tries = 0; tries < 120; tries++) {
    const now = await subject.instance.containers();
    const isWell = (name: string) =>
      now[name]?.status === 'running' && (now[name].health ?? 'healthy') === 'healthy';
    if (Object.keys(before.containers).every(isWell)) break;
    await sleep(500);
  }
  const after = await subject.look();
  const down = Object.entries(after.containers).filter(([, { status }]) => status !== 'running');
  survive(down.map(([name, { status }]) => `${name} is ${status}`));
  return after;
}

/**
 * After a run beside which somebody called compose: every service has its containers, well and under their own names, of
 * the version that the last line says, and the files are of that version. Gives the outcome.
 */
export async function expectMeddled(
  attempt: Attempt,
  result: UpdateResult,
  wanted: readonly Outcome[],
  callFailed = false,
): Promise<Outcome> {
  const { subject, before, to } = attempt;
  survive(judgeOutcome(result, wanted));
  const outcome = endingOf(result) as Outcome;
  const after = await lookOnceWell(attempt);
  // A call that fails leaves what it had begun with other services, as it does without an update.
  const strays = after.strays.filter(
    (stray) => !callFailed || !/^[0-9a-f]{12}_.*-(?:db|proxy|tunnel)-\d+ \(created\)$/.test(stray),
  );
  // Where somebody's call has met a tag that the pull had moved, it has started what the tag led to at each moment.
  const floats =
    before.release.tag === to.tag && /\(containers-changed\)/.test(result.lines.at(-1)?.message ?? '');
  const both = [before.release, to];
  const may =
    outcome === 'broken' || floats
      ? both
      : outcome === 'updated' || outcome === 'unchanged'
        ? [to]
        : [before.release];
  const runs = may.find(({ version }) => version === after.version);
  const states = Object.fromEntries(may.map((release) => [release.version, filesAt(attempt, release)]));
  survive([
    ...judgeNames(before.containers, after.containers),
    ...judgeLeftovers({ ...after, strays }),
    ...judgeFilesTogether(states, after.files),
    ...(runs ? [] : [`the run ended ${outcome}, and app answers ${after.version}`]),
    ...(floats || after.workerVersion === after.version ? [] : [`worker writes ${after.workerVersion}`]),
  ]);
  if (runs) subject.release = runs;
  return outcome;
}

/** An operator's own call beside a run, and how it ended. */
export interface Call {
  /** What was wanted of it: everything up, something down, something removed. */
  leaves: 'up' | 'down' | 'gone';
  /** Its last words, where it failed. */
  failure: string | null;
  /** Before the last line of the run. */
  endedFirst: boolean;
}

/** Which version runs, as a last line may say it. */
const claims = [
  /^updated .* → .*?(v\d[\w.-]*)\)? in /,
  /^unchanged: .*?(v\d[\w.-]*)/,
  / (v\d[\w.-]*) runs (?:on|again)/,
];

/**
 * Right after a run beside which somebody called compose, before anybody mends anything: every service has its
 * containers, those that were to be taken away excepted, and the last line says what is so.
 */
export async function expectBeside(
  { subject, before }: Attempt,
  result: UpdateResult,
  wanted: readonly Outcome[],
  { leaves, failure, endedFirst }: Call,
): Promise<void> {
  const { instance } = subject;
  const last = result.lines.at(-1)?.message ?? '';
  const said = claims.map((claim) => claim.exec(last)?.[1]).find((version) => version !== undefined);
  // A container that has just been started answers a moment later.
  let version = await instance.version();
  for (let tries = 0; version === null && tries < 20; tries++) {
    await sleep(250);
    version = await instance.version();
  }
  const there = await instance.containers();
  const names = Object.keys(before.containers);
  survive([
    ...judgeOutcome(result, wanted),
    ...(failure === '' ? ['the call failed without a word'] : []),
    ...names
      .filter((name) => leaves !== 'gone' && there[name] === undefined)
      .map((name) => `${name} is gone`),
    ...Object.keys(there)
      .filter((name) => !names.includes(name))
      .map((name) => `${name} is new`),
    // What a call took away that ended after it was said, was so when it was said.
    ...(said === undefined || version === said || (version === null && leaves !== 'up' && !endedFirst)
      ? []
      : [`app answers ${version}, and the last line says: ${last}`]),
  ]);
}

/** While a killed run waits for the next one: each file whole, nobody else touched, no volume gone. */
export async function expectDead(attempt: Attempt): Promise<void> {
  const { subject, before, to } = attempt;
  const states = [before.release, to].map((release) => filesAt(attempt, release));
  survive(await judgeDead(subject.instance, before, states));
}

/** The same where no engine answers: each file whole. */
export async function expectDeadFiles(attempt: Attempt): Promise<void> {
  const { subject, before, to } = attempt;
  const states = [before.release, to].map((release) => filesAt(attempt, release));
  survive(await judgeDeadFiles(subject.instance, states));
}

/** The next run of the same target, as after every fault: it reaches the target and everything is whole. */
export async function nextRun(attempt: Attempt, allowance: Allowance = {}): Promise<UpdateResult> {
  const result = await attempt.subject.update(attempt.to);
  survive(judgeOutcome(result, ['updated', 'unchanged']).map((fact) => `the next run: ${fact}`));
  await expectUpdated(attempt, allowance);
  return result;
}

/** The operator's own `docker compose up -d` starts nothing of another version and touches nobody else. */
export const expectUpKeepsVersion = async ({ instance }: Subject): Promise<void> =>
  survive(await judgeUpKeepsVersion(instance));

/** The same without doing it: what its files name is what runs. */
export const expectPins = async ({ instance, release }: Subject): Promise<void> =>
  survive(await judgePins(instance, release.tag));

/** The files that a good update to that release leaves. */
const filesAt = (attempt: Attempt, to: Release, allowance: Allowance = {}): Files =>
  changeFiles(attempt.before.files, changesTo(attempt, to, allowance));

function changesTo(
  { before: { files, release } }: Attempt,
  to: Release,
  { edited = {} }: Allowance,
): Changes {
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, { kind, text }]) => {
      const follows = kind === 'file' && path !== 'svc.yaml' && release.tag !== to.tag;
      const moved = follows ? text.replaceAll(release.version, to.version) : text;
      const now = edited[path]?.(moved) ?? moved;
      return now === text ? [] : [[path, now]];
    }),
  );
}
