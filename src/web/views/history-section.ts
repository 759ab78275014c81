import {
  formatDowntime,
  formatOutcome,
  isSuccessfulOrCancelledRun,
  listOutdatedBuildServers,
} from '../../presentation/present-result.ts';
import { createRollbackButton, presentBuildServers } from '../../presentation/present-status.ts';
import { joinFacts, type TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import { automaticCaller } from '../../wire/codes.ts';
import { findRollbackableRun } from '../../wire/derived/rollbackable-run.ts';
import type { Run } from '../../wire/status.ts';
import { h, type VNode, type VNodeChild } from '../dom/vnode.ts';
import { isStartRequestPending, type PageState } from '../model/page-state.ts';
import { type DialogContext, renderPageLink, renderUserAction } from './components.ts';
import { renderPresentationPart } from './dialog-content.ts';

const shownRuns = 5;

/** Renders the channel, past updates and outdated build servers. Returns null if there is no status for admins. */
export function renderHistorySection(state: PageState, context: DialogContext): VNodeChild {
  const { t, settingsUrl } = context;
  const { status, history, rollback, isUpdating } = state;
  if (status === null) return null;
  const runs = (history ?? []).filter(({ outcome }) => outcome !== null).slice(0, shownRuns);
  const last = history?.find(({ outcome }) => outcome === 'updated');
  const outdated = listOutdatedBuildServers(status);
  const servers = presentBuildServers(outdated, t);
  const point =
    rollback || isUpdating || isStartRequestPending(state)
      ? null
      : findRollbackableRun(history ?? [])?.restorePoint;
  const downtime = last && formatDowntime(last, t);
  const versions = last && t.versions(last.from, last.to) + (downtime && `, ${downtime}`);
  const summary = joinFacts(
    t.currentChannel(t.channelName(status.channel)),
    last && t.lastUpdate(t.date(last.startedAt), versions ?? ''),
    outdated.length > 0 && t.serversOutdated(outdated.length),
  );
  return h(
    'details',
    { key: 'past', class: 'past' },
    h('summary', summary),
    h(
      'div.inner',
      runs.length === 0 ? h('p', t.noUpdates) : renderRunTable(runs, t),
      point && h('p', renderUserAction(createRollbackButton(point.version, t), context)),
      servers && renderPresentationPart(servers, context),
      settingsUrl !== null &&
        h('p', renderPageLink({ url: settingsUrl, label: t.changeChannel, isOwn: true })),
    ),
  );
}

function renderRunTable(runs: readonly Run[], t: TextsAndFormats): VNode {
  const heads = [t.dateColumn, t.versionsColumn, t.outcomeColumn, t.downtimeColumn, t.startedByColumn];
  return h(
    'table',
    { 'aria-label': t.pastUpdates },
    h('thead.hidden', h('tr', ...heads.map((head) => h('th', { scope: 'col' }, head)))),
    h('tbody', ...runs.map((run) => renderRunRow(run, t))),
  );
}

function renderRunRow(run: Run, t: TextsAndFormats): VNode {
  const { id, startedAt, from, to, by } = run;
  return h(
    'tr',
    { key: id },
    h('td', t.date(startedAt)),
    h('td', t.versions(from, to)),
    h('td', { class: isSuccessfulOrCancelledRun(run) ? 'ok' : 'bad' }, formatOutcome(run, t)),
    h('td', formatDowntime(run, t) || '–'),
    h('td', by === automaticCaller ? t.automatically : (by ?? t.startedManually)),
  );
}
