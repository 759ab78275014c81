import { h, type VNode } from '../elements/vnode.ts';
import { texts } from '../texts.ts';
import { dot } from './components.ts';

/** The versions that a path leads through: how many are behind, and whether the one after them is on. */
export const stationList = (versions: readonly string[], behind: number, isOn: boolean): VNode =>
  h(
    'ol',
    { class: 'stations', 'aria-label': texts().upgradePath },
    ...versions.map((version, at) => {
      const mark = at < behind ? 'done' : at === behind && isOn ? 'now' : 'ahead';
      const current = mark === 'now' ? 'step' : null;
      return h('li', { class: mark, 'aria-current': current }, h('span.dot', dot(mark)), h('span', version));
    }),
  );
