import { byItself } from '../../wire/codes.ts';
import { type PathPlace, runPlace } from '../../wire/path.ts';
import { isTooLate, type RowOfRun, savesData } from '../../wire/phase-rows.ts';
import type { Run } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import { clockText } from '../model/ages.ts';
import type { BetweenView, RunView, ViewOf } from '../model/dialog-view.ts';
import { isRollback } from '../model/selectors.ts';
import { codeText, texts } from '../texts.ts';
import {
  box,
  button,
  type Content,
  checkAgain,
  command,
  type DialogContext,
  dot,
  lead,
  muted,
} from './components.ts';
import { duration, durationOfSeconds, fromTo, joined, sentence, sentences, timeOfDay } from './format.ts';
import { jobList } from './offer.ts';
import { stationList } from './stations.ts';

export function renderWaiting(view: RunView, context: DialogContext): Content {
  const t = texts();
  const { run, rows, jobs, elapsed } = view;
  const heading = jobs.length > 0 ? t.waitingForJobs(jobs.length) : fromTo(run.from, run.to);
  const now = currentRow(rows);
  return {
    title: titleOf(run),
    announcement: heading,
    ticks: true,
    body: [
      lead(
        heading,
        joined(stepOf(view), run.until === null ? t.newJobsQueued : t.waitingUntil(timeOfDay(run.until))),
      ),
      stationsOf(view),
      jobList(jobs),
      muted(joined(now && `${wordOf(now)} ${clockText(now.took ?? elapsed ?? 0)}`, begun(run))),
      cancelProblemBox(view),
    ],
    actions: runActions(view, context),
  };
}

export function renderRun(view: RunView, context: DialogContext): Content {
  const t = texts();
  const { kind, run, rows } = view;
  const now = currentRow(rows);
  const cancelRequested = kind === 'cancelling' ? t.cancelRequested(run.cancelRequestedBy ?? '') : null;
  return {
    title: titleOf(run),
    key: 'run',
    announcement: cancelRequested ?? (now ? wordOf(now) : sentence(run.message)),
    ticks: true,
    body: [
      lead(fromTo(run.from, run.to), joined(stepOf(view), begun(run), t.canBeClosed)),
      stationsOf(view),
      phaseList(rows),
      run.state === 'save' && muted(savingText(view)),
      kind === 'other-state' && h('p', sentence(run.message || run.state)),
      cancelRequested && h('p', cancelRequested),
      cancelProblemBox(view),
    ],
    actions: runActions(view, context),
  };
}

export function renderBetween(view: BetweenView, context: DialogContext): Content {
  const t = texts();
  const { pendingStep, version, waited } = view;
  const { to, reason, until } = pendingStep;
  const clock = waited === null ? null : clockText(waited);
  const heading = reason === null ? t.versionIsRunning(version ?? '') : t.notReady(t.product, version ?? '');
  return {
    title: t.headingUpdating(t.product),
    key: 'run',
    announcement: joined(heading, reason),
    ticks: true,
    body: [
      lead(heading, joined(stepOf(view), clock, t.canBeClosed)),
      stationsOf(view, true),
      h('p', reason === null ? t.nextStartsSoon(to) : sentence(reason)),
      reason !== null && muted(t.readyDeadline(t.product, to, timeOfDay(until))),
      cancelProblemBox(view),
    ],
    actions: [button('cancel', t.cancel, context.local.isCancelSent ? null : context.cancel)],
  };
}

const stepOf = ({ place }: { place: PathPlace | null }): string | null =>
  place && texts().stepOf(place.at + 1, place.versions.length);

const stationsOf = ({ place }: { place: PathPlace | null }, isDone = false): Child =>
  place && stationList(place.versions, isDone ? place.at + 1 : place.at, !isDone);

function titleOf(run: Run): string {
  const t = texts();
  return isRollback(run) ? t.headingRollingBack(t.product) : t.headingUpdating(t.product);
}

/** Shown while data is copied: the server answers, so nothing has been stopped yet. */
function savingText({ saved }: RunView): string {
  const t = texts();
  return sentences(
    t.copyingData(t.product),
    saved !== null && t.allUnavailableAsLast(t.product, durationOfSeconds(saved)),
  );
}

const currentRow = (rows: readonly RowOfRun[]) => rows.find(({ mark }) => mark === 'now');

