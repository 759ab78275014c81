import { withoutLeftBehind } from '../../wire/left-behind.ts';
import type { Status } from '../../wire/status.ts';
import { newsUrl, serversBehind } from '../model/selectors.ts';
import { texts } from '../texts.ts';
import { externalLink, warningBox } from '../views/components.ts';
import { joined, seconds } from '../views/format.ts';
import { h, patch } from './dom.ts';

/** What the page says once after it has loaded itself anew: above everything, wherever the notice is. */
export class Toast {
  readonly element = document.createElement('div');
  readonly #close: () => void;

  constructor(close: () => void) {
    this.#close = close;
    Object.assign(this.element, { className: 'toast', popover: 'manual', role: 'status', hidden: true });
  }

  show(status: Status, queued: number): void {
    const t = texts();
    const { run, version, reason } = status;
    const behind = serversBehind(status);
    const waiting = (reason?.jobs ?? []).length > 0 ? t.jobsRun(queued) : t.jobsHaveRun(queued);
    const about = joined(run && run.away !== null && t.awayFor(seconds(run.away)), queued > 0 && waiting);
    patch(this.element, [
      h(
        'div.inner',
        h('div.top', h('b', t.versionRuns(version))),
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
          h('button', { type: 'button', class: 'b', onclick: () => this.hide() }, t.close),
          externalLink(newsUrl(status, version), t.whatIsNew),
        ),
      ),
    ]);
    if (!this.element.hidden) return;
    this.element.hidden = false;
    this.element.showPopover?.();
  }

  hide(): void {
    this.element.hidePopover?.();
    this.element.hidden = true;
    this.#close();
  }
}
