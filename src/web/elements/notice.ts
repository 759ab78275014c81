import type { Run } from '../../wire/status.ts';
import { patchChildren } from '../dom/patch-children.ts';
import { h, type VNode } from '../dom/vnode.ts';
import { buildNoticeView, type NoticePill, type NoticeView } from '../model/notice-view.ts';
import { type ReloadHandover, takeReloadHandover } from '../model/storage.ts';
import { getTexts } from '../texts.ts';
import { openUpdateDialog } from './dialog.ts';
import { createStyleSheet, noticeStyleSheet } from './styles.ts';
import { SuccessToast } from './toast.ts';
import { UpdateElement } from './update-element.ts';

/**
 * Data stored before the reload. Undefined until the data is read; null if there is no data or a notice has already
 * used it.
 */
let handover: ReloadHandover | null | undefined;

/** `<svc-update-notice>`: shows the running version and, to admins, an update button. */
export class SvcUpdateNotice extends UpdateElement {
  readonly #bar = document.createElement('span');
  readonly #emptyStyleSheet = createStyleSheet(':host { display: none }');
  readonly #toast = new SuccessToast(() => this.#closeToast());
  /** Version in the first response. It is used if the page does not specify a version. */
  #firstVersion: string | null = null;
  #handover: ReloadHandover | null = null;
  #news: Run | null = null;

  constructor() {
    super(noticeStyleSheet);
    this.shadow.adoptedStyleSheets.push(this.#emptyStyleSheet);
    this.#bar.setAttribute('part', 'bar');
    this.shadow.append(this.#bar, this.#toast.element);
    new ResizeObserver(() => this.#hideWrappedVersion()).observe(this.#bar);
  }

  openDialog(): void {
    openUpdateDialog(this.getAttribute('base'), this);
  }

  /** Focuses the first button. A closing dialog calls this to return the focus to the notice. */
  override focus(): void {
    this.#bar.querySelector('button')?.focus();
  }

  protected draw(): void {
    const { store } = this;
    const { state } = store;
    if (state.loggedOut) {
      this.#firstVersion = this.#handover = null;
      handover = undefined;
    }
    this.#firstVersion ??= state.version;
    const isAdmin = this.hasAttribute('admin');
    const pageVersion = this.getAttribute('version') || this.#firstVersion;
    const { isDialogOpen } = store;
    const page = { isAdmin, pageVersion, dismissed: store.dismissedRuns.all(), isDialogOpen };
    const view = buildNoticeView(state, page, getTexts());
    patchChildren(this.#bar, [
      renderVersion(view, () => this.openDialog()),
      view.pill && this.#pill(view.pill, view.isButton),
    ]);
    this.#emptyStyleSheet.disabled = this.#bar.firstChild !== null;
    this.#hideWrappedVersion();
    this.#news = view.news;
    if (isAdmin) this.#showToast();
  }

  #hideWrappedVersion(): void {
    const [version, pill] = this.#bar.querySelectorAll<HTMLElement>(':scope > *');
    if (version) version.style.visibility = pill && pill.offsetTop > version.offsetTop ? 'hidden' : '';
  }

  #pill({ kind, label, isBad, title }: NoticePill, isButton: boolean): VNode {
    if (kind === 'updating' && !isButton) return h('span', { key: kind, class: 'pill' }, label);
    const onclick = () => (kind === 'reload' ? location.reload() : this.openDialog());
    const look = isBad ? 'pill bad' : 'pill';
    return h('button', { key: kind, type: 'button', class: look, title, onclick }, label);
  }

  #showToast(): void {
    const { status } = this.store.state;
    if (status && handover === undefined) handover = takeReloadHandover(() => sessionStorage);
    if (handover && status?.run?.id === handover.run && status.run.outcome === 'updated') {
      // Raise the number of queued jobs only right after the reload: jobs that were created later did not wait for the
      // update.
      const now = status.reason?.jobs?.length ?? 0;
      this.#handover = { ...handover, queued: Math.max(handover.queued, now) };
      handover = null;
      this.embeddingPage.versionAfterReload = status.version;
    }
    const news = this.#news;
    if (status && (this.#handover || news))
      this.#toast.show(status, { queued: this.#handover?.queued ?? 0, news }, this.texts);
    // There is no message, or the message was closed in another tab.
    else this.#toast.hide();
  }

  #closeToast(): void {
    this.#handover = null;
    this.embeddingPage.versionAfterReload = null;
    if (this.#news) this.store.dismiss(this.#news.id);
    this.embeddingPage.reportState();
    this.draw();
    this.focus();
  }
}

function renderVersion({ version, isButton }: NoticeView, open: () => void): VNode | null {
  const { openDialog, product } = getTexts();
  if (version === null) return null;
  if (!isButton) return h('span', { key: 'text', class: 'version' }, version);
  const label = openDialog(product, version);
  return h(
    'button',
    {
      key: 'button',
      type: 'button',
      class: 'version',
      'aria-label': label,
      'aria-haspopup': 'dialog',
      onclick: open,
    },
    version,
  );
}
