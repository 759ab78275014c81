import { mayBeAway, type RowOfRun, rowsOf } from '../../wire/phase-rows.ts';
import type { Refused } from '../../wire/reader-answer.ts';
import type { News } from '../../wire/reader-follow.ts';
import type { PendingStep, ToldRun } from '../../wire/status.ts';
import { nameOf, wayOf } from '../endings.ts';
import { names } from '../names.ts';
import { betweenLine } from '../status-lines.ts';
import { count } from '../text.ts';
import { clockTime, duration } from '../times.ts';

/** What is known of a run that is followed; moments are of the own clock, in milliseconds. */
export interface View {
  /** As the server told it last, fit to be shown. */
  run: ToldRun;
  /** When it was told. */
  toldAt: number;
  /** When svc was last heard, or the process woke up later: asleep, it cannot have heard anything. */
  heardAt: number;
  /** What the last try came to, where it came to nothing. */
  refused: Refused | null;
  /** The run has ended well, and the next one of its path is waited for. */
  pendingStep?: PendingStep;
}

/** Shows a run that is followed. */
export interface Printer {
  /** Once, before anything else. */
  begin?(view: View, now: number): void;
  /** Whenever there is news, and once a second. */
  show(view: View, now: number): void;
  /** Each piece of news as it came from the server. */
  news?(news: News): void;
  /** Leaves what is shown as it is, to write below it. */
  end?(view: View, now: number): void;
}

/** After so long an absence there is something to look at on the machine. */
const longAbsence = 60_000;

/** A phase in words: `42 % of 120 MB`, `8 s`; a text or a time that there is not is empty. */
export interface ShownRow extends Pick<RowOfRun, 'mark' | 'word'> {
  text: string;
  time: string;
}

/** The phases as they stand at a moment; the current one says what holds it up. */
export function rowsAt(view: View, now: number): ShownRow[] {
  const { run, toldAt, heardAt } = view;
  if (view.pendingStep) return [];
  return rowsOf(run, Date.parse(run.now) + now - toldAt).map(({ mark, word, message, percent, took }) => {
    if (mark === 'now' && isAway(view))
      return { mark, word, text: `${names().name} is unavailable`, time: duration(now - heardAt) };
    const isWaiting = mark === 'now' && run.state === 'waiting';
    const said = isWaiting ? `for ${count(run.jobs.length, 'job')}` : message;
    const text = `${percent === null ? '' : `${percent} % `}${said}`.trim();
    return { mark, word, text, time: took === null ? '' : duration(took) };
  });
}

/** PendingStep its last container and the next one svc does not answer; so the run's state has it, never a status code. */
const isAway = ({ run, refused }: View): boolean => refused !== null && mayBeAway(run);

/** What there is to say beside the phases. */
export function notesAt(view: View, now: number): string[] {
  const { run, refused, pendingStep } = view;
  const silent = now - view.heardAt;
  const notes: string[] = [];
  if (pendingStep) {
    const lasts = Date.parse(run.now) + now - view.toldAt - Date.parse(pendingStep.since);
    notes.push(betweenLine(pendingStep, run.to ?? names().name, duration(lasts)));
  }
  if (run.state === 'waiting') {
    const time = run.until === null ? '' : clockTime(run.until, run.now);
    notes.push(`It waits for them${time === '' ? '' : `, until ${time} at most`}. New jobs stay queued.`);
  }
  if (run.cancelRequestedBy !== null && run.outcome === null)
    notes.push(`Asked to stop by ${run.cancelRequestedBy}; it may be too late.`);
  if (refused !== null && !isAway(view)) notes.push(unheard(refused, nameOf(run), duration(silent)));
  if (isAway(view) && silent >= longAbsence)
    notes.push(
      `${names().name} has been unavailable for ${duration(silent - (silent % 60_000))}. On the server: ${logOf(run)}`,
    );
  return notes;
}

function unheard(refused: Refused, what: string, time: string): string {
  const { name } = names();
  if (refused.kind !== 'logged-out')
    return `No answer from ${name} for ${time}. Check your connection; ${what} continues on the server.`;
  const { status, inFront } = refused;
  const who =
    inFront === null
      ? `${name} does not know who asks (${status})`
      : `Something in front of ${name} wants a login (${status}, ${inFront})`;
  return `${who}, for ${time}. ${what.replace('t', 'T')} goes on by itself.`;
}

/** The command that shows the log, also where the run is not known to have one yet. */
export const logOf = ({ log }: Pick<ToldRun, 'log'>): string => log ?? `docker logs ${names().container}`;

/** `Updating svc v1.4.2 → v1.5.0`, on a path with `1 of 2: ` before it. */
export const titleOf = (run: Pick<ToldRun, 'kind' | 'from' | 'to' | 'upgradePath'>): string =>
  `${run.upgradePath.length > 1 ? `${run.upgradePath.indexOf(run.to ?? '') + 1} of ${run.upgradePath.length}: ` : ''}${run.kind === 'rollback' ? 'Rolling back' : 'Updating'} ${names().name} ${wayOf(run)}`.trim();
