import { formatRunStart } from '../../presentation/present-run.ts';
import {
  presentAvailableUpdate,
  presentBlockingReason,
  presentJob,
  presentStatusNotices,
  presentUpToDate,
} from '../../presentation/present-status.ts';
import type { MessageBox, Presentation, PresentationPart } from '../../presentation/presentation-parts.ts';
import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import type { RunKind } from '../../wire/codes.ts';
import type { BlockingJob, PendingStep, Reason, Run, Status } from '../../wire/status.ts';
import { formatMessageClause } from '../../wire/texts/messages.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createClientTextsAndFormats } from './client-texts-and-formats.ts';
import {
  formatCountedNoun,
  formatServerMessage,
  formatTable,
  measureTextWidth,
  truncateText,
} from './text.ts';

// The functions in this file do not escape texts from the server: the caller must have escaped them.

/** Omits release notes, phases and settings, because only the web page shows these parts. */
export const formatPresentationParts = (parts: Presentation['parts'], t: TextsAndFormats): string[] =>
  parts.flatMap((part) => (part ? linesOfPart(part, t) : []));

function linesOfPart(part: PresentationPart, t: TextsAndFormats): string[] {
  switch (part.kind) {
    case 'text':
    case 'muted':
      return [part.text];
    case 'advice':
      return [`  ${t.next} ${part.text}`];
    case 'box':
      return [boxLine(part)];
    case 'cause':
      return [`  ${part.text}`];
    case 'warnings':
      return part.warnings.map((warning) => `! ${warning}`);
    case 'path':
      return [formatUpgradePath(part.versions, t)];
    case 'commands':
      if (part.lines.length === 1) return [`  ${part.heading} ${part.lines[0]}`];
      return part.lines.length === 0 ? [] : [part.heading, ...part.lines.map((line) => `  ${line}`)];
    case 'servers':
      return [`${part.heading}:`, ...formatTable(part.servers.map(({ name, command }) => [name, command]))];
    default:
      return [];
  }
}

function boxLine({ heading, lines, link }: MessageBox): string {
  const colon = lines.length === 0 || /[.!?…]$/.test(heading) ? '' : ':';
  return [heading + colon, ...lines, link ? link.url : ''].filter(Boolean).join(' ');
}

/** Formats an upgrade path: `Upgrade path: v1.4.2 → v1.5.0 → v2.0.0 (2 updates)` */
export const formatUpgradePath = (versions: readonly string[], t: TextsAndFormats): string =>
  `${t.upgradePath}: ${versions.join(' → ')} (${formatCountedNoun(versions.length - 1, 'update')})`;

/** Describes the available update, or why there is none. @param history - null if unknown */
export function formatAvailableUpdate(status: Status, history: readonly Run[] | null = null): string[] {
  const { latest, next, reason, skipped, now } = status;
  const t = createClientTextsAndFormats(now);
  const advisory = formatPresentationParts(presentStatusNotices(status, t), t);
  if (next === null)
    return [...advisory, ...formatPresentationParts(presentUpToDate(status, { history }, t).parts, t)];
  const published = t.age(latest?.publishedAt);
  const facts = [latest?.version ?? next.version, published && t.publishedAgo(published), latest?.url];
  const blocked = reason && presentBlockingReason(reason, status, { history }, t);
  return [
    ...advisory,
    `Update available: ${facts.filter(Boolean).join(', ')}`,
    // The page's parts about an update do not apply if the update cannot be started from here.
    ...(blocked?.kind === 'not-possible'
      ? []
      : formatPresentationParts(presentAvailableUpdate(status, { history }, t).parts, t)),
    ...(skipped === null
      ? []
      : [`To offer the release again: ${getProductNames().name} instance skip --undo`]),
  ];
}

/** Explains why the next step of an upgrade path has not started yet. */
export function formatPendingStep({ to, reason }: PendingStep, version: string, time: string): string {
  if (reason === null) return `Waiting for the next update on the upgrade path: ${to}.`;
  const line = `${version} is not ready for ${to} yet: ${formatMessageClause(reason)}`;
  return time === '' ? line : `${line} (${time} so far)`;
}

const verbs = { update: 'update', rollback: 'roll back', rehearsal: 'rehearse' } as const;

/** Explains why a run or a rehearsal cannot start, and what to do next. */
export function formatBlockingReason(
  reason: Reason,
  status: Status,
  wanted: RunKind | 'rehearsal' = 'update',
): string[] {
  const { now, run } = status;
  const { code, jobs = [], message, advice, refusal } = reason;
  const t = createClientTextsAndFormats(now);
  const cannot = `Cannot ${verbs[wanted]} now`;
  const shown = presentBlockingReason(reason, status, { history: null }, t);
  if (jobs.length > 0)
    return [
      `${cannot}: ${shown?.heading}`,
      ...formatJobLines(jobs, now),
      jobAdvice(jobs, wanted === 'rollback' ? wanted : 'update'),
    ];
  if (code === 'up-to-date') return [formatServerMessage(message)];
  // Suggest `follow` only if this instance has a run in progress. The update may be one of another instance, or may
  // have no run yet.
  if (code === 'update-running' && run !== null && run.outcome === null)
    return [
      `${run.kind === 'rollback' ? 'A rollback' : 'An update'} to ${run.to ?? 'the latest release'} is already in progress. ${formatRunStart(run, t)}.`,
      `To follow the ${run.kind}: ${getProductNames().name} instance follow`,
    ];
  const since = code === 'update-running' && shown?.about ? ` ${shown.about}.` : '';
  // The commands install an update, so they are omitted if a rollback was requested.
  const commands = shown?.parts.filter((part) => part && part.kind === 'commands' && wanted === 'update');
  return [
    `${cannot}${refusal === undefined ? '' : ` (${refusal})`}: ${formatMessageClause(message)}.${since}`,
    ...formatPresentationParts(commands ?? [], t),
    ...(code === 'settings-missing' ? ['  Next: Add --set NAME=VALUE or --set NAME.'] : []),
    ...(advice === undefined ? [] : [`  Next: ${advice}`]),
  ];
}

/** Formats one line per job. Only the title is truncated, so that the kind and the age remain visible. */
export function formatJobLines(jobs: readonly BlockingJob[], now: string, columns = Infinity): string[] {
  const rows = jobs.map((job) => presentJob(job, createClientTextsAndFormats(now)));
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(measureTextWidth));
  const taken = widest(rows.map(({ kind }) => kind)) + widest(rows.map(({ time }) => time)) + 6;
  const room = Math.min(60, Math.max(8, columns - taken));
  return formatTable(rows.map(({ kind, title, time }) => [kind, truncateText(title, room), time]));
}

function jobAdvice(jobs: readonly BlockingJob[], wanted: RunKind): string {
  const [first, ...others] = jobs.filter((job) => job.stuck);
  if (first === undefined) {
    const them = jobs.length === 1 ? 'the job' : 'the jobs';
    return `To wait for ${them}: ${getProductNames().name} instance ${wanted} --when-idle. To stop ${them}: --force.`;
  }
  const all = jobs.length === 1 ? 'it' : jobs.length === 2 ? 'both jobs' : 'all jobs';
  const cancel =
    others.length === 0
      ? `The ${first.kind} is stuck. Cancel it, or use --force to stop ${all}.`
      : `${others.length + 1} jobs are stuck. Cancel them, or use --force to stop ${all}.`;
  return `${cancel} (--when-idle does not wait for stuck jobs.)`;
}
