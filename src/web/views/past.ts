import { byItself } from '../../wire/codes.ts';
import { pointOf } from '../../wire/rollback-point.ts';
import type { Run } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import { isPressed, type PageState } from '../model/page-state.ts';
import { isRollback, isSuccessfulEnd, outdatedServers } from '../model/selectors.ts';
import { codeText, texts } from '../texts.ts';
import { type DialogContext, rollbackButton } from './components.ts';
import { outdatedServerNodes } from './end.ts';
import { channelName, dateText, durationOfSeconds, fromTo, joined } from './format.ts';

const shownRuns = 5;

/** Shown below every state: the channel, past updates and outdated build servers. */
export function pastNode(state: PageState, context: DialogContext): Child {
  const t = texts();
  const { status, history, rollback, isUpdating } = state;
  if (status === null) return null;
  const runs = (history ?? []).filter(({ outcome }) => outcome !== null).slice(0, shownRuns);
  const last = history?.find(({ outcome }) => outcome === 'updated');
  const outdated = outdatedServers(status);
  const point = rollback || isUpdating || isPressed(state) ? null : pointOf(history ?? [])?.restorePoint;
  const downtime =
    last && last.downtimeSeconds !== null ? `, ${t.downtime(durationOfSeconds(last.downtimeSeconds))}` : '';
  const summary = joined(
    t.currentChannel(channelName(status.channel)),
    last && t.lastUpdate(dateText(last.startedAt, context.now), `${fromTo(last.from, last.to)}${downtime}`),
    outdated.length > 0 && t.serversOutdated(outdated.length),
  );
  return h(
    'details',
    { key: 'past', class: 'past' },
    h('summary', summary),
    h(
      'div.inner',
      runs.length === 0 ? h('p', t.noUpdates) : runTable(runs, context),
      point && h('p', rollbackButton(point.version, context)),
      outdatedServerNodes(outdated, context),
      context.settingsUrl !== null && h('p', h('a', { href: context.settingsUrl }, t.changeChannel)),
    ),
  );
}

function runTable(runs: readonly Run[], context: DialogContext): VNode {
  const t = texts();
  const heads = [t.dateColumn, t.versionsColumn, t.outcomeColumn, t.downtimeColumn, t.startedByColumn];
  return h(
    'table',
    { 'aria-label': t.pastUpdates },
    h('thead.hidden', h('tr', ...heads.map((head) => h('th', { scope: 'col' }, head)))),
    h('tbody', ...runs.map((run) => runRow(run, context))),
  );
}

function runRow(run: Run, context: DialogContext): VNode {
  const t = texts();
  const { id, startedAt, from, to, downtimeSeconds, by } = run;
  return h(
    'tr',
    { key: id },
    h('td', dateText(startedAt, context.now)),
    h('td', fromTo(from, to)),
    h('td', { class: isSuccessfulEnd(run) ? 'ok' : 'bad' }, outcomeOf(run)),
    h('td', downtimeSeconds === null ? '–' : t.downtime(durationOfSeconds(downtimeSeconds))),
    h('td', by === byItself ? t.automatically : (by ?? t.startedManually)),
  );
}

function outcomeOf(run: Run): string {
  const t = texts();
  const { outcome } = run;
  if (outcome === 'updated' && isRollback(run)) return t.rolledBack;
  return codeText(t.outcomes, outcome ?? '', outcome ?? '');
}
