import type { RowOfRun } from '../../wire/phase-rows.ts';
import { type Child, h } from '../elements/dom.ts';
import { clockText } from '../model/ages.ts';
import type { DialogView, RunView } from '../model/dialog-states.ts';
import { codeText, texts } from '../texts.ts';
import {
  box,
  button,
  type Content,
  checkAgain,
  command,
  type DialogContext,
  lead,
  muted,
} from './components.ts';
import { duration, fromTo, joined, sentence, timeOfDay } from './format.ts';
import { jobList } from './offer.ts';

type ViewOf<K extends DialogView['kind']> = Extract<DialogView, { kind: K }>;

export function renderRun(view: RunView, context: DialogContext): Content {
  const t = texts();
  const { kind, run, rows, jobs, elapsed } = view;
  const heading = kind === 'waiting' && jobs.length > 0 ? t.waitsFor(jobs.length) : fromTo(run.from, run.to);
  const time = timeOfDay(run.startedAt);
  const begun = run.by === null ? t.startedAt(time) : t.startedBy(run.by, time);
  const now = rows.find(({ mark }) => mark === 'now');
  const said = now ? wordOf(now) : sentence(run.message);
  const until =
    kind === 'waiting' ? (run.until === null ? t.newJobsWait : t.waitsUntil(timeOfDay(run.until))) : null;
  return {
    title: t.headingOn(t.product),
    key: kind === 'waiting' ? 'waiting' : 'run',
    announcement:
      kind === 'waiting' ? heading : kind === 'cancelling' ? t.askedToStop(run.cancelAskedBy ?? '') : said,
    ticks: true,
    body: [
      lead(heading, kind === 'waiting' ? until : joined(begun, t.closingIsHarmless)),
      kind === 'waiting' && jobList(jobs),
      kind === 'waiting'
        ? muted(joined(now && `${wordOf(now)} ${clockText(now.took ?? elapsed ?? 0)}`, begun))
        : phaseList(rows),
      kind === 'other-state' && h('p', {}, sentence(run.message || run.state)),
      kind === 'cancelling' && h('p', {}, t.askedToStop(run.cancelAskedBy ?? '')),
      view.cancelProblem &&
        box(
          'warn',
          sentence(
            codeText(t.cancelRefusals, view.cancelProblem.reason?.code ?? '', view.cancelProblem.detail),
          ),
        ),
    ],
    actions: runActions(view, context),
  };
}

const isUntouched = ({ run }: RunView): boolean =>
  ['waiting', 'preparing', 'launching', 'inspect', 'plan', 'pull'].includes(run.state);

function runActions(view: RunView, context: DialogContext): Child[] {
  const t = texts();
  if (view.kind === 'late') return [h('span', { class: 'muted' }, t.cannotCancel)];
  if (view.kind === 'cancelling' || view.kind === 'other-state') return [];
  return [
    button('cancel', t.cancel, () => context.cancel(), { isBusy: context.local.isCancelSent }),
    isUntouched(view) && h('span', { class: 'muted end' }, t.nothingChanged),
  ];
}

const wordOf = ({ mark, word }: RowOfRun): string => {
  const { phases, toDo } = texts();
  return codeText(mark === 'ahead' || mark === 'failed' ? toDo : phases, word, word);
};

/** The phases of a run: all that there are, each with its time. */
export function phaseList(rows: readonly RowOfRun[]): Child {
  if (rows.length === 0) return null;
  return h(
    'ol',
    { key: 'phases', class: 'phases' },
    ...rows.map((row) => {
      const word = wordOf(row);
      const hasBar = row.mark === 'now' && row.percent !== null;
      return h(
        'li',
        { class: row.mark, 'aria-current': row.mark === 'now' ? 'step' : null },
        h('span', { class: 'dot' }, dot(row.mark)),
        h(
          'span',
          {},
          row.mark === 'now' ? h('b', {}, word) : word,
          ' ',
          h('span', { class: 'muted' }, row.mark === 'failed' ? '' : messageOf(row)),
        ),
        h('span', { class: 't' }, row.took === null || row.mark === 'ahead' ? '' : duration(row.took)),
        hasBar && h('progress', { value: row.percent, max: 100, 'aria-label': word }),
      );
    }),
  );
}

/** Updaters begin their sentences with what they do, which stands before them here already. */
const messageOf = ({ message }: RowOfRun): string =>
  message.replace(/^(?:preparing|checking|pulling|pulled|replacing|verifying)\b[\s,:]*/i, '');

function dot(mark: RowOfRun['mark']): Child {
  const inside: Record<RowOfRun['mark'], Child> = {
    done: h('path', { d: 'M6 9.3 8.2 11.5 12.2 7' }),
    now: h('circle', { cx: 9, cy: 9, r: 3.5, fill: 'currentColor', stroke: 'none' }),
    failed: h('path', { d: 'M6.6 6.6 11.4 11.4M11.4 6.6 6.6 11.4' }),
    ahead: null,
  };
  return h(
    'svg',
    { viewBox: '0 0 18 18', 'aria-hidden': 'true' },
    h('circle', { cx: 9, cy: 9, r: 8 }),
    inside[mark],
  );
}

export function renderRestarting(
  { run, absent, log }: ViewOf<'restarting'>,
  context: DialogContext,
): Content {
  const t = texts();
  return {
    title: t.headingOn(t.product),
    key: 'restarting',
    announcement: t.restarting(t.product),
    ticks: true,
    body: [
      h(
        'div',
        { class: 'away' },
        h('span', { class: 'clock', role: 'timer' }, clockText(absent)),
        h('h3', {}, t.restarting(t.product)),
        muted(`${t.restartingFor(t.product)}. ${t.restartingAbout}`),
        h('span', { class: 'muted small' }, fromTo(run.from, run.to)),
      ),
      log !== null && h('p', {}, t.onTheMachine),
      log !== null && command(log, context),
    ],
    actions: [h('span', { class: 'muted' }, t.cannotCancel)],
  };
}

export function renderNoAnswer({ absent, isOn }: ViewOf<'no-answer'>): Content {
  const t = texts();
  return {
    title: isOn ? t.headingOn(t.product) : t.heading(t.product),
    key: 'no-answer',
    announcement: t.noAnswer(t.product),
    ticks: true,
    body: [
      h(
        'div',
        { class: 'away' },
        h('span', { class: 'clock', role: 'timer' }, clockText(absent)),
        h('h3', {}, t.noAnswer(t.product)),
        muted(`${t.noAnswerFor(duration(absent))}${isOn ? ` ${t.noAnswerOn}` : ''}`),
      ),
    ],
    actions: [],
  };
}

export function renderStarting({ to }: ViewOf<'starting'>): Content {
  const t = texts();
  return {
    title: t.heading(t.product),
    key: 'starting',
    announcement: t.starting(t.product),
    body: [lead(t.starting(t.product), to)],
    actions: [],
  };
}

export function renderNotStarted({ problem }: ViewOf<'not-started'>, context: DialogContext): Content {
  const t = texts();
  const said = problem === null ? t.notStartedLost : sentence(problem.detail);
  return {
    title: t.heading(t.product),
    key: 'not-started',
    announcement: `${t.notStarted}. ${said}`,
    isUrgent: true,
    body: [
      lead(t.notStarted),
      box(
        'bad',
        said,
        problem !== null && h('span', { class: 'mono' }, joined(problem.title, t.status(problem.status))),
      ),
    ],
    actions: [checkAgain(context, { look: 'primary' })],
  };
}
