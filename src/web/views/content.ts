import { type Child, h } from '../elements/dom.ts';
import type { DialogView } from '../model/dialog-view.ts';
import { texts } from '../texts.ts';
import { button, type Content, type DialogContext, lead, muted } from './components.ts';
import { renderEnd, renderRunUnknown } from './end.ts';
import { renderJobs, renderNothing, renderNotPossible, renderOffer, renderReason } from './offer.ts';
import {
  renderNoAnswer,
  renderNotStarted,
  renderRestarting,
  renderRun,
  renderStarting,
  renderWaiting,
} from './run.ts';

export function contentOf(view: DialogView, context: DialogContext): Content {
  const t = texts();
  switch (view.kind) {
    case 'asking':
      return renderPlain(t.asking(t.product), t.askingAbout);
    case 'users-only':
      return renderPlain(t.usersOnly, t.youRun(view.version));
    case 'logged-out':
      return renderReload(t.loggedOut, view.isOn ? t.loggedOutOn : t.loggedOutElse, context);
    case 'other-page':
      return renderReload(t.otherPage, view.isOn ? t.otherPageOn : t.otherPageElse, context);
    case 'restarting':
      return renderRestarting(view, context);
    case 'no-answer':
      return renderNoAnswer(view);
    case 'starting':
      return renderStarting(view);
    case 'not-started':
      return renderNotStarted(view, context);
    case 'run-unknown':
      return renderRunUnknown(view, context);
    case 'nothing':
      return renderNothing(view, context);
    case 'not-possible':
      return renderNotPossible(view, context);
    case 'other-update':
    case 'other-reason':
      return renderReason(view, context);
    case 'jobs':
      return renderJobs(view, context);
    case 'available':
      return renderOffer(view, context);
    case 'waiting':
      return renderWaiting(view, context);
    case 'preparing':
    case 'updating':
    case 'cancelling':
    case 'late':
    case 'other-state':
      return renderRun(view, context);
    default:
      return renderEnd(view, context);
  }
}

const renderPlain = (heading: string, about: string): Content => ({
  announcement: heading,
  body: [lead(heading), muted(about)],
});

const renderReload = (heading: string, about: string, context: DialogContext): Content => ({
  announcement: `${heading}. ${about}`,
  isUrgent: true,
  body: [lead(heading), muted(about)],
  actions: [button('reload', texts().reload, context.reload, 'primary')],
});

/** The nodes of a dialog: its content with what every state has around it. */
export function dialogNodes(content: Content, key: string, isOn: boolean, close: () => void): Child[] {
  const t = texts();
  const { title = t.heading(t.product), body, actions = [] } = content;
  return [
    h(
      'header',
      h('h2', { id: 'title', tabindex: -1 }, title),
      h(
        'button',
        { type: 'button', class: 'x', 'aria-label': isOn ? t.closeOn : t.close, onclick: close },
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
