import type { Problem } from '../wire/api-client/parse-responses.ts';
import { automaticCaller, launchStates, phaseNames } from '../wire/codes.ts';
import { isTooLateToCancel, listRunPhaseRows } from '../wire/derived/phase-rows.ts';
import { findUpgradePathPosition, type UpgradePathPosition } from '../wire/derived/upgrade-path-position.ts';
import type { PendingStep, Run } from '../wire/status.ts';
import { formatDataSavingDowntime, presentJob } from './present-status.ts';
import {
  createButton,
  createMessageBox,
  createMutedText,
  type MessageBox,
  type PhasePresentation,
  type Presentation,
  type UserAction,
} from './presentation-parts.ts';
import {
  formatCodeText,
  formatElapsedTime,
  joinFacts,
  joinSentences,
  type TextsAndFormats,
} from './texts-and-formats.ts';

interface CancelContext {
  /** Error response to the cancel request; null unless the server rejected the request. */
  cancelProblem: Problem | null;
  isCancelSent?: boolean;
  /** Downtime in seconds while the last restore point was saved. */
  savingSeconds?: number | null;
}

/**
 * Presents a run in progress. If the result's `kind` is `waiting`, `preparing` or `updating`, the run can be cancelled.
 */
export function presentRunInProgress(run: Run, context: CancelContext, t: TextsAndFormats): Presentation {
  const kind = kindOf(run);
  const { jobs, until, message, state } = run;
  const isWaiting = kind === 'waiting';
  const location = findUpgradePathPosition(run);
  const phases = presentPhases(run, t);
  const now = phases.find(({ mark }) => mark === 'now');
  const requested = kind === 'cancelling' && t.cancelRequested(run.cancelRequestedBy ?? '');
  const versions = t.versions(run.from, run.to);
  const heading = isWaiting && jobs.length > 0 ? t.waitingForJobs(jobs.length) : versions;
  const elapsed = now?.took ?? t.passed(run.startedAt) ?? 0;
  const started = formatRunStart(run, t);
  return {
    kind,
    key: isWaiting ? kind : 'run',
    title: titleOf(run, t),
    heading,
    about: isWaiting
      ? joinFacts(stepText(location, t), until === null ? t.newJobsQueued : t.waitingUntil(t.clock(until)))
      : joinFacts(stepText(location, t), started, t.canBeClosed),
    announcement: isWaiting ? heading : requested || (now?.text ?? t.sentence(message)),
    ticks: true,
    parts: [
      location && { kind: 'path', versions: location.versions, done: location.at, isRunning: true },
      isWaiting ? { kind: 'jobs', jobs: jobs.map((job) => presentJob(job, t)) } : { kind: 'phases', phases },
      isWaiting && createMutedText(joinFacts(now && `${now.text} ${formatElapsedTime(elapsed)}`, started)),
      // If the server still responds during `save`, nothing has been stopped yet.
      state === 'save' &&
        createMutedText(
          joinSentences(
            t.copyingData(t.product),
            context.savingSeconds != null && formatDataSavingDowntime(context.savingSeconds, t),
          ),
        ),
      kind === 'other-state' && { kind: 'text', text: t.sentence(message || state) },
      requested && { kind: 'text', text: requested },
      cancelProblemBox(context, t),
    ],
    actions: runActions(kind, run, context, t),
  };
}

function kindOf(run: Run) {
  const known: readonly string[] = [...launchStates, ...phaseNames];
  if (isTooLateToCancel(run)) return 'late';
  if (run.cancelRequestedBy !== null) return 'cancelling';
  if (!known.includes(run.state)) return 'other-state';
  if (run.state === 'waiting') return 'waiting';
  return run.state === 'preparing' || run.state === 'launching' ? 'preparing' : 'updating';
}

function runActions(kind: string, run: Run, context: CancelContext, t: TextsAndFormats): UserAction[] {
  if (kind === 'late') return [{ note: tooLateText(run, t) }];
  if (kind === 'cancelling' || kind === 'other-state') return [];
  const isUnchanged = run.state !== 'write' && run.state !== 'save';
  return [cancelButton(context, t), ...(isUnchanged ? [{ note: t.nothingChangedYet, isRight: true }] : [])];
}

