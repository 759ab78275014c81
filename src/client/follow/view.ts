import { mayBeAway, type RowOfRun, rowsOf } from '../../wire/phase-rows.ts';
import type { Refused } from '../../wire/reader-answer.ts';
import type { ToldRun } from '../../wire/status.ts';
import { names } from '../names.ts';
import { count } from '../shown.ts';
import { clockTime, duration } from '../times.ts';

/** What is known of a run that is followed; moments are of the own clock, in milliseconds. */
export interface View {
  /** As the server told it last, fit to be shown. */
  run: ToldRun;
  /** When it was told. */
  toldAt: number;
  /** When svc was last heard; after a sleep, in which nobody listened, when that was over. */
  heardAt: number;
  /** What the last try came to, where it came to nothing. */
  refused: Refused | null;
}

/** After so long an absence there is something to look at on the machine. */
const longAbsence = 60_000;

/** A moment of the server's clock: what it said last, and the time since by one that nobody sets. */
const serverNow = ({ run, toldAt }: View, now: number): number => Date.parse(run.now) + now - toldAt;

/** The phases as they stand at a moment; the one that lasts says what it is held up by. */
export function rowsAt(view: View, now: number): RowOfRun[] {
  const { run } = view;
  return rowsOf(run, serverNow(view, now)).map((row) => {
    if (row.mark !== 'now') return row;
    if (isAway(view))
      return { ...row, message: `${names().name} is away`, percent: null, took: now - view.heardAt };
    if (run.state === 'waiting') return { ...row, message: `for ${count(run.jobs.length, 'job')}` };
    return row;
  });
}

/** Between its last container and the next one svc does not answer; so the run's state has it, never a status code. */
const isAway = ({ run, refused }: View): boolean => refused !== null && mayBeAway(run);

/** What there is to say beside the phases. */
export function notesAt(view: View, now: number): string[] {
  const { run, refused, heardAt } = view;
  const silent = now - heardAt;
  const notes: string[] = [];
  if (run.state === 'waiting') notes.push(waitsFor(run));
  if (run.cancelAskedBy !== null && run.outcome === null) {
    notes.push(`Asked to stop by ${run.cancelAskedBy}; it may be too late.`);
  }
  if (refused !== null && !isAway(view)) notes.push(unheard(refused, silent));
  if (isAway(view) && silent >= longAbsence) {
    notes.push(
      `${names().name} has not come back for ${duration(silent - (silent % 60_000))}. On the machine: ${logOf(run)}`,
    );
  }
  return notes;
}

function waitsFor({ until, now }: ToldRun): string {
  const time = until === null ? '' : clockTime(until, now);
  return `It waits for them${time === '' ? '' : `, until ${time} at most`}. New jobs stay queued.`;
}

function unheard(refused: Refused, silent: number): string {
  if (refused.kind === 'logged-out') {
    const { status, inFront } = refused;
    const who =
      inFront === null
        ? `${names().name} does not know who asks (${status})`
        : `Something in front of ${names().name} wants a login (${status}, ${inFront})`;
    return `${who}, for ${duration(silent)}. The update goes on by itself.`;
  }
  return `${names().name} does not answer, for ${duration(silent)}. It may be your connection; the update goes on by itself.`;
}

/** The command that shows the log, also where the run is not known to have one yet. */
export const logOf = ({ log }: Pick<ToldRun, 'log'>): string => log ?? `docker logs ${names().container}`;

/** `Updating svc v1.4.2 → v1.5.0` */
export const titleOf = ({ from, to }: Pick<ToldRun, 'from' | 'to'>): string => {
  const way = [from, to].filter((version) => version !== null).join(' → ');
  return `Updating ${[names().name, way].join(' ').trim()}`;
};
