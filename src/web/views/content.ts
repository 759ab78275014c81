import { h } from '../elements/dom.ts';
import type { DialogView } from '../model/dialog-states.ts';
import { texts } from '../texts.ts';
import { button, type Content, type DialogContext, lead } from './components.ts';
import { renderEnd, renderRunUnknown } from './end.ts';
import { renderJobs, renderNothing, renderNotPossible, renderOffer, renderReason } from './offer.ts';
import { renderNoAnswer, renderNotStarted, renderRestarting, renderRun, renderStarting } from './run.ts';

/** What the dialog shows of a view. @param news the page about what runs now */
export function contentOf(view: DialogView, context: DialogContext, news: string | null): Content {
  const t = texts();
  switch (view.kind) {
    case 'asking':
      return renderPlain('asking', t.asking(t.product), t.askingAbout);
    case 'users-only':
      return renderPlain('users-only', t.usersOnly, t.youRun(view.version));
    case 'logged-out':
      return renderReload('logged-out', t.loggedOut, view.isOn ? t.loggedOutOn : t.loggedOutElse, context);
    case 'other-page':
      return renderReload('other-page', t.otherPage, view.isOn ? t.otherPageOn : t.otherPageElse, context);
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
    case 'preparing':
    case 'updating':
    case 'cancelling':
    case 'late':
    case 'other-state':
      return renderRun(view, context);
    case 'updated':
    case 'unchanged':
    case 'failed':
    case 'cancelled':
    case 'broken':
    case 'other-end':
      return renderEnd(view, context, news);
  }
}

const renderPlain = (key: string, heading: string, about: string): Content => ({
  title: texts().heading(texts().product),
  key,
  announcement: heading,
  body: [lead(heading), h('p', { class: 'muted' }, about)],
  actions: [],
});

const renderReload = (key: string, heading: string, about: string, context: DialogContext): Content => ({
  ...renderPlain(key, heading, about),
  announcement: `${heading}. ${about}`,
  isUrgent: true,
  actions: [button('reload', texts().reload, () => context.reload(), { look: 'primary' })],
});
