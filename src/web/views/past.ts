import type { Run } from '../../wire/status.ts';
import { type Child, h } from '../elements/dom.ts';
import type { PageState } from '../model/page-state.ts';
import { codeText, texts } from '../texts.ts';
import type { DialogContext } from './components.ts';
import { behindNodes } from './end.ts';
import { dateText, fromTo, joined, seconds } from './format.ts';

/** Runs that are shown. */
const shownRuns = 5;
const good: readonly (string | null)[] = ['updated', 'unchanged', 'cancelled'];

/** What is below every state: the channel, the last updates, and what stays behind. */
export function pastNode(
  { status, history }: PageState,
  context: DialogContext,
  settingsUrl: string | null,
): Child {
  const t = texts();
  if (status === null) return null;
  const runs = (history ?? []).filter(({ outcome }) => outcome !== null).slice(0, shownRuns);
  const last = history?.find(({ outcome }) => outcome === 'updated');
  const { [status.channel]: channel } = t.channels as Partial<Texts['channels']>;
  const behind = status.buildServers.filter((server) => server.behind);
  const way =
    last &&
    joined(fromTo(last.from, last.to), last.away !== null && t.away(seconds(last.away))).replace(' · ', ', ');
  const summary = joined(
    t.pastChannel(channel?.name ?? status.channel),
    last && way && t.pastLast(dateText(last.startedAt, context.now), way),
    behind.length > 0 && t.serversBehind(behind.length),
  );
  return h(
    'details',
    { key: 'past', class: 'past' },
    h('summary', {}, summary),
    h(
      'div',
      { class: 'inner' },
      runs.length === 0 ? h('p', {}, t.noUpdates) : runTable(runs, context),
      ...(behind.length > 0 ? behindNodes(behind, context) : []),
      settingsUrl !== null && h('p', {}, h('a', { href: settingsUrl }, t.changeChannel)),
    ),
  );
}

type Texts = ReturnType<typeof texts>;

function runTable(runs: readonly Run[], context: DialogContext): Child {
  const t = texts();
  const heads = [t.when, t.fromTo, t.outcome, t.absence, t.who];
  return h(
    'table',
    { 'aria-label': t.pastUpdates },
    h('thead', { class: 'hidden' }, h('tr', {}, ...heads.map((head) => h('th', { scope: 'col' }, head)))),
    h(
      'tbody',
      {},
      ...runs.map(({ id, startedAt, from, to, outcome, away, by }) =>
        h(
          'tr',
          { key: id },
          h('td', {}, dateText(startedAt, context.now)),
          h('td', {}, fromTo(from, to)),
          h(
            'td',
            { class: good.includes(outcome) ? 'ok' : 'bad' },
            codeText(t.outcomes, outcome ?? '', outcome ?? ''),
          ),
          h('td', {}, away === null ? '–' : t.away(seconds(away))),
          h('td', {}, by ?? t.byNobody),
        ),
      ),
    ),
  );
}
