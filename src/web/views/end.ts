import { withoutLeftBehind } from '../../wire/left-behind.ts';
import { messageClause } from '../../wire/messages.ts';
import type { Run } from '../../wire/status.ts';
import { type Child, h } from '../elements/vnode.ts';
import type { EndView, ViewOf } from '../model/dialog-view.ts';
import { isRollback, isSameVersion, isSuccessfulEnd } from '../model/selectors.ts';
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
import { durationOfSeconds, joined, moment, sentence, timeOfDay } from './format.ts';
import { phaseList } from './run.ts';

export function renderEnd(view: EndView, context: DialogContext): Content {
  const { kind, run } = view;
  const heading = headingOf(view);
  const look = kind === 'updated' ? 'ok' : kind === 'broken' ? 'bad' : null;
  const isGood = isSuccessfulEnd(run);
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
      return updatedHeading(run, version);
    case 'unchanged':
      return t.unchanged;
    case 'cancelled':
      return t.cancelled;
    case 'failed':
      if (run.rolledBack !== null && run.to !== null)
        return t.versionFailed(run.to, run.cause === null ? '' : messageClause(run.cause));
      if (run.outcome === 'refused') return isRollback(run) ? t.rollbackRefused : t.updateRefused;
      return isRollback(run) ? t.rollbackFailed : t.theUpdateFailed;
    case 'broken':
      if (run.outcome === 'crashed') return isRollback(run) ? t.rollbackInterrupted : t.updateInterrupted;
      if (run.code === 'broken' && run.to !== null) return t.installedUnhealthy(run.to);
      return run.code === 'unhealthy' && version !== null
        ? t.unhealthy(version)
        : isRollback(run)
          ? t.rollbackUnsuccessful
          : t.updateUnsuccessful;
    case 'other-end':
      return messageClause(sentence(run.message || (run.outcome ?? '')));
  }
}

function updatedHeading(run: Run, version: string | null): string {
  const t = texts();
  if (run.to === null || (version !== null && !isSameVersion(version, run.to)))
    return t.versionIsRunning(version ?? '');
  return isRollback(run) ? t.rolledBackToVersion(run.to) : t.updatedTo(run.to);
}

function aboutOf({ kind, run, version }: EndView, { now }: DialogContext): string {
  const t = texts();
  switch (kind) {
    case 'updated':
      return run.downtimeSeconds === null ? '' : t.downtime(durationOfSeconds(run.downtimeSeconds));
    case 'cancelled':
      return t.stillRunning(version ?? run.from ?? '');
    case 'other-end':
      return version === null ? '' : t.nowRunning(version);
    default:
      return run.rolledBack === null
        ? sentence(run.message)
        : t.rolledBackTo(run.rolledBack.version, moment(run.rolledBack.at, now));
  }
}

function goodBody(
  { kind, run, version, latestNotMoved, outdatedServers }: EndView,
  context: DialogContext,
): Child {
  const t = texts();
  if (kind !== 'updated')
    return [
      warningBox(run.warnings),
      kind === 'unchanged' && version !== null && muted(t.nowRunning(version)),
    ];
  return [
    latestNotMoved && box('warn', t.latestNotMoved(run.to ?? '')),
    warningBox(withoutLeftBehind(run.warnings, outdatedServers)),
    outdatedServerNodes(outdatedServers, context),
    !context.local.isReloadPrevented && muted(t.reloading),
  ];
}

function badBody({ kind, run, rows, version }: EndView, context: DialogContext): Child {
  const t = texts();
  const { cause, code, advice, log } = run;
  const { report } = context.local;
  const isDeep = run.steps.some(({ state }) => ['write', 'save', 'recreate', 'verify'].includes(state));
  // The heading of a rolled back update contains the cause.
  const isInHeading = run.rolledBack !== null && run.to !== null && cause !== null;
  const why = isInHeading ? null : (cause ?? code);
  return [
    isDeep && phaseList(rows),
    why !== null && box('bad', sentence(why), cause !== null && code !== null && h('span.mono', code)),
    isInHeading && code !== null && h('p', h('span.mono', code)),
    warningBox(run.warnings),
    advice !== null && h('p', h('b', t.next), ' ', advice),
    log !== null && command(log, context),
    kind === 'broken' && version !== null && muted(t.nowRunning(version)),
    report !== undefined &&
      h('textarea', { key: 'report', readonly: true, 'aria-label': t.report, rows: 10 }, report),
  ];
}

/** The outdated build servers, with the commands that update them. */
export function outdatedServerNodes(servers: EndView['outdatedServers'], context: DialogContext): Child {
  const t = texts();
  if (servers.length === 0) return null;
  const lines = servers.map(({ name, version }) => h('span', t.serverVersion(name, version)));
  const commands = new Set(servers.map((server) => server.command).filter(Boolean));
  return [box('', t.serversOutdated(servers.length), ...lines), commandList([...commands], context)];
}

function actionsOf({ kind, run, again }: EndView, context: DialogContext): Child[] {
  const t = texts();
  const close = (look: 'primary' | 'quiet end') =>
    button('close', t.close, () => context.dismiss(run.id), look);
  if (kind === 'updated')
    return [
      button('reload', t.reloadNow, context.reload, 'primary'),
      externalLink(context.newsUrl, t.releaseNotes, 'end'),
    ];
  if (isSuccessfulEnd(run)) return [close('primary')];
  const report = [
    button('report', copyLabel('report', t.copyReport, context), () => context.copyReport(run)),
    h('a', { key: 'download', href: context.reportUrl, download: true }, t.downloadReport),
  ];
  if (kind === 'other-end') return [close('primary'), report];
  const label = kind === 'failed' ? t.tryAgain : t.checkAgain;
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
