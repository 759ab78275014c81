import { h } from '../elements/dom.ts';
import type { DialogView } from '../model/dialog-states.ts';
import { texts } from '../texts.ts';
import { endScene, runUnknownScene } from './end.ts';
import { jobsScene, nothingScene, notPossibleScene, offerScene, reasonScene } from './offer.ts';
import { button, lead, type Scene, type Stage } from './pieces.ts';
import { noAnswerScene, notStartedScene, restartingScene, runScene, startingScene } from './run.ts';

/** What the dialog shows of a view. @param news the page about what runs now */
export function sceneOf(view: DialogView, stage: Stage, news: string | null): Scene {
  const t = texts();
  switch (view.kind) {
    case 'asking':
      return plainScene('asking', t.asking(t.product), t.askingAbout);
    case 'users-only':
      return plainScene('users-only', t.usersOnly, t.youRun(view.version));
    case 'logged-out':
      return reloadScene('logged-out', t.loggedOut, view.isOn ? t.loggedOutOn : t.loggedOutElse, stage);
    case 'other-page':
      return reloadScene('other-page', t.otherPage, view.isOn ? t.otherPageOn : t.otherPageElse, stage);
    case 'restarting':
      return restartingScene(view, stage);
    case 'no-answer':
      return noAnswerScene(view);
    case 'starting':
      return startingScene(view);
    case 'not-started':
      return notStartedScene(view, stage);
    case 'run-unknown':
      return runUnknownScene(view, stage);
    case 'nothing':
      return nothingScene(view, stage);
    case 'not-possible':
      return notPossibleScene(view, stage);
    case 'other-update':
    case 'other-reason':
      return reasonScene(view, stage);
    case 'jobs':
      return jobsScene(view, stage);
    case 'available':
      return offerScene(view, stage);
    case 'waiting':
    case 'preparing':
    case 'updating':
    case 'cancelling':
    case 'late':
    case 'other-state':
      return runScene(view, stage);
    case 'updated':
    case 'unchanged':
    case 'failed':
    case 'cancelled':
    case 'broken':
    case 'other-end':
      return endScene(view, stage, news);
  }
}

const plainScene = (key: string, heading: string, about: string): Scene => ({
  title: texts().heading(texts().product),
  key,
  told: heading,
  body: [lead(heading), h('p', { class: 'muted' }, about)],
  actions: [],
});

const reloadScene = (key: string, heading: string, about: string, stage: Stage): Scene => ({
  ...plainScene(key, heading, about),
  told: `${heading}. ${about}`,
  isUrgent: true,
  actions: [button('reload', texts().reload, () => stage.reload(), { look: 'primary' })],
});
