import { known } from '../../wire/codes.ts';
import { runPlace } from '../../wire/path.ts';
import { mayBeAway, phaseTexts, type RowOfRun, rowsOf } from '../../wire/phase-rows.ts';
import type { Refused } from '../../wire/reader-answer.ts';
import type { News } from '../../wire/reader-follow.ts';
import type { PendingStep, ToldRun } from '../../wire/status.ts';
import { sharedTexts as t } from '../../wire/texts.ts';
import { durationText } from '../../wire/times.ts';
import { runNoun, versionsOf } from '../endings.ts';
import { names } from '../names.ts';
import { betweenLine } from '../status-lines.ts';
import { count } from '../text.ts';
import { clockTime } from '../times.ts';

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

/** A phase as text: `Downloading`, `42 % of 120 MB`, `8 s`. An unknown text or time is empty. */
export interface ShownRow extends Pick<RowOfRun, 'mark' | 'word'> {
  text: string;
  time: string;
}

const textOf = (word: string): string => known(phaseTexts, word) ?? word;

/** The phases at a given time. The current phase shows what it is waiting for. */
export function rowsAt(view: View, now: number): ShownRow[] {
  const { run, toldAt, heardAt } = view;
  if (view.pendingStep) return [];
  return rowsOf(run, Date.parse(run.now) + now - toldAt).map(({ mark, word, message, percent, took }) => {
    if (mark === 'now' && isUnavailable(view))
      return {
        mark,
        word: textOf(word),
        text: `${names().name} is unavailable`,
        time: durationText(now - heardAt),
      };
    const isWaiting = mark === 'now' && run.state === 'waiting';
    const said = isWaiting ? `for ${count(run.jobs.length, 'job')}` : message;
    const text = `${percent === null ? '' : `${percent} % `}${said}`.trim();
    return { mark, word: textOf(word), text, time: took === null ? '' : durationText(took) };
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
  const silent = now - view.heardAt;
  const notes: string[] = [];
  if (pendingStep) {
    const lasts = Date.parse(run.now) + now - view.toldAt - Date.parse(pendingStep.since);
    notes.push(betweenLine(pendingStep, run.to ?? names().name, timeText(lasts)));
  }
  if (run.state === 'waiting') {
    const time = run.until === null ? '' : clockTime(run.until, run.now);
    notes.push(time === '' ? t.newJobsQueued : t.waitingUntil(time));
  }
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
export function titleOf(run: Pick<ToldRun, 'kind' | 'from' | 'to' | 'upgradePath'>): string {
  const place = runPlace(run);
  const step = place === null ? '' : `${place.at + 1} of ${place.versions.length}: `;
  const doing = run.kind === 'rollback' ? 'Rolling back' : 'Updating';
  return `${step}${doing} ${names().name} ${versionsOf(run)}`.trim();
}
