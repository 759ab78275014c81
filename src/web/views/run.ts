import type { RowOfRun } from '../../wire/phase-rows.ts';
import { type Child, h } from '../elements/dom.ts';
import { clockText } from '../model/ages.ts';
import type { DialogView, RunView } from '../model/dialog-states.ts';
import { saidOf, texts } from '../texts.ts';
import { jobList } from './offer.ts';
import { box, button, checkAgain, command, lead, muted, type Scene, type Stage } from './pieces.ts';
import { between, joined, sentence, span, timeOfDay } from './words.ts';

type ViewOf<K extends DialogView['kind']> = Extract<DialogView, { kind: K }>;

export function runScene(view: RunView, stage: Stage): Scene {
  const t = texts();
  const { kind, run, rows, jobs, elapsed } = view;
  const heading = kind === 'waiting' && jobs.length > 0 ? t.waitsFor(jobs.length) : between(run.from, run.to);
  const time = timeOfDay(run.startedAt);
  const begun = run.by === null ? t.startedAt(time) : t.startedBy(run.by, time);
  const now = rows.find(({ mark }) => mark === 'now');
  const said = now ? wordOf(now) : sentence(run.message);
  const until =
    kind === 'waiting' ? (run.until === null ? t.newJobsWait : t.waitsUntil(timeOfDay(run.until))) : null;
  return {
    title: t.headingOn(t.product),
    key: kind === 'waiting' ? 'waiting' : 'run',
    told:
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
            saidOf(t.cancelRefusals, view.cancelProblem.reason?.code ?? '', view.cancelProblem.detail),
          ),
        ),
    ],
    actions: runActions(view, stage),
  };
}

const isUntouched = ({ run }: RunView): boolean =>
  ['waiting', 'preparing', 'launching', 'inspect', 'plan', 'pull'].includes(run.state);

function runActions(view: RunView, stage: Stage): Child[] {
  const t = texts();
  if (view.kind === 'late') return [h('span', { class: 'muted' }, t.cannotCancel)];
  if (view.kind === 'cancelling' || view.kind === 'other-state') return [];
  return [
    button('cancel', t.cancel, () => stage.cancel(), { isBusy: stage.whims.isCancelSent }),
    isUntouched(view) && h('span', { class: 'muted end' }, t.nothingChanged),
  ];
}

const wordOf = ({ mark, word }: RowOfRun): string => {
  const { phases, toDo } = texts();
  return saidOf(mark === 'ahead' || mark === 'failed' ? toDo : phases, word, word);
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
        h('span', { class: 't' }, row.took === null || row.mark === 'ahead' ? '' : span(row.took)),
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

export function restartingScene({ run, absent, log }: ViewOf<'restarting'>, stage: Stage): Scene {
  const t = texts();
  return {
    title: t.headingOn(t.product),
    key: 'restarting',
    told: t.restarting(t.product),
    ticks: true,
    body: [
      h(
        'div',
        { class: 'away' },
        h('span', { class: 'clock', role: 'timer' }, clockText(absent)),
        h('h3', {}, t.restarting(t.product)),
        muted(`${t.restartingFor(t.product)}. ${t.restartingAbout}`),
        h('span', { class: 'muted small' }, between(run.from, run.to)),
      ),
      log !== null && h('p', {}, t.onTheMachine),
      log !== null && command(log, stage),
    ],
    actions: [h('span', { class: 'muted' }, t.cannotCancel)],
  };
}

export function noAnswerScene({ absent, isOn }: ViewOf<'no-answer'>): Scene {
  const t = texts();
  return {
    title: isOn ? t.headingOn(t.product) : t.heading(t.product),
    key: 'no-answer',
    told: t.noAnswer(t.product),
    ticks: true,
    body: [
      h(
        'div',
        { class: 'away' },
        h('span', { class: 'clock', role: 'timer' }, clockText(absent)),
        h('h3', {}, t.noAnswer(t.product)),
        muted(`${t.noAnswerFor(span(absent))}${isOn ? ` ${t.noAnswerOn}` : ''}`),
      ),
    ],
    actions: [],
  };
}

export function startingScene({ to }: ViewOf<'starting'>): Scene {
  const t = texts();
  return {
    title: t.heading(t.product),
    key: 'starting',
    told: t.starting(t.product),
    body: [lead(t.starting(t.product), to)],
    actions: [],
  };
}

export function notStartedScene({ problem }: ViewOf<'not-started'>, stage: Stage): Scene {
  const t = texts();
  const said = problem === null ? t.notStartedLost : sentence(problem.detail);
  return {
    title: t.heading(t.product),
    key: 'not-started',
    told: `${t.notStarted}. ${said}`,
    isUrgent: true,
    body: [
      lead(t.notStarted),
      box(
        'bad',
        said,
        problem !== null && h('span', { class: 'mono' }, joined(problem.title, t.status(problem.status))),
      ),
    ],
    actions: [checkAgain(stage, { look: 'primary' })],
  };
}
