import { withoutLeftBehind } from '../../wire/left-behind.ts';
import { type Child, h } from '../elements/dom.ts';
import type { DialogView, EndView } from '../model/dialog-states.ts';
import { texts } from '../texts.ts';
import {
  box,
  button,
  type Content,
  command,
  type DialogContext,
  externalLink,
  lead,
  warningBox,
} from './components.ts';
import { joined, seconds, sentence, timeOfDay } from './format.ts';
import { phaseList } from './run.ts';

/** How a run has ended. */
export function renderEnd(view: EndView, context: DialogContext, news: string | null): Content {
  const t = texts();
  const { kind, run } = view;
  const heading = headingOf(view);
  const look = kind === 'updated' ? 'ok' : kind === 'broken' ? 'bad' : null;
  const isGood = kind === 'updated' || kind === 'unchanged' || kind === 'cancelled';
  return {
    title: t.heading(t.product),
    key: `end ${run.id} ${kind}`,
    announcement: joined(heading, kind === 'updated' ? null : sentence(run.cause ?? run.message)),
    isUrgent: !isGood,
    body: [lead(heading, aboutOf(view), look), ...bodyOf(view, context)],
    actions: actionsOf(view, context, news),
  };
}

function headingOf({ kind, run, version }: EndView): string {
  const t = texts();
  switch (kind) {
    case 'updated':
      return t.versionRuns(version ?? run.to ?? '');
    case 'unchanged':
      return t.unchanged;
    case 'cancelled':
      return t.cancelled;
    case 'failed':
      return run.outcome === 'refused' ? t.refused : t.failed;
    case 'broken':
      if (run.outcome === 'crashed') return t.crashed;
      if (run.code === 'broken' && run.to !== null) return t.broken(run.to);
      return run.code === 'not-well' && version !== null ? t.notWell(version) : t.brokenUnknown;
    case 'other-end':
      return sentence(run.message || (run.outcome ?? '')).replace(/\.$/, '');
  }
}

function aboutOf({ kind, run, version }: EndView): string {
  const t = texts();
  switch (kind) {
    case 'updated':
      return run.away === null
        ? ''
        : t.awayFor(seconds(run.away)).replace(/^./, (first) => first.toUpperCase());
    case 'cancelled':
      return t.cancelledAbout(version ?? run.from ?? '');
    case 'other-end':
      return version === null ? '' : t.runsNow(version);
    default:
      return sentence(run.message);
  }
}

function bodyOf(view: EndView, context: DialogContext): Child[] {
  const t = texts();
  const { kind, run, version, lags, behind } = view;
  const isBad = kind === 'failed' || kind === 'broken' || kind === 'other-end';
  const isDeep = run.steps.some(({ state }) => ['write', 'recreate', 'verify'].includes(state));
  return [
    kind === 'updated' && lags && box('warn', t.lagsBehind(run.to ?? '')),
    isBad && isDeep && phaseList(view.rows),
    isBad &&
      (run.cause !== null || run.code !== null) &&
      box(
        'bad',
        sentence(run.cause ?? run.code ?? ''),
        run.cause !== null && run.code !== null && h('span', { class: 'mono' }, run.code),
      ),
    warningBox(kind === 'updated' ? withoutLeftBehind(run.warnings, behind) : run.warnings),
    isBad && run.advice !== null && h('p', {}, h('b', {}, t.next), ' ', run.advice),
    isBad && run.log !== null && command(run.log, context),
    (kind === 'broken' || kind === 'unchanged') &&
      version !== null &&
      h('p', { class: 'muted' }, t.runsNow(version)),
    ...(kind === 'updated' && behind.length > 0 ? behindNodes(behind, context) : []),
    kind === 'updated' && !context.local.stays && h('p', { class: 'muted' }, t.reloads),
    context.local.report !== null &&
      h(
        'textarea',
        { key: 'report', readonly: true, 'aria-label': t.report, rows: 10 },
        context.local.report,
      ),
  ];
}

export function behindNodes(behind: EndView['behind'], context: DialogContext): Child[] {
  const t = texts();
  const commands = [...new Set(behind.map((server) => server.command).filter(Boolean))];
  return [
    box(
      '',
      t.serversBehind(behind.length),
      ...behind.map(({ name, version }) => h('span', {}, t.serverRuns(name, version))),
    ),
    h('div', { class: 'cmds' }, ...commands.map((line) => command(line, context))),
  ];
}

function actionsOf({ kind, run, again }: EndView, context: DialogContext, news: string | null): Child[] {
  const t = texts();
  const { copied } = context.local;
  const close = () => context.close(run.id);
  const label = copied?.id === 'report' ? (copied.isCopied ? t.copied : t.selected) : t.copyReport;
  const report = button('report', label, () => context.copyReport());
  switch (kind) {
    case 'updated':
      return [
        button('reload', t.reloadNow, () => context.reload(), { look: 'primary' }),
        externalLink(news, t.whatIsNew, 'end'),
      ];
    case 'unchanged':
    case 'cancelled':
      return [button('close', t.close, close, { look: 'primary' })];
    case 'failed':
    case 'broken':
      return [
        button(
          'again',
          kind === 'failed' ? t.tryAgain : t.checkItAgain,
          () => context.tryAgain(run.id, again),
          {
            look: 'primary',
          },
        ),
        report,
        button('close', t.close, close, { look: 'quiet', isLast: true }),
      ];
    case 'other-end':
      return [button('close', t.close, close, { look: 'primary' }), report];
  }
}

type ViewOf<K extends DialogView['kind']> = Extract<DialogView, { kind: K }>;

export function renderRunUnknown({ run, version }: ViewOf<'run-unknown'>, context: DialogContext): Content {
  const t = texts();
  const heading = t.runUnknown(version ?? t.product, timeOfDay(run.startedAt));
  return {
    title: t.heading(t.product),
    key: 'run-unknown',
    announcement: heading,
    isUrgent: true,
    body: [lead(heading, t.runUnknownAbout), run.log !== null && command(run.log, context)],
    actions: [button('close', t.close, () => context.close(run.id), { look: 'primary' })],
  };
}
