import {
  createWarningBox,
  findReleasePageUrl,
  listOutdatedBuildServers,
} from '../../presentation/present-result.ts';
import { createPageLink } from '../../presentation/presentation-parts.ts';
import { joinFacts, type TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import type { Run, Status } from '../../wire/status.ts';
import { removeBuildServerWarnings } from '../../wire/texts/build-server-warning.ts';
import { patchChildren } from '../dom/patch-children.ts';
import { h } from '../dom/vnode.ts';
import { isRollbackRun } from '../model/selectors.ts';
import { renderMessageBox, renderPageLink } from '../views/components.ts';

/** Message about a successful update. As a popover, it appears above the page wherever the notice is placed. */
export class SuccessToast {
  readonly element = document.createElement('div');
  readonly #close: () => void;

  constructor(close: () => void) {
    this.#close = close;
    Object.assign(this.element, { className: 'toast', popover: 'manual', role: 'status', hidden: true });
  }

  /**
   * Shows the message.
   * @param news - the run if it was started automatically; otherwise null
   */
  show(status: Status, { queued, news }: { queued: number; news: Run | null }, t: TextsAndFormats): void {
    const link = createPageLink(findReleasePageUrl(status, status.version), t.releaseNotes);
    const { run, version, reason } = status;
    const outdated = listOutdatedBuildServers(status);
    const queuedJobs =
      (reason?.jobs ?? []).length > 0 ? t.queuedJobsRunning(queued) : t.queuedJobsFinished(queued);
    const warnings = createWarningBox(removeBuildServerWarnings(run?.warnings ?? [], outdated), t);
    const about = joinFacts(
      news && version,
      run && run.downtimeSeconds !== null && t.downtime(t.seconds(run.downtimeSeconds)),
      queued > 0 && queuedJobs,
    );
    patchChildren(this.element, [
      h(
        'div.inner',
        h('div.top', h('b', headingOf(status, news, t))),
        about !== '' && h('span.muted', about),
        warnings && renderMessageBox(warnings),
        outdated.length > 0 &&
          h(
            'div',
            h('b', t.serversOutdated(outdated.length)),
            ...outdated.map((server) => h('div.muted', t.serverVersion(server.name, server.version))),
          ),
        h(
          'div.row',
          h('button', { type: 'button', class: 'b', onclick: this.#close }, t.close),
          link && renderPageLink(link),
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
    patchChildren(this.element, []);
  }
}

function headingOf({ run, version }: Status, news: Run | null, t: TextsAndFormats): string {
  if (news) return t.updatedAutomatically(t.product, t.day(news.endedAt), t.clock(news.endedAt));
  return isRollbackRun(run) ? t.rolledBackToVersion(version) : t.updatedTo(version);
}