function begun({ by, startedAt }: Run): string {
  const time = timeOfDay(startedAt);
  if (by === byItself) return texts().startedAutomatically(time);
  return by === null ? texts().startedAt(time) : texts().startedBy(by, time);
}

function cancelProblemBox({ cancelProblem: problem }: Pick<RunView, 'cancelProblem'>): Child {
  if (problem === null) return null;
  return box('warn', sentence(codeText(texts().cancelRefusals, problem.reason?.code ?? '', problem.detail)));
}

function runActions({ kind, run }: RunView, context: DialogContext): Child[] {
  const t = texts();
  if (kind === 'late') return [h('span.muted', isRollback(run) ? t.cannotCancelRollback : t.cannotCancel)];
  if (kind === 'cancelling' || kind === 'other-state') return [];
  return [
    button('cancel', t.cancel, context.local.isCancelSent ? null : context.cancel),
    run.state !== 'write' && run.state !== 'save' && h('span.muted.end', t.nothingChangedYet),
  ];
}

const wordOf = ({ mark, word }: RowOfRun): string => {
  const { phases, toDo } = texts();
  return codeText(mark === 'ahead' || mark === 'failed' ? toDo : phases, word, word);
};

/** All phases of a run, each with its time. */
export function phaseList(rows: readonly RowOfRun[]): Child {
  return rows.length > 0 && h('ol', { key: 'phases', class: 'phases' }, ...rows.map(phaseItem));
}

function phaseItem(row: RowOfRun): VNode {
  const { mark, took, percent, message } = row;
  const word = wordOf(row);
  return h(
    'li',
    { class: mark, 'aria-current': mark === 'now' ? 'step' : null },
    h('span.dot', dot(mark)),
    h('span', mark === 'now' ? h('b', word) : word, ' ', h('span.muted', mark === 'failed' ? '' : message)),
    h('span.t', took === null || mark === 'ahead' ? '' : duration(took)),
    mark === 'now' && percent !== null && h('progress', { value: percent, max: 100, 'aria-label': word }),
  );
}

export function renderRestarting(
  { run, outageMs, log }: ViewOf<'restarting'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = t.restarting(t.product);
  return {
    title: titleOf(run),
    announcement: heading,
    ticks: true,
    body: [
      unavailableNode(
        outageMs,
        heading,
        muted(
          (isRollback(run) || savesData(run) ? t.restartingWithRestorePoint : t.restartingAbout)(t.product),
        ),
        h('span.muted.small', joined(stepOf({ place: runPlace(run) }), fromTo(run.from, run.to))),
      ),
      log !== null && [h('p', t.onTheServer), command(log, context)],
    ],
    actions: [isTooLate(run) && h('span.muted', isRollback(run) ? t.cannotCancelRollback : t.cannotCancel)],
  };
}

export function renderNoAnswer({ outageMs, isOn }: ViewOf<'no-answer'>): Content {
  const t = texts();
  const heading = t.noAnswer(t.product);
  return {
    title: isOn ? t.headingUpdating(t.product) : t.heading(t.product),
    announcement: heading,
    ticks: true,
    body: [
      unavailableNode(
        outageMs,
        heading,
        muted((isOn ? t.noAnswerDuringUpdate : t.noAnswerFor)(duration(outageMs))),
      ),
    ],
  };
}

const unavailableNode = (outageMs: number, heading: string, ...about: Child[]): VNode =>
  h(
    'div.unavailable',
    h('span', { class: 'clock', role: 'timer' }, clockText(outageMs)),
    h('h3', heading),
    ...about,
  );

export function renderStarting({ to, isRollback }: ViewOf<'starting'>): Content {
  const t = texts();
  const heading = isRollback ? t.startingRollback : t.startingUpdate;
  return {
    ...(isRollback && { title: t.headingRollback(t.product) }),
    announcement: heading,
    body: [lead(heading, to)],
  };
}

export function renderNotStarted({ problem }: ViewOf<'not-started'>, context: DialogContext): Content {
  const t = texts();
  const why = problem === null ? t.connectionLost : sentence(problem.detail);
  return {
    announcement: `${t.notStarted}. ${why}`,
    isUrgent: true,
    body: [
      lead(t.notStarted),
      box('bad', why, problem && h('span.mono', joined(problem.title, t.httpStatus(problem.status)))),
    ],
    actions: [checkAgain(context, 'primary')],
  };
}
