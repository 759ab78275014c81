import { withoutLeftBehind } from '../../wire/left-behind.ts';
import type { Run, Status } from '../../wire/status.ts';
import { isRollback, newsUrl, outdatedServers } from '../model/selectors.ts';
import { texts } from '../texts.ts';
import { externalLink, warningBox } from '../views/components.ts';
import { dayText, durationOfSeconds, joined, timeOfDay } from '../views/format.ts';
import { patch } from './dom.ts';
import { h } from './vnode.ts';

/** Announces a successful update above everything else on the page, wherever the notice is. */
export class Toast {
  readonly element = document.createElement('div');
  readonly #close: () => void;

  constructor(close: () => void) {
    this.#close = close;
    Object.assign(this.element, { className: 'toast', popover: 'manual', role: 'status', hidden: true });
  }

  /** @param news the run, if it was started automatically */
  show(status: Status, queued: number, news: Run | null): void {
    const t = texts();
    const { run, version, reason } = status;
    const outdated = outdatedServers(status);
    const queuedJobs =
      (reason?.jobs ?? []).length > 0 ? t.queuedJobsRunning(queued) : t.queuedJobsFinished(queued);
    const about = joined(
      news && version,
      run && run.downtimeSeconds !== null && t.downtime(durationOfSeconds(run.downtimeSeconds)),
      queued > 0 && queuedJobs,
    );
    patch(this.element, [
      h(
        'div.inner',
        h('div.top', h('b', news ? automaticText(news, status.now) : headingOf(status))),
        about !== '' && h('span.muted', about),
        warningBox(withoutLeftBehind(run?.warnings ?? [], outdated)),
        outdated.length > 0 &&
          h(
            'div',
            h('b', t.serversOutdated(outdated.length)),
            ...outdated.map((server) => h('div.muted', t.serverVersion(server.name, server.version))),
          ),
        h(
          'div.row',
          h('button', { type: 'button', class: 'b', onclick: this.#close }, t.close),
          externalLink(newsUrl(status, version), t.releaseNotes),
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

function headingOf({ run, version }: Status): string {
  const t = texts();
  return isRollback(run) ? t.rolledBackToVersion(version) : t.updatedTo(version);
}

function automaticText({ endedAt }: Run, now: string): string {
  const t = texts();
  return t.updatedAutomatically(t.product, dayText(endedAt, Date.parse(now)), timeOfDay(endedAt));
}
