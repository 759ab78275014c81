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

// Checks of test/judge for a try. Each throws `Lost` with all errors.

/** An update with a fault: its instance, its state before, and the target release. */
export interface Attempt {
  subject: Subject;
  before: Before;
  to: Release;
}

/** Changes made by the fault itself, for which the updater is not responsible. */
export interface Allowance extends Meanwhile {
  /** A user's own edit, which must be kept: by path, instead of the updater's text of the file. */
  edited?: Readonly<Record<string, (text: string) => string>>;
}

/** Everything runs the new release, nothing else has changed, and nothing temporary remains. */
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

/** All files and tags are unchanged; app and worker are in the same containers and were never stopped. */
export async function expectUntouched(attempt: Attempt, allowance: Allowance = {}): Promise<void> {
  const { subject, before } = attempt;
  const edited = changesTo(attempt, before.release, allowance);
  survive(judgeUntouched(before, await subject.look(), edited));
}

/** All files and tags are as before; app and worker are healthy on the old image. */
export async function expectBroughtBack(attempt: Attempt, allowance: Allowance = {}): Promise<void> {
  const { subject, before } = attempt;
  const edited = changesTo(attempt, before.release, allowance);
  survive(judgeBroughtBack(before, await subject.look(), edited, allowance));
}

/** The run asks for help and prints the commands to type; unrelated containers are unchanged. */
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

/** The state after a run that was not killed matches its last line. Returns the outcome. */
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

/** Waits up to a minute until every container from before is running and healthy, then inspects the instance. */
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
 * After a run with a concurrent compose command: every service has its containers, healthy and correctly named, of the
 * version in the last line, and the files are of that version. Returns the outcome.
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
  // A failed command leaves what it had started with other services, as it does without an update.
  const strays = after.strays.filter(
    (stray) => !callFailed || !/^[0-9a-f]{12}_.*-(?:db|proxy|tunnel)-\d+ \(created\)$/.test(stray),
  );
  // If the command used a tag that the pull had moved, it started the image that the tag pointed to at each moment.
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

/** An operator's concurrent command, and its result. */
export interface Call {
  /** The intended state: all containers running, some stopped, or some removed. */
  leaves: 'up' | 'down' | 'gone';
  /** Its last output, if it failed. */
  failure: string | null;
  /** Whether it ended before the last line of the run. */
  endedFirst: boolean;
}

/** The running version, according to the last line of a run. */
const claims = [
  /^updated .* → .*?(v\d[\w.-]*)\)? in /,
  /^unchanged: .*?(v\d[\w.-]*)/,
  / (v\d[\w.-]*) runs (?:on|again)/,
];

/**
 * Directly after a run with a concurrent compose command, before any repair: every service has its containers, except
 * for containers that the command was to remove, and the last line is true.
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
  // A container that was just started responds a moment later.
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
    // A container that the command removed after the last line was running when the line was printed.
    ...(said === undefined || version === said || (version === null && leaves !== 'up' && !endedFirst)
      ? []
      : [`app answers ${version}, and the last line says: ${last}`]),
  ]);
}

/**
 * Between a killed run and the next run: each file is complete, unrelated containers are unchanged, and no volume was
 * removed.
 */
export async function expectDead(attempt: Attempt): Promise<void> {
  const { subject, before, to } = attempt;
  const states = [before.release, to].map((release) => filesAt(attempt, release));
  survive(await judgeDead(subject.instance, before, states));
}

/** The same check without an engine: each file is complete. */
export async function expectDeadFiles(attempt: Attempt): Promise<void> {
  const { subject, before, to } = attempt;
  const states = [before.release, to].map((release) => filesAt(attempt, release));
  survive(await judgeDeadFiles(subject.instance, states));
}

/** The next run with the same target, as after every fault: it reaches the target, and everything is consistent. */
export async function nextRun(attempt: Attempt, allowance: Allowance = {}): Promise<UpdateResult> {
  const result = await attempt.subject.update(attempt.to);
  survive(judgeOutcome(result, ['updated', 'unchanged']).map((fact) => `the next run: ${fact}`));
  await expectUpdated(attempt, allowance);
  return result;
}

/** The operator's own `docker compose up -d` starts no other version and leaves unrelated containers unchanged. */
export const expectUpKeepsVersion = async ({ instance }: Subject): Promise<void> =>
  survive(await judgeUpKeepsVersion(instance));

/** The same check without `up`: the files specify the running version. */
export const expectPins = async ({ instance, release }: Subject): Promise<void> =>
  survive(await judgePins(instance, release.tag));

/** The files after a successful update to that release. */
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
