import type { JobInTheWay, Reason, Status } from '../wire/status.ts';
import { names } from './names.ts';
import { count, cut, sentence, table, widthOf } from './shown.ts';
import { age, between } from './times.ts';

/** Why an update does not start, and what to do about it. What comes from the server has been made fit to be shown. */
export function refusalLines(
  reason: Reason,
  { now, run, manual }: Pick<Status, 'now' | 'run' | 'manual'>,
): string[] {
  const { code, jobs = [], message } = reason;
  if (jobs.length > 0) {
    const are = jobs.length === 1 ? 'is' : 'are';
    return [
      `It cannot be updated now: ${count(jobs.length, 'job')} ${are} in the way`,
      ...jobLines(jobs, now),
      jobAdvice(jobs),
    ];
  }
  if (code === 'update-running') return runningLines(reason, { now, run });
  if (code === 'up-to-date') return [sentence(message)];
  const isHere =
    code === 'not-compose' || code === 'swarm' || code === 'no-directory' || code === 'no-engine';
  return [
    `It cannot be updated ${isHere ? 'from here' : 'now'}: ${message.replace(/\.$/, '')}.`,
    ...(isHere && manual.length > 0
      ? ['By hand, on the machine:', ...manual.map((line) => `  ${line}`)]
      : []),
  ];
}

/** One that is on already: whose it is and since when. */
function runningLines(reason: Reason, { now, run }: Pick<Status, 'now' | 'run'>): string[] {
  const passed = between(reason.since ?? run?.startedAt, now);
  const time = passed === null ? '' : age(passed);
  if (run === null || run.outcome !== null) {
    // Another instance's, or one that is just being started: there is nothing to follow.
    return [
      `It cannot be updated now: ${reason.message.replace(/\.$/, '')}${time === '' ? '' : `, for ${time}`}.`,
    ];
  }
  const facts = [...(run.by === null ? [] : [`by ${run.by}`]), ...(time === '' ? [] : [`${time} ago`])];
  const started = facts.length === 0 ? '' : `, started ${facts.join(', ')}`;
  return [
    `An update to ${run.to ?? 'the newest release'} is on already${started}.`,
    `Follow it: ${names().name} instance follow`,
  ];
}

/**
 * One line a job: what it is, how long it has been running, whether it will ever end. A title takes no more than the
 * columns leave for it, as the rest is what somebody decides by.
 */
export function jobLines(jobs: readonly JobInTheWay[], now: string, columns = Infinity): string[] {
  const rows = jobs.map(({ kind, title, since, state, stuck }) => {
    const passed = between(since, now);
    const facts = [...(passed === null ? [] : [age(passed)]), ...(state === 'queued' ? ['queued'] : [])];
    return [kind, title ?? '', [...facts, ...(stuck ? ['stuck'] : [])].join(', ')];
  });
  const widest = (at: number) => Math.max(0, ...rows.map((row) => widthOf(row[at] ?? '')));
  const room = Math.min(60, Math.max(8, columns - widest(0) - widest(2) - 6));
  return table(rows.map(([kind = '', title = '', facts = '']) => [kind, cut(title, room), facts]));
}

function jobAdvice(jobs: readonly JobInTheWay[]): string {
  const stuck = jobs.filter((job) => job.stuck);
  const [first] = stuck;
  if (first === undefined) {
    const them = jobs.length === 1 ? 'it' : 'them';
    return `Wait for ${them}: ${names().name} instance update --when-idle. Cut ${them} short: --force.`;
  }
  const [subject, end] =
    stuck.length === 1 ? [`The ${first.kind} is`, 'it'] : [`${count(stuck.length, 'job')} are`, 'them'];
  const all = jobs.length === 1 ? 'it' : jobs.length === 2 ? 'both' : 'all of them';
  return `${subject} stuck: end ${end}, or cut ${all} short with --force. (--when-idle waits only for jobs that move.)`;
}
