import { byItself, type RunKind } from '../wire/codes.ts';
import type { BlockingJob, PendingStep, Reason, RollbackOffer, Status } from '../wire/status.ts';
import { names } from './names.ts';
import { count, cut, sentence, table, widthOf } from './text.ts';
import { ageOf, between, dateTime, dueAt, duration, seconds } from './times.ts';

// What comes from the server has been made fit to be shown.

/** What there is to go to, and how fresh that is known. */
export function offerLines(status: Status): string[] {
  const { latest, next, upToDate, checkedAt, feedError, now } = status;
  const lines: string[] = [];
  if (next === null) {
    const checked = ageOf(checkedAt, now);
    const why = upToDate === null ? 'Nothing newer is known.' : sentence(upToDate.message);
    lines.push(checked === '' ? why : `${why} Checked ${checked} ago.`);
  } else {
    const published = ageOf(latest?.publishedAt, now);
    const when = published === '' ? '' : `, published ${published} ago`;
    const where = latest?.url ? `: ${latest.url}` : '';
    lines.push(`${latest?.version ?? next.version} is available${when}${where}`);
    if (next.upgradePath.length > 1)
      lines.push(`${pathLine(next.upgradePath)} (${names().name} instance update --all-steps)`);
    else if (latest !== null && latest.version !== next.version)
      lines.push(`${next.version} has to come before it, and is what an update goes to now.`);
    if (status.skipped !== null) lines.push(`Skipped: ${names().name} instance skip --undo`);
    if (next.major) lines.push(`${next.version} is a major version; migrations only run forward.`);
    const fetched = prefetchLine(status);
    if (fetched !== null) lines.push(fetched);
    if (status.preparation !== null) lines.push(`Before an update: ${sentence(status.preparation)}`);
    const saved = restorePointLine(status, next.version);
    if (saved !== null) lines.push(saved);
  }
  if (feedError !== null) {
    const wait = between(now, feedError.nextCheckAt);
    const again = wait === null ? '' : ` Next try in ${duration(wait)}.`;
    lines.push(`The last check failed: ${sentence(feedError.message)}${again}`);
  }
  return lines;
}

/** The releases of a path, as somebody is told of it. */
export const pathLine = (path: readonly string[]): string =>
  `${count(path.length, 'update')}, one after the other: ${path.join(', ')}`;

/** That one update of a path has ended, and the next has not begun for so long. */
export const betweenLine = ({ to, reason: says }: PendingStep, version: string, time: string): string =>
  says === null
    ? `${to} comes next.`
    : `${version} is not ready for ${to} yet: ${says.replace(/\.$/, '')}${time === '' ? '' : `, for ${time}`}`;

/** When what is offered starts by itself, or why it does not; null where nothing does. */
export function byItselfLine({ automatic, next, now }: Status): string | null {
  if (!automatic?.enabled) return null;
  const { blockedBy, nextAt, timeZone } = automatic;
  if (blockedBy?.code === 'paused') {
    const since = dateTime(blockedBy.since ?? '');
    return `Nothing starts by itself${since === '' ? '' : ` since ${since}`}: an update that ends well brings it back`;
  }
  if (blockedBy !== null) return `Not by itself: ${blockedBy.message}`;
  return nextAt && `${next === null ? 'At the earliest' : 'By itself'}: ${dueAt(nextAt, now, timeZone)}`;
}

/** `by anna` */
export const startedBy = (by: string): string => (by === byItself ? 'by itself' : `by ${by}`);

/** What has been downloaded of what is offered, and how long an update to it takes. */
function prefetchLine({ next, prefetch }: Status): string | null {
  const takes = next?.estimatedSeconds == null ? '' : `It takes about ${seconds(next.estimatedSeconds)}.`;
  const percent = prefetch?.percent == null ? '' : `, ${prefetch.percent} %`;
  const is = next?.downloaded
    ? 'Downloaded.'
    : prefetch?.state === 'downloading'
      ? `Being downloaded${percent}: nobody need wait for it.`
      : '';
  return [is, takes].filter(Boolean).join(' ') || null;
}

/** The question before an update that cannot be undone lists these: what the platform does first. */
export const beforeUpdate = ({ preparation, restorePoint }: Status): string => {
  if (preparation !== null) return sentence(preparation);
  return restorePoint === null ? 'Take a database dump first.' : '';
};

/** That an update saves the data first, and the downtime of that; null if it does not. */
export function restorePointLine({ restorePoint, version }: Status, to: string): string | null {
  if (restorePoint === null) return null;
  const { name } = names();
  const { downtimeSeconds: last } = restorePoint;
  const long =
    last === null ? 'while the last changes are copied' : `for about ${seconds(last)} (as last time)`;
  return `Data is saved first. If ${to} fails, ${name} rolls back to ${version} and restores the data. ${name} and its data services will be unavailable ${long}.`;
}

