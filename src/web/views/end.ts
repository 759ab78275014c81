import { withoutLeftBehind } from '../../wire/left-behind.ts';
import { type Child, h } from '../elements/vnode.ts';
import type { EndView, ViewOf } from '../model/dialog-view.ts';
import { isGoodEnd, isRollback } from '../model/selectors.ts';
import { texts } from '../texts.ts';
import {
  box,
  button,
  type Content,
  command,
  commandList,
  copyLabel,
  type DialogContext,
  externalLink,
  lead,
  muted,
  warningBox,
} from './components.ts';
import { joined, moment, seconds, sentence, timeOfDay } from './format.ts';
import { phaseList } from './run.ts';

export function renderEnd(view: EndView, context: DialogContext): Content {
  const { kind, run } = view;
  const heading = headingOf(view);
  const look = kind === 'updated' ? 'ok' : kind === 'broken' ? 'bad' : null;
  const isGood = isGoodEnd(run);
  return {
    ...(isRollback(run) && { title: texts().headingRollback(texts().product) }),
    key: `end ${run.id} ${kind}`,
    announcement: joined(heading, announced(view, context)),
    isUrgent: !isGood,
    body: [
      lead(heading, aboutOf(view, context), look),
      isGood ? goodBody(view, context) : badBody(view, context),
    ],
    actions: actionsOf(view, context),
  };
}

/** After the heading. */
function announced(view: EndView, context: DialogContext): string | false {
  const { kind, run } = view;
  if (run.rolledBack !== null) return aboutOf(view, context);
  return kind !== 'updated' && sentence(run.cause ?? run.message);
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
      if (run.rolledBack !== null && run.to !== null)
        return t.versionFailed(run.to, run.cause === null ? '' : run.cause.replace(/\.$/, ''));
      if (run.outcome === 'refused') return isRollback(run) ? t.rollbackRefused : t.refused;
      return isRollback(run) ? t.rollbackFailed : t.failed;
    case 'broken':
      if (run.outcome === 'crashed') return isRollback(run) ? t.rollbackCrashed : t.crashed;
      if (run.code === 'broken' && run.to !== null) return t.broken(run.to);
      return run.code === 'unhealthy' && version !== null
        ? t.notWell(version)
        : isRollback(run)
          ? t.rollbackUnknown
          : t.brokenUnknown;
    case 'other-end':
      return sentence(run.message || (run.outcome ?? '')).replace(/\.$/, '');
  }
}

function aboutOf({ kind, run, version }: EndView, { now }: DialogContext): string {
  const t = texts();
  switch (kind) {
    case 'updated':
      return run.downtimeSeconds === null
        ? ''
        : t.awayFor(seconds(run.downtimeSeconds)).replace(/^./, (first) => first.toUpperCase());
    case 'cancelled':
      return t.cancelledAbout(version ?? run.from ?? '');
    case 'other-end':
      return version === null ? '' : t.runsNow(version);
    default:
      return run.rolledBack === null
        ? sentence(run.message)
        : t.rolledBackTo(run.rolledBack.version, moment(run.rolledBack.at, now));
  }
}

function goodBody({ kind, run, version, lags, behind }: EndView, context: DialogContext): Child {
  const t = texts();
  if (kind !== 'updated')
    return [warningBox(run.warnings), kind === 'unchanged' && version !== null && muted(t.runsNow(version))];
  return [
    lags && box('warn', t.lagsBehind(run.to ?? '')),
    warningBox(withoutLeftBehind(run.warnings, behind)),
    behindNodes(behind, context),
    !context.local.stays && muted(t.reloads),
  ];
}

function badBody({ kind, run, rows, version }: EndView, context: DialogContext): Child {
  const t = texts();
  const { cause, code, advice, log } = run;
  const { report } = context.local;
  const isDeep = run.steps.some(({ state }) => ['write', 'save', 'recreate', 'verify'].includes(state));
  // The heading of a rolled back update has the cause.
  const isTold = run.rolledBack !== null && run.to !== null && cause !== null;
  const why = isTold ? null : (cause ?? code);
  return [
    isDeep && phaseList(rows),
    why !== null && box('bad', sentence(why), cause !== null && code !== null && h('span.mono', code)),
    isTold && code !== null && h('p', h('span.mono', code)),
    warningBox(run.warnings),
    advice !== null && h('p', h('b', t.next), ' ', advice),
    log !== null && command(log, context),
    kind === 'broken' && version !== null && muted(t.runsNow(version)),
    report !== undefined &&
      h('textarea', { key: 'report', readonly: true, 'aria-label': t.report, rows: 10 }, report),
  ];
}

/** The build servers that an update has not reached, with the commands that update them. */
export function behindNodes(behind: EndView['behind'], context: DialogContext): Child {
  const t = texts();
  if (behind.length === 0) return null;
  const runs = behind.map(({ name, version }) => h('span', t.serverRuns(name, version)));
  const commands = new Set(behind.map((server) => server.command).filter(Boolean));
  return [box('', t.serversBehind(behind.length), ...runs), commandList([...commands], context)];
}

function actionsOf({ kind, run, again }: EndView, context: DialogContext): Child[] {
  const t = texts();
  const close = (look: 'primary' | 'quiet end') =>
    button('close', t.close, () => context.dismiss(run.id), look);
  if (kind === 'updated')
    return [
      button('reload', t.reloadNow, context.reload, 'primary'),
      externalLink(context.newsUrl, t.whatIsNew, 'end'),
    ];
  if (isGoodEnd(run)) return [close('primary')];
  const report = button('report', copyLabel('report', t.copyReport, context), () => context.copyReport(run));
  if (kind === 'other-end') return [close('primary'), report];
  const label = kind === 'failed' ? t.tryAgain : t.checkItAgain;
  return [button('again', label, () => context.tryAgain(run, again), 'primary'), report, close('quiet end')];
}

export function renderRunUnknown({ run, version }: ViewOf<'run-unknown'>, context: DialogContext): Content {
  const t = texts();
  const heading = t.runUnknown(version ?? t.product, timeOfDay(run.startedAt));
  return {
    announcement: heading,
    isUrgent: true,
    body: [lead(heading, t.runUnknownAbout), run.log !== null && command(run.log, context)],
    actions: [button('close', t.close, () => context.dismiss(run.id), 'primary')],
  };
}
