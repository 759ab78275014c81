import { withoutLeftBehind } from '../../wire/left-behind.ts';
import type { Run, Status } from '../../wire/status.ts';
import { newsUrl, serversBehind } from '../model/selectors.ts';
import { texts } from '../texts.ts';
import { externalLink, warningBox } from '../views/components.ts';
import { dayText, joined, seconds, timeOfDay } from '../views/format.ts';
import { patch } from './dom.ts';
import { h } from './vnode.ts';

/** What the page says of an update that has ended well: above everything, wherever the notice is. */
export class Toast {
  readonly element = document.createElement('div');
  readonly #close: () => void;

  constructor(close: () => void) {
    this.#close = close;
    Object.assign(this.element, { className: 'toast', popover: 'manual', role: 'status', hidden: true });
  }

  /** @param news the run, where it has started by itself */
  show(status: Status, queued: number, news: Run | null): void {
    const t = texts();
    const { run, version, reason } = status;
    const behind = serversBehind(status);
    const waiting = (reason?.jobs ?? []).length > 0 ? t.jobsRun(queued) : t.jobsHaveRun(queued);
    const about = joined(
      news && version,
      run && run.downtimeSeconds !== null && t.awayFor(seconds(run.downtimeSeconds)),
      queued > 0 && waiting,
    );
    patch(this.element, [
      h(
        'div.inner',
        h('div.top', h('b', news ? itselfText(news, status.now) : t.versionRuns(version))),
        about !== '' && h('span.muted', about),
        warningBox(withoutLeftBehind(run?.warnings ?? [], behind)),
        behind.length > 0 &&
          h(
            'div',
            h('b', t.serversBehind(behind.length)),
            ...behind.map((server) => h('div.muted', t.serverRuns(server.name, server.version))),
          ),
        h(
          'div.row',
          h('button', { type: 'button', class: 'b', onclick: this.#close }, t.close),
          externalLink(newsUrl(status, version), t.whatIsNew),
        ),
      ),
    ]);
    if (!this.element.hidden) return;
    this.element.hidden = false;
    this.element.showPopover?.();
  }

  hide(): void {
    if (this.element.hidden) return;
    this.element.hidePopover?.();
    this.element.hidden = true;
  }
}

function itselfText({ endedAt }: Run, now: string): string {
  const t = texts();
  return t.updatedItself(t.product, dayText(endedAt, Date.parse(now)), timeOfDay(endedAt));
}
