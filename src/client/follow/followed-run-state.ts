import { presentPhases } from '../../presentation/present-run.ts';
import type { PhasePresentation } from '../../presentation/presentation-parts.ts';
import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import type { FailedResult } from '../../wire/api-client/request-result.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { canProductBeUnavailable } from '../../wire/derived/phase-rows.ts';
import { findUpgradePathPosition } from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, ToldRun } from '../../wire/status.ts';
import { formatDuration } from '../../wire/texts/times.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createClientTextsAndFormats } from '../output/client-texts-and-formats.ts';
import { runNounOf } from '../output/run-result-text.ts';
import { formatPendingStep } from '../output/status-lines.ts';
import { formatCountedNoun } from '../output/text.ts';

/** State of a followed run. Times are in milliseconds of the local monotonic clock. */
export interface FollowedRunState {
  /** Latest state sent by the server, with its texts escaped. */
  run: ToldRun;
  /** Time at which the client received `run`. */
  receivedAt: number;
  /** Time of the server's last response, or of the machine's last wake-up if that was later. */
  lastResponseAt: number;
  /** Failure of the last request; null if the request succeeded. */
  refused: FailedResult | null;
  /** Next step of the upgrade path, if the client is waiting for that step to start. */
  pendingStep?: PendingStep;
}

export interface ProgressPrinter {
  /** Prints the title. Not called while the client waits for the next step of an upgrade path. */
  begin?(view: FollowedRunState, now: number): void;
  /** Prints changes. Called after each event and once a second. */
  show(view: FollowedRunState, now: number): void;
  /** Prints an event as the server sent it. */
  news?(news: RunFollowEvent): void;
  /** Completes the output, so that other lines can be printed after it. */
  end?(view: FollowedRunState, now: number): void;
}

/** Downtime in ms after which the client prints the command that shows the log. */
const longDowntime = 60_000;

/** Creates texts for the server time at `now`, from which they compute ages. */
const wordingAt = ({ run, receivedAt: toldAt }: FollowedRunState, now: number): TextsAndFormats =>
  createClientTextsAndFormats(new Date((Date.parse(run.now) || 0) + now - toldAt).toISOString());

/**
 * Creates the phases to show at `now`. If the server is unavailable or the run waits for jobs, replaces the message of
 * the current phase.
 */
export function presentFollowedRunPhases(view: FollowedRunState, now: number): PhasePresentation[] {
  const { run, lastResponseAt: heardAt } = view;
  if (view.pendingStep) return [];
  const t = wordingAt(view, now);
  return presentPhases(run, t).map((row) => {
    if (row.mark !== 'now') return row;
    if (isUnavailable(view))
      return { ...row, message: `${getProductNames().name} is unavailable`, time: t.duration(now - heardAt) };
    const isWaiting = run.state === 'waiting';
    const given = isWaiting ? `for ${formatCountedNoun(run.jobs.length, 'job')}` : row.message;
    const message = `${row.percent === null ? '' : `${row.percent} % `}${given}`.trim();
    return { ...row, message };
  });
}

/**
 * While the run may have stopped the server, any failed request means that the server is unavailable. A response does
 * not prove the opposite, because a proxy may have sent it.
 */
const isUnavailable = ({ run, refused }: FollowedRunState): boolean =>
  refused !== null && canProductBeUnavailable(run);

/**
 * Formats the notes below the phases.
 * @param timeText - formats a duration; returns an empty string to compare notes without their durations
 */
export function formatNotesBelowPhases(
  view: FollowedRunState,
  now: number,
  timeText = formatDuration,
): string[] {
  const { run, refused, pendingStep } = view;
  const t = createClientTextsAndFormats(run.now);
  const silent = now - view.lastResponseAt;
  const notes: string[] = [];
  if (pendingStep) {
    const lasts = Date.parse(run.now) + now - view.receivedAt - Date.parse(pendingStep.since);
    notes.push(formatPendingStep(pendingStep, run.to ?? getProductNames().name, timeText(lasts)));
  }
  if (run.state === 'waiting')
    notes.push(run.until === null ? t.newJobsQueued : t.waitingUntil(t.clock(run.until)));
  if (run.cancelRequestedBy !== null && run.outcome === null)
    notes.push(t.cancelRequested(run.cancelRequestedBy));
  if (refused !== null && !isUnavailable(view))
    notes.push(formatNoResponse(refused, runNounOf(run), timeText(silent)));
  if (isUnavailable(view) && silent >= longDowntime)
    notes.push(
      `${getProductNames().name} has been unavailable for ${timeText(silent - (silent % 60_000))}. On the server, run: ${logCommandOf(run)}`,
    );
  return notes;
}

function formatNoResponse(refused: FailedResult, noun: string, time: string): string {
  const { name } = getProductNames();
  if (refused.kind !== 'logged-out')
    return `No response from ${name} for ${time}. Check your connection. The ${noun} continues on the server.`;
  const { status, inFront } = refused;
  const why =
    inFront === null
      ? `No response from ${name} for ${time}: login required (${status}).`
      : `No response from ${name} for ${time}: a proxy requires a login (${status}, ${inFront}).`;
  return `${why} The ${noun} continues on the server.`;
}

/**
 * Returns the command that shows the log of the run. Returns `docker logs …` if the server has not reported a command.
 */
export const logCommandOf = ({ log }: Pick<ToldRun, 'log'>): string =>
  log ?? `docker logs ${getProductNames().container}`;

/** Formats `Updating svc v1.4.2 → v1.5.0`, or `1 of 2: Updating …` on an upgrade path. */
export function formatRunTitle(run: ToldRun): string {
  const t = createClientTextsAndFormats(run.now);
  const location = findUpgradePathPosition(run);
  const step = location === null ? '' : `${t.stepOf(location.at + 1, location.versions.length)}: `;
  const doing = run.kind === 'rollback' ? t.headingRollingBack : t.headingUpdating;
  return [`${step}${doing(t.product)}`, [run.from, run.to].filter(Boolean).join(' → ')].join(' ').trim();
}
