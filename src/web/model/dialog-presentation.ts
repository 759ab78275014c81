import { presentRunResult, presentUnknownRun } from '../../presentation/present-result.ts';
import { presentRejectedRollback, presentRollback } from '../../presentation/present-rollback.ts';
import {
  presentOutage,
  presentPendingUpgradeStep,
  presentRunInProgress,
} from '../../presentation/present-run.ts';
import { createCheckButton, presentStatus, type StatusContext } from '../../presentation/present-status.ts';
import {
  createButton,
  createMessageBox,
  createMutedText,
  type Presentation,
} from '../../presentation/presentation-parts.ts';
import { formatElapsedTime, joinFacts, type TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import { canProductBeUnavailable } from '../../wire/derived/phase-rows.ts';
import type { Run } from '../../wire/status.ts';
import { isRunInProgress, type PageState, type RollbackRequestState } from './page-state.ts';
import {
  findPendingStep,
  findPendingStepPosition,
  findRunInProgress,
  isAutomaticRunWithoutChange,
} from './selectors.ts';

/** Everything that a dialog depends on besides `PageState`. */
interface PageContext extends Omit<StatusContext, 'history'> {
  /** Current value of `performance.now()`. */
  now: number;
  /** Ids of the runs whose results were dismissed in this browser. */
  dismissed: ReadonlySet<string>;
  isCancelSent?: boolean;
  /** Whether a script on the page prevented the reload. */
  isReloadPrevented?: boolean;
}

/** Minimum duration in ms of an unexpected outage before the dialog shows it. */
const minOutageMs = 2_000;
/** Time in ms that a proxy may need to find the new container. Until then, the proxy may respond with its own page. */
const otherPageToleranceMs = 10_000;

/** Returns the presentation of the first case that applies (docs/contract.md 10.2). */
export function selectDialogPresentation(
  state: PageState,
  context: PageContext,
  t: TextsAndFormats,
): Presentation {
  const { status, start, version, watched, history } = state;
  const { now, dismissed } = context;
  const open = findRunInProgress(state);

  if (state.loggedOut) return createReloadView('logged-out', t.loggedOut, t.loggedOutAbout, t);
  const outage = createOutageView(state, open, now, t);
  if (outage) return outage;
  if (state.isWatchedUnknown && watched && !dismissed.has(watched.id))
    return presentUnknownRun(watched, version, t);
  const runContext = { ...context, cancelProblem: state.cancelProblem };
  if (open)
    return presentRunInProgress(
      open,
      { ...runContext, savingSeconds: status?.restorePoint?.downtimeSeconds ?? null },
      t,
    );
  if (start?.kind === 'pressed')
    return {
      ...createPlainView('starting', start.isRollback ? t.startingRollback : t.startingUpdate, start.to),
      ...(start.isRollback && { title: t.headingRollback(t.product) }),
    };
  if (start?.kind === 'not-started') return createNotStartedView(start.problem, context, t);
  if (state.rollback) return createRollbackView(state.rollback, state, now, t);
  if (status === null)
    return version === null
      ? createPlainView('asking', t.connecting(t.product), t.connectingAbout)
      : createPlainView('users-only', t.adminsOnly(t.product), t.youAreRunning(version));
  const step = findPendingStep(state);
  if (step) {
    const location = findPendingStepPosition(state, step);
    return presentPendingUpgradeStep(step, { ...runContext, version: version ?? '', place: location }, t);
  }
  const ended = findUndismissedRun(state, dismissed);
  if (!ended) return presentStatus(status, { ...context, history }, t);
  const result = presentRunResult(ended, { status, version }, t);
  const isReloading = result.kind === 'updated' && !context.isReloadPrevented;
  return isReloading ? { ...result, parts: [...result.parts, createMutedText(t.reloading)] } : result;
}

const createPlainView = (kind: string, heading: string, about: string | null): Presentation => ({
  kind,
  heading,
  about,
  parts: [],
  actions: [],
});

const createReloadView = (
  kind: string,
  heading: string,
  about: string,
  t: TextsAndFormats,
): Presentation => ({
  ...createPlainView(kind, heading, about),
  announcement: `${heading}. ${about}`,
  isUrgent: true,
  actions: [createButton('reload', t.reload, { kind: 'reload' }, 'primary')],
});

function createOutageView(
  state: PageState,
  open: Run | null,
  now: number,
  t: TextsAndFormats,
): Presentation | null {
  const { outage } = state;
  if (outage === null) return null;
  const outageMs = Math.max(0, now - outage.since);
  const isOn = open !== null || state.isUpdating || findPendingStep(state) !== null;
  if (outage.pageSince !== null && now - outage.pageSince >= otherPageToleranceMs)
    return createReloadView('other-page', t.otherPage, isOn ? t.otherPageDuringUpdate : t.otherPageAbout, t);
  if (open && canProductBeUnavailable(open)) return presentOutage(open, outageMs, t);
  if (outageMs < minOutageMs && state.answeredAt !== null) return null;
  const about = (isOn ? t.noAnswerDuringUpdate : t.noAnswerFor)(t.duration(outageMs));
  return {
    ...createPlainView('no-answer', t.noAnswer(t.product), about),
    ...(isOn && { title: t.headingUpdating(t.product) }),
    outage: formatElapsedTime(outageMs),
    ticks: true,
  };
}

function createNotStartedView(
  problem: Problem | null,
  context: PageContext,
  t: TextsAndFormats,
): Presentation {
  const why = problem === null ? t.connectionLost : t.sentence(problem.detail);
  const code = problem && joinFacts(problem.title, t.httpStatus(problem.status));
  return {
    ...createPlainView('not-started', t.notStarted, null),
    announcement: `${t.notStarted}. ${why}`,
    isUrgent: true,
    parts: [createMessageBox('bad', why, [], { code })],
    actions: [createCheckButton(context, t)],
  };
}

function createRollbackView(
  rollback: RollbackRequestState,
  state: PageState,
  now: number,
  t: TextsAndFormats,
): Presentation {
  const { status, version } = state;
  switch (rollback.kind) {
    case 'asking': {
      const about = joinFacts(
        t.checkingRestorePointAbout(rollback.to),
        formatElapsedTime(now - rollback.since),
      );
      return {
        ...createPlainView('rollback-asking', t.checkingRestorePoint, about),
        title: t.headingRollback(t.product),
        ticks: true,
        actions: [createButton('close', t.close, { kind: 'close' })],
      };
    }
    case 'refused':
      return presentRejectedRollback(rollback.to, rollback.problem, t);
    case 'offer':
      return presentRollback(rollback.offer, { version, jobs: status?.reason?.jobs ?? [] }, t);
  }
}

/**
 * Finds the completed run whose result has not been dismissed yet. A successful update is included only if this page
 * has seen it in progress.
 */
const findUndismissedRun = (
  { watched, status }: PageState,
  dismissed: ReadonlySet<string>,
): Run | undefined =>
  [watched, status?.run].find(
    (run): run is Run =>
      !!run &&
      !isRunInProgress(run) &&
      !dismissed.has(run.id) &&
      !isAutomaticRunWithoutChange(run) &&
      (run.outcome !== 'updated' || run.id === watched?.id),
  );