/** The effects of a rollback. */
export function rollbackLines(
  offer: RollbackOffer,
  { version, now }: Pick<Status, 'version' | 'now'>,
): string[] {
  const { to, at, since = at } = offer;
  const { name } = names();
  const passed = ageOf(since, now);
  const replaced = `Everything since ${dateTime(since)}${passed === '' ? '' : ` (${passed} ago)`} will be replaced.`;
  const downtime =
    offer.downtimeSeconds === null
      ? ''
      : ` ${name} and its data services will be unavailable for about ${seconds(offer.downtimeSeconds)}.`;
  return [
    `Roll back from ${offer.from ?? version} to ${to}, with the data saved at ${dateTime(at)}`,
    `${replaced} The current data is saved first.${downtime}`,
  ];
}

/** Why a run does not start, and what to do about it. */
export function refusalLines(
  reason: Reason,
  { now, run, manual }: Pick<Status, 'now' | 'run' | 'manual'>,
  wanted: RunKind = 'update',
): string[] {
  const cannot = wanted === 'update' ? 'It cannot be updated' : `${names().name} cannot be rolled back`;
  const { code, jobs = [], message, advice, refusal } = reason;
  const why = message.replace(/\.$/, '');
  if (jobs.length > 0)
    return [`${cannot} now: ${jobsAre(jobs)} in the way`, ...jobLines(jobs, now), jobAdvice(jobs, wanted)];
  if (code === 'up-to-date') return [sentence(message)];
  if (code === 'update-running') {
    const time = ageOf(reason.since ?? run?.startedAt, now);
    // Another instance's, or one that is just being started: there is nothing to follow.
    if (run === null || run.outcome !== null)
      return [`${cannot} now: ${why}${time === '' ? '' : `, for ${time}`}.`];
    const facts = [run.by === null ? '' : startedBy(run.by), time === '' ? '' : `${time} ago`].filter(
      Boolean,
    );
    const started = facts.length === 0 ? '' : `, started ${facts.join(', ')}`;
    return [
      `${run.kind === 'rollback' ? 'A rollback' : 'An update'} to ${run.to ?? 'the newest release'} is on already${started}.`,
      `Follow it: ${names().name} instance follow`,
    ];
  }
  if (!['not-compose', 'swarm', 'no-directory', 'no-engine'].includes(code))
    return [
      `${cannot} now${refusal === undefined ? '' : ` (${refusal})`}: ${why}.`,
      ...(advice === undefined ? [] : [`  Next: ${advice}`]),
    ];
  const byHand =
    manual.length === 0 ? [] : ['By hand, on the machine:', ...manual.map((line) => `  ${line}`)];
  return [`${cannot} from here: ${why}.`, ...byHand];
}

/** `1 job is`, `2 jobs are` */
export const jobsAre = ({ length }: readonly BlockingJob[]): string =>
  `${count(length, 'job')} ${length === 1 ? 'is' : 'are'}`;

/**
 * One line a job: what it is, how long it has been running, whether it will ever end. A title takes no more than the
 * columns leave for it, as the rest is what somebody decides by.
 */
export function jobLines(jobs: readonly BlockingJob[], now: string, columns = Infinity): string[] {
  const rows = jobs.map(({ kind, title, since, state, stuck }) => {
    const facts = [ageOf(since, now), state === 'queued' ? 'queued' : '', stuck ? 'stuck' : ''];
    return { kind, title: title ?? '', facts: facts.filter(Boolean).join(', ') };
  });
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const taken = widest(rows.map(({ kind }) => kind)) + widest(rows.map(({ facts }) => facts)) + 6;
  const room = Math.min(60, Math.max(8, columns - taken));
  return table(rows.map(({ kind, title, facts }) => [kind, cut(title, room), facts]));
}

function jobAdvice(jobs: readonly BlockingJob[], wanted: RunKind): string {
  const [first, ...others] = jobs.filter((job) => job.stuck);
  if (first === undefined) {
    const them = jobs.length === 1 ? 'it' : 'them';
    return `Wait for ${them}: ${names().name} instance ${wanted} --when-idle. Cut ${them} short: --force.`;
  }
  const [subject, end] =
    others.length === 0 ? [`The ${first.kind} is`, 'it'] : [`${count(others.length + 1, 'job')} are`, 'them'];
  const all = jobs.length === 1 ? 'it' : jobs.length === 2 ? 'both' : 'all of them';
  return `${subject} stuck: end ${end}, or cut ${all} short with --force. (--when-idle waits only for jobs that move.)`;
}
