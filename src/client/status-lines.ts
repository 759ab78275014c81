import { byItself, type RunKind } from '../wire/codes.ts';
import { messageClause } from '../wire/messages.ts';
import type { BlockingJob, PendingStep, Reason, RollbackOffer, Status } from '../wire/status.ts';
import { sharedTexts as t } from '../wire/texts.ts';
import { between, durationText, secondsText } from '../wire/times.ts';
import { names } from './names.ts';
import { asSentence, count, cut, table, widthOf } from './text.ts';
import { ageSince, dateTime, dueAt } from './times.ts';

// Callers have escaped the texts of the server.

/** What the publisher says about the running version. @param point whether a restore point covers it */
export function advisoryLines({ version, recalled, urgent, next }: Status, point: boolean): string[] {
  const lines: string[] = [];
  if (recalled !== null) {
    const url = recalled.url === null ? '' : ` ${recalled.url}`;
    lines.push(`${t.recalled(version)}: ${asSentence(recalled.why)}${url}`);
    // Otherwise the lines about the update or the restore point contain the way out.
    if (next === null && !point) lines.push(t.noWayBack);
  }
  if (urgent !== null)
    lines.push(`${t.securityUpdate}: ${asSentence(urgent.why)} ${t.affected(urgent.below)}`);
  return lines;
}

/** The available update, and when it was last checked. */
export function offerLines(status: Status): string[] {
  const { latest, next, upToDate, checkedAt, feedError, now } = status;
  const lines: string[] = [];
  if (next === null) {
    const checked = ageSince(checkedAt, now);
    const why = upToDate === null ? 'No update is available.' : asSentence(upToDate.message);
    lines.push(checked === '' ? why : `${why} ${t.checkedAgo(checked)}`);
  } else {
    const published = ageSince(latest?.publishedAt, now);
    const when = published === '' ? '' : `, published ${published} ago`;
    const notes = latest?.url ? `, ${latest.url}` : '';
    lines.push(`Update available: ${latest?.version ?? next.version}${when}${notes}`);
    if (next.upgradePath.length > 1)
      lines.push(
        pathLine(status.version, next.upgradePath),
        `To install all releases on the upgrade path: ${names().name} instance update --all-steps`,
      );
    else if (latest !== null && latest.version !== next.version)
      lines.push(`${next.version} must be installed before ${latest.version}.`);
    if (status.skipped !== null)
      lines.push(`Skipped. To offer the release again: ${names().name} instance skip --undo`);
    if (next.major) lines.push(`${next.version} is a major version. Migrations cannot be undone.`);
    const fetched = prefetchLine(status);
    if (fetched !== null) lines.push(fetched);
    if (status.preparation !== null) lines.push(`Before an update: ${asSentence(status.preparation)}`);
    const saved = restorePointLine(status, next.version);
    if (saved !== null) lines.push(saved);
  }
  if (feedError?.staleSince) {
    lines.push(`${t.staleSince(dateTime(feedError.staleSince))}: ${asSentence(feedError.message)}`);
  } else if (feedError !== null) {
    const wait = between(now, feedError.nextCheckAt);
    const again = wait === null ? '' : ` ${t.nextAttempt(durationText(wait))}`;
    lines.push(`${t.lastCheckFailed}: ${asSentence(feedError.message)}${again}`);
  }
  return lines;
}

/** `Upgrade path: v1.4.2 → v1.5.0 → v2.0.0 (2 updates)` */
export const pathLine = (version: string, path: readonly string[]): string =>
  `${t.upgradePath}: ${[version, ...path].join(' → ')} (${count(path.length, 'update')})`;

/** The wait between two steps of an upgrade path. */
export function betweenLine({ to, reason }: PendingStep, version: string, time: string): string {
  if (reason === null) return `Next update on the upgrade path: ${to}.`;
  const line = `${version} is not ready for ${to} yet: ${messageClause(reason)}`;
  return time === '' ? line : `${line} (${time} so far)`;
}

/** When the update starts automatically, or why it does not; null if automatic updates are off. */
export function automaticLine({ automatic, next, now }: Status): string | null {
  if (!automatic?.enabled) return null;
  const { blockedBy, nextAt, timeZone } = automatic;
  if (blockedBy?.code === 'paused') {
    const since = dateTime(blockedBy.since ?? '');
    return since === ''
      ? 'Automatic updates are paused. They resume after the next successful update.'
      : `Automatic updates have been paused since ${since}. They resume after the next successful update.`;
  }
  if (blockedBy !== null) return t.notInstalledAutomatically(blockedBy.message);
  if (nextAt === null) return null;
  const due = dueAt(nextAt, now, timeZone);
  return next === null
    ? `Next automatic update: ${due}, if an update is available`
    : `Automatic update ${due}`;
}

/** `by anna` */
export const startedBy = (by: string): string => (by === byItself ? 'automatically' : `by ${by}`);

