import { presentPhases } from '../../presentation/present-run.ts';
import type { PhaseText } from '../../presentation/presentation-parts.ts';
import type { Wording } from '../../presentation/wording.ts';
import type { FailedResult } from '../../wire/api-client/request-result.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { canBeUnavailable } from '../../wire/derived/phase-rows.ts';
import { findUpgradePathPosition } from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, ToldRun } from '../../wire/status.ts';
import { formatDuration } from '../../wire/texts/times.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createClientWording } from '../output/client-wording.ts';
import { runNounOf } from '../output/run-result-text.ts';
import { formatPendingStep } from '../output/status-lines.ts';
import { formatNounCount } from '../output/text.ts';

/** State of a followed run. Times are in milliseconds of the local monotonic clock. */
export interface FollowedRunView {
  /** Last state of the run from the server, with its texts escaped. */
  run: ToldRun;
  /** Time at which the client received `run`. */
  toldAt: number;
  /** Time of the last response from the server, or of a later wake-up of the process from sleep. */
  heardAt: number;
  /** Failure of the last request; null if the request succeeded. */
  refused: FailedResult | null;
  /** Next step of the upgrade path, for which the client waits after the run has succeeded. */
  pendingStep?: PendingStep;
}

/** Prints the progress of a followed run. */
export interface ProgressPrinter {
  /** Starts the output. Called once. */
  begin?(view: FollowedRunView, now: number): void;
  /** Prints changes. Called after each event and once a second. */
  show(view: FollowedRunView, now: number): void;
  /** Prints an event as it was received from the server. */
  news?(news: RunFollowEvent): void;
  /** Completes the output, so that other lines can be printed after it. */
  end?(view: FollowedRunView, now: number): void;
}

/** Downtime in ms after which the client prints the command that shows the log. */
const longDowntime = 60_000;

/** Returns the texts of the client at a time of the local clock. */
const wordingAt = ({ run, toldAt }: FollowedRunView, now: number): Wording =>
  createClientWording(new Date((Date.parse(run.now) || 0) + now - toldAt).toISOString());

/** Returns the phases at a time of the local clock. The current phase includes the reason for waiting. */
export function createPhaseTexts(view: FollowedRunView, now: number): PhaseText[] {
  const { run, heardAt } = view;
  if (view.pendingStep) return [];
  const t = wordingAt(view, now);
  return presentPhases(run, t).map((row) => {
    if (row.mark !== 'now') return row;
    if (isUnavailable(view))
      return { ...row, message: `${getProductNames().name} is unavailable`, time: t.duration(now - heardAt) };
    const isWaiting = run.state === 'waiting';
    const said = isWaiting ? `for ${formatNounCount(run.jobs.length, 'job')}` : row.message;
    const message = `${row.percent === null ? '' : `${row.percent} % `}${said}`.trim();
    return { ...row, message };
  });
}

/**
 * Checks whether the server may be unavailable. This depends on the state of the run and not only on the response,
 * because a proxy may respond instead of the server during the downtime.
 */
const isUnavailable = ({ run, refused }: FollowedRunView): boolean =>
  refused !== null && canBeUnavailable(run);

/**
 * Returns the lines below the phases.
 * @param timeText formats durations. If it returns an empty text, lines that differ only in their durations are equal.
 */
export function formatNoteLines(view: FollowedRunView, now: number, timeText = formatDuration): string[] {
  const { run, refused, pendingStep } = view;
  const t = createClientWording(run.now);
  const silent = now - view.heardAt;
  const notes: string[] = [];
  if (pendingStep) {
    const lasts = Date.parse(run.now) + now - view.toldAt - Date.parse(pendingStep.since);
    notes.push(formatPendingStep(pendingStep, run.to ?? getProductNames().name, timeText(lasts)));
  }
  if (run.state === 'waiting')
    notes.push(run.until === null ? t.newJobsQueued : t.waitingUntil(t.clock(run.until)));
  if (run.cancelRequestedBy !== null && run.outcome === null)
    notes.push(t.cancelRequested(run.cancelRequestedBy));
  if (refused !== null && !isUnavailable(view))
    notes.push(unheard(refused, runNounOf(run), timeText(silent)));
  if (isUnavailable(view) && silent >= longDowntime)
    notes.push(
      `${getProductNames().name} has been unavailable for ${timeText(silent - (silent % 60_000))}. On the server, run: ${logCommandOf(run)}`,
    );
  return notes;
}

function unheard(refused: FailedResult, noun: string, time: string): string {
  const { name } = getProductNames();
  if (refused.kind !== 'logged-out')
    return `No response from ${name} for ${time}. Check your connection; the ${noun} continues on the server.`;
  const { status, inFront } = refused;
  const why =
    inFront === null
      ? `No response from ${name} for ${time}: login required (${status}).`
      : `No response from ${name} for ${time}: a proxy requires a login (${status}, ${inFront}).`;
  return `${why} The ${noun} continues on the server.`;
}

/**
 * Returns the command that shows the log. If the server has not reported the command yet, returns the default command.
 */
export const logCommandOf = ({ log }: Pick<ToldRun, 'log'>): string =>
  log ?? `docker logs ${getProductNames().container}`;

/** Formats the title: `Updating svc v1.4.2 → v1.5.0`; on an upgrade path `1 of 2: Updating …`. */
export function formatRunTitle(run: ToldRun): string {
  const t = createClientWording(run.now);
  const place = findUpgradePathPosition(run);
  const step = place === null ? '' : `${t.stepOf(place.at + 1, place.versions.length)}: `;
  const doing = run.kind === 'rollback' ? t.headingRollingBack : t.headingUpdating;
  return [`${step}${doing(t.product)}`, [run.from, run.to].filter(Boolean).join(' → ')].join(' ').trim();
}
