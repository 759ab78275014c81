import { h, type VNode } from '../elements/vnode.ts';
import { texts } from '../texts.ts';
import { dot } from './components.ts';

/** The versions of an upgrade path. @param done the number of completed versions. @param isRunning the next version is being installed */
export const stationList = (versions: readonly string[], done: number, isRunning: boolean): VNode =>
  h(
    'ol',
    { class: 'stations', 'aria-label': texts().upgradePath },
    ...versions.map((version, at) => {
      const mark = at < done ? 'done' : at === done && isRunning ? 'now' : 'ahead';
      const current = mark === 'now' ? 'step' : null;
      return h('li', { class: mark, 'aria-current': current }, h('span.dot', dot(mark)), h('span', version));
    }),
  );