/** The progress of the prefetch and the estimated duration of the update. */
function prefetchLine({ next, prefetch }: Status): string | null {
  const downloaded = next?.downloaded
    ? t.alreadyDownloaded
    : prefetch?.state === 'downloading' && t.downloading(prefetch.percent);
  const takes = next?.estimatedSeconds != null && t.estimatedDuration(secondsText(next.estimatedSeconds));
  return [downloaded, takes].filter(Boolean).join(' ') || null;
}

/** The preparation that is shown before an update that cannot be undone. */
export const beforeUpdate = ({ preparation, restorePoint }: Status): string => {
  if (preparation !== null) return asSentence(preparation);
  return restorePoint === null ? t.backUpFirst : '';
};

/** Announces the restore point and its downtime; null if no restore point is saved. */
export function restorePointLine({ restorePoint, version }: Status, to: string): string | null {
  if (restorePoint === null) return null;
  const { name } = names();
  const { downtimeSeconds: last } = restorePoint;
  const downtime = last === null ? t.allUnavailable(name) : t.allUnavailableAsLast(name, secondsText(last));
  return `${t.dataSaved(name, to, version)} ${downtime}`;
}

/** The effects of a rollback. */
export function rollbackLines(
  offer: RollbackOffer,
  { version, now }: Pick<Status, 'version' | 'now'>,
): string[] {
  const { to, at, since = at } = offer;
  const { name } = names();
  const passed = ageSince(since, now);
  const replaced = t.willBeReplaced(`${dateTime(since)}${passed === '' ? '' : ` (${passed} ago)`}`);
  const downtime =
    offer.downtimeSeconds === null
      ? ''
      : ` ${t.allUnavailableAbout(name, secondsText(offer.downtimeSeconds))}`;
  return [
    `Roll back from ${offer.from ?? version} to ${to}, with the data saved at ${dateTime(at)}`,
    `${replaced} ${t.currentSaved}${downtime}`,
  ];
}

/** Why a run cannot start, and what to do. */
export function refusalLines(
  reason: Reason,
  { now, run, manual }: Pick<Status, 'now' | 'run' | 'manual'>,
  wanted: RunKind = 'update',
): string[] {
  const cannot = wanted === 'update' ? 'Cannot update' : 'Cannot roll back';
  const { code, jobs = [], message, advice, refusal } = reason;
  const why = messageClause(message);
  if (jobs.length > 0)
    return [`${cannot} now: ${jobsAre(jobs)} running`, ...jobLines(jobs, now), jobAdvice(jobs, wanted)];
  if (code === 'up-to-date') return [asSentence(message)];
  if (code === 'update-running') {
    const time = ageSince(reason.since ?? run?.startedAt, now);
    // The update of another instance, or one that is just starting, cannot be followed.
    if (run === null || run.outcome !== null)
      return [`${cannot} now: ${why}${time === '' ? '' : ` (started ${time} ago)`}.`];
    const facts = [run.by === null ? '' : startedBy(run.by), time === '' ? '' : `${time} ago`].filter(
      Boolean,
    );
    const what = `${run.kind === 'rollback' ? 'A rollback' : 'An update'} to ${run.to ?? 'the latest release'}`;
    return [
      facts.length === 0
        ? `${what} is already in progress.`
        : `${what} is already in progress (started ${facts.join(' ')}).`,
      `To follow the ${run.kind}: ${names().name} instance follow`,
    ];
  }
  if (!['not-compose', 'swarm', 'no-directory', 'no-engine'].includes(code))
    return [
      `${cannot} now${refusal === undefined ? '' : ` (${refusal})`}: ${why}.`,
      ...(code === 'settings-missing' ? ['  Next: Add --set NAME=VALUE or --set NAME.'] : []),
      ...(advice === undefined ? [] : [`  Next: ${advice}`]),
    ];
  const commands =
    manual.length === 0
      ? []
      : ['To update manually, run on the server:', ...manual.map((line) => `  ${line}`)];
  return [`${cannot} with this client: ${why}.`, ...commands];
}

/** `1 job is`, `2 jobs are` */
export const jobsAre = ({ length }: readonly BlockingJob[]): string =>
  `${count(length, 'job')} ${length === 1 ? 'is' : 'are'}`;

/**
 * One line per job: kind, title, age and whether it is stuck. The title is truncated to the available columns, so that
 * the other facts stay visible.
 */
export function jobLines(jobs: readonly BlockingJob[], now: string, columns = Infinity): string[] {
  const rows = jobs.map(({ kind, title, since, state, stuck }) => {
    const facts = [ageSince(since, now), state === 'queued' ? t.queued : '', stuck ? t.stuck : ''];
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
    const them = jobs.length === 1 ? 'the job' : 'the jobs';
    return `To wait for ${them}: ${names().name} instance ${wanted} --when-idle. To stop ${them}: --force.`;
  }
  const all = jobs.length === 1 ? 'it' : jobs.length === 2 ? 'both jobs' : 'all jobs';
  const cancel =
    others.length === 0
      ? `The ${first.kind} is stuck. Cancel it, or use --force to stop ${all}.`
      : `${others.length + 1} jobs are stuck. Cancel them, or use --force to stop ${all}.`;
  return `${cancel} (--when-idle does not wait for stuck jobs.)`;
}