const cancelButton = ({ isCancelSent }: CancelContext, t: TextsAndFormats): UserAction =>
  createButton('cancel', t.cancel, isCancelSent ? null : { kind: 'cancel' });

const tooLateText = ({ kind }: Run, t: TextsAndFormats): string =>
  kind === 'rollback' ? t.cannotCancelRollback : t.cannotCancel;

function cancelProblemBox({ cancelProblem: problem }: CancelContext, t: TextsAndFormats): MessageBox | null {
  if (problem === null) return null;
  const { reason, detail } = problem;
  return createMessageBox('warn', t.sentence(formatCodeText(t.cancelRefusals, reason?.code ?? '', detail)));
}

/** Presents an upgrade path between two of its updates. */
export function presentPendingUpgradeStep(
  { to, reason, until, since }: PendingStep,
  {
    version,
    place: location,
    ...context
  }: CancelContext & { version: string; place: UpgradePathPosition | null },
  t: TextsAndFormats,
): Presentation {
  const waited = t.passed(since);
  const heading = reason === null ? t.versionIsRunning(version) : t.notReady(t.product, version);
  return {
    kind: 'pendingStep',
    key: 'run',
    title: t.headingUpdating(t.product),
    heading,
    about: joinFacts(stepText(location, t), waited !== null && formatElapsedTime(waited), t.canBeClosed),
    announcement: joinFacts(heading, reason),
    ticks: true,
    parts: [
      location && { kind: 'path', versions: location.versions, done: location.at + 1, isRunning: false },
      { kind: 'text', text: reason === null ? t.nextStartsSoon(to) : t.sentence(reason) },
      reason !== null && createMutedText(t.readyDeadline(t.product, to, t.clock(until))),
      cancelProblemBox(context, t),
    ],
    actions: [cancelButton(context, t)],
  };
}

/** Presents the outage while the product is being replaced. */
export function presentOutage(run: Run, outageMs: number, t: TextsAndFormats): Presentation {
  const log = outageMs >= longRestartMs ? run.log : null;
  return {
    kind: 'restarting',
    title: titleOf(run, t),
    heading: t.restarting(t.product),
    about: t.restartingAbout(t.product),
    outage: formatElapsedTime(outageMs),
    ticks: true,
    parts: [
      createMutedText(joinFacts(stepText(findUpgradePathPosition(run), t), t.versions(run.from, run.to))),
      log !== null && { kind: 'commands', heading: t.onTheServer, lines: [log] },
    ],
    actions: [isTooLateToCancel(run) && { note: tooLateText(run, t) }],
  };
}

/** Duration of an outage, in milliseconds, after which the command that prints the log is shown. */
const longRestartMs = 60_000;

const titleOf = ({ kind }: Run, t: TextsAndFormats): string =>
  (kind === 'rollback' ? t.headingRollingBack : t.headingUpdating)(t.product);

const stepText = (location: UpgradePathPosition | null, t: TextsAndFormats): string | null =>
  location && t.stepOf(location.at + 1, location.versions.length);

export function presentPhases(run: Run, t: TextsAndFormats): PhasePresentation[] {
  const { phases, toDo } = t;
  const now = t.now ?? Date.parse(run.endedAt ?? run.startedAt);
  return listRunPhaseRows(run, now).map(({ mark, word, message, percent, took }) => ({
    mark,
    text: formatCodeText(mark === 'ahead' || mark === 'failed' ? toDo : phases, word, word),
    message: mark === 'failed' ? '' : message,
    percent: mark === 'now' ? percent : null,
    time: took === null || mark === 'ahead' ? '' : t.duration(took),
    took,
  }));
}

/** Includes who started the run, if known. */
export function formatRunStart({ by, startedAt }: Run, t: TextsAndFormats): string {
  const time = t.clock(startedAt);
  if (by === automaticCaller) return t.startedAutomatically(time);
  return by === null ? t.startedAt(time) : t.startedBy(by, time);
}
