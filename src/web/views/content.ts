import { type Child, h } from '../elements/vnode.ts';
import type { DialogView, ViewOf } from '../model/dialog-view.ts';
import { texts } from '../texts.ts';
import { withAdvisory } from './advisory.ts';
import { button, type Content, type DialogContext, lead, muted } from './components.ts';
import { renderEnd, renderRunUnknown } from './end.ts';
import { renderJobs, renderNothing, renderNotPossible, renderOffer, renderReason } from './offer.ts';
import { renderRollback, renderRollbackAsking, renderRollbackRefused } from './rollback.ts';
import {
  renderBetween,
  renderNoAnswer,
  renderNotStarted,
  renderRestarting,
  renderRun,
  renderStarting,
  renderWaiting,
} from './run.ts';

const renderers: { [K in DialogView['kind']]: (view: ViewOf<K>, context: DialogContext) => Content } = {
  asking: () => renderPlain(texts().connecting(texts().product), texts().connectingAbout),
  'users-only': ({ version }) =>
    renderPlain(texts().adminsOnly(texts().product), texts().youAreRunning(version)),
  'logged-out': ({ isOn }, context) => {
    const t = texts();
    return renderReload(t.loggedOut, isOn ? t.loggedOutDuringUpdate : t.loggedOutAbout, context);
  },
  'other-page': ({ isOn }, context) => {
    const t = texts();
    return renderReload(t.otherPage, isOn ? t.otherPageDuringUpdate : t.otherPageAbout, context);
  },
  restarting: renderRestarting,
  'no-answer': renderNoAnswer,
  starting: renderStarting,
  'not-started': renderNotStarted,
  'rollback-asking': renderRollbackAsking,
  rollback: renderRollback,
  'rollback-refused': renderRollbackRefused,
  'run-unknown': renderRunUnknown,
  pendingStep: renderBetween,
  nothing: renderNothing,
  'not-possible': renderNotPossible,
  'other-update': renderReason,
  'other-reason': renderReason,
  jobs: renderJobs,
  available: renderOffer,
  waiting: renderWaiting,
  preparing: renderRun,
  updating: renderRun,
  cancelling: renderRun,
  late: renderRun,
  'other-state': renderRun,
  updated: renderEnd,
  unchanged: renderEnd,
  failed: renderEnd,
  cancelled: renderEnd,
  broken: renderEnd,
  'other-end': renderEnd,
};

export function contentOf(view: DialogView, context: DialogContext): Content {
  const render = renderers[view.kind] as (view: DialogView, context: DialogContext) => Content;
  const content = render(view, context);
  return 'status' in view ? withAdvisory(content, view.status, context.now) : content;
}

const renderPlain = (heading: string, about: string): Content => ({
  announcement: heading,
  body: [lead(heading), muted(about)],
});

const renderReload = (heading: string, about: string, context: DialogContext): Content => ({
  ...renderPlain(heading, about),
  announcement: `${heading}. ${about}`,
  isUrgent: true,
  actions: [button('reload', texts().reload, context.reload, 'primary')],
});

/** The heading, content and buttons of the dialog. */
export function dialogNodes(content: Content, key: string, closing: string, close: () => void): Child[] {
  const t = texts();
  const { title = t.heading(t.product), body, actions = [] } = content;
  return [
    h(
      'header',
      h('h2', { id: 'title', tabindex: -1 }, title),
      h(
        'button',
        { type: 'button', class: 'x', 'aria-label': closing, onclick: close },
        h(
          'svg',
          { viewBox: '0 0 14 14', 'aria-hidden': 'true' },
          h('path', { d: 'M2.5 2.5 11.5 11.5M11.5 2.5 2.5 11.5' }),
        ),
      ),
    ),
    h('div', { key: `body ${key}`, class: 'body' }, ...body),
    actions.some(Boolean) && h('div', { key: 'actions', class: 'actions' }, ...actions),
  ];
}
