import { presentPhases } from '../../presentation/present-run.ts';
import type { PhaseText } from '../../presentation/presentation.ts';
import type { Wording } from '../../presentation/wording.ts';
import { runPlace } from '../../wire/path.ts';
import { mayBeAway } from '../../wire/phase-rows.ts';
import type { Refused } from '../../wire/reader-answer.ts';
import type { News } from '../../wire/reader-follow.ts';
import type { PendingStep, ToldRun } from '../../wire/status.ts';
import { durationText } from '../../wire/times.ts';
import { runNoun } from '../endings.ts';
import { names } from '../names.ts';
import { betweenLine } from '../status-lines.ts';
import { count } from '../text.ts';
import { clientWording } from '../times.ts';

/** The state of a followed run. Times are of the local monotonic clock, in milliseconds. */
export interface View {
  /** The last state from the server, escaped. */
  run: ToldRun;
  /** When `run` was received. */
  toldAt: number;
  /** When svc last answered, or when the process woke up from sleep after that. */
  heardAt: number;
  /** The last request, if it failed. */
  refused: Refused | null;
  /** The run has succeeded, and the next step of its upgrade path is awaited. */
  pendingStep?: PendingStep;
}

/** Prints a followed run. */
export interface Printer {
  /** Once, before anything else. */
  begin?(view: View, now: number): void;
  /** After each event, and once a second. */
  show(view: View, now: number): void;
  /** Each event, as received from the server. */
  news?(news: News): void;
  /** Completes the output, so that other lines can follow. */
  end?(view: View, now: number): void;
}

/** After this downtime, the log command is printed. */
const longDowntime = 60_000;

/** The texts at a moment of the local clock. */
const wordingAt = ({ run, toldAt }: View, now: number): Wording =>
  clientWording(new Date((Date.parse(run.now) || 0) + now - toldAt).toISOString());

/** The phases at a given time. The current phase shows what it is waiting for. */
export function rowsAt(view: View, now: number): PhaseText[] {
  const { run, heardAt } = view;
  if (view.pendingStep) return [];
  const t = wordingAt(view, now);
  return presentPhases(run, t).map((row) => {
    if (row.mark !== 'now') return row;
    if (isUnavailable(view))
      return { ...row, message: `${names().name} is unavailable`, time: t.duration(now - heardAt) };
    const isWaiting = run.state === 'waiting';
    const said = isWaiting ? `for ${count(run.jobs.length, 'job')}` : row.message;
    const message = `${row.percent === null ? '' : `${row.percent} % `}${said}`.trim();
    return { ...row, message };
  });
}

/** Decided by the state of the run, because a proxy may answer for svc during the downtime. */
const isUnavailable = ({ run, refused }: View): boolean => refused !== null && mayBeAway(run);

/**
 * The lines below the phases.
 * @param timeText words durations; without words, lines that differ only in their durations are the same
 */
export function notesAt(view: View, now: number, timeText = durationText): string[] {
  const { run, refused, pendingStep } = view;
  const t = clientWording(run.now);
  const silent = now - view.heardAt;
  const notes: string[] = [];
  if (pendingStep) {
    const lasts = Date.parse(run.now) + now - view.toldAt - Date.parse(pendingStep.since);
    notes.push(betweenLine(pendingStep, run.to ?? names().name, timeText(lasts)));
  }
  if (run.state === 'waiting')
    notes.push(run.until === null ? t.newJobsQueued : t.waitingUntil(t.clock(run.until)));
  if (run.cancelRequestedBy !== null && run.outcome === null)
    notes.push(t.cancelRequested(run.cancelRequestedBy));
  if (refused !== null && !isUnavailable(view)) notes.push(unheard(refused, runNoun(run), timeText(silent)));
  if (isUnavailable(view) && silent >= longDowntime)
    notes.push(
      `${names().name} has been unavailable for ${timeText(silent - (silent % 60_000))}. On the server, run: ${logOf(run)}`,
    );
  return notes;
}

function unheard(refused: Refused, noun: string, time: string): string {
  const { name } = names();
  if (refused.kind !== 'logged-out')
    return `No response from ${name} for ${time}. Check your connection; the ${noun} continues on the server.`;
  const { status, inFront } = refused;
  const why =
    inFront === null
      ? `No response from ${name} for ${time}: login required (${status}).`
      : `No response from ${name} for ${time}: a proxy requires a login (${status}, ${inFront}).`;
  return `${why} The ${noun} continues on the server.`;
}

/** The command that shows the log, even if the server has not reported it yet. */
export const logOf = ({ log }: Pick<ToldRun, 'log'>): string => log ?? `docker logs ${names().container}`;

/** `Updating svc v1.4.2 → v1.5.0`; on an upgrade path `1 of 2: Updating …`. */
export function titleOf(run: ToldRun): string {
  const t = clientWording(run.now);
  const place = runPlace(run);
  const step = place === null ? '' : `${t.stepOf(place.at + 1, place.versions.length)}: `;
  const doing = run.kind === 'rollback' ? t.headingRollingBack : t.headingUpdating;
  return [`${step}${doing(t.product)}`, [run.from, run.to].filter(Boolean).join(' → ')].join(' ').trim();
}
