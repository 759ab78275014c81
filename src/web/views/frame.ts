import { type Child, h } from '../elements/dom.ts';
import { texts } from '../texts.ts';
import type { Content } from './components.ts';

/** What every state of the dialog has around it. */
export function frame(
  { title, key, body, actions }: Content,
  isOn: boolean,
  close: () => void,
  past: Child,
): Child[] {
  const t = texts();
  return [
    h(
      'header',
      {},
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
    past,
  ];
}
