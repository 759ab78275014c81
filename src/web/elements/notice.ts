import { joined } from '../../presentation/wording.ts';
import type { Run } from '../../wire/status.ts';
import { type NoticeView, noticeView, type Pill } from '../model/notice-view.ts';
import { type Handover, takeHandover } from '../model/storage.ts';
import { texts } from '../texts.ts';
import { openUpdateDialog } from './dialog.ts';
import { patch } from './dom.ts';
import { noticeSheet } from './styles.ts';
import { Toast } from './toast.ts';
import { UpdateElement } from './update-element.ts';
import { h, type VNode } from './vnode.ts';

/** Left by the previous page; shown by the first notice of an admin. */
let handover: Handover | null | undefined;

/** `<svc-update-notice>`: the running version, and for admins a button to update. */
export class SvcUpdateNotice extends UpdateElement {
  readonly #bar = document.createElement('span');
  readonly #toast = new Toast(() => this.#closeToast());
  /** The version of the first answer: taken as the page's version if the page does not specify one. */
  #firstVersion: string | null = null;
  #handover: Handover | null = null;
  #news: Run | null = null;

  constructor() {
    super(noticeSheet);
    this.#bar.setAttribute('part', 'bar');
    this.shadow.append(this.#bar, this.#toast.element);
  }

  openDialog(): void {
    openUpdateDialog(this.getAttribute('base'), this);
  }

  /** A closing dialog returns the focus to the first button of the notice. */
  override focus(): void {
    this.#bar.querySelector('button')?.focus();
  }

  protected draw(): void {
    const { store } = this;
    const { state } = store;
    this.#firstVersion ??= state.version;
    const isAdmin = this.hasAttribute('admin');
    const view = noticeView(state, {
      isAdmin,
      pageVersion: this.getAttribute('version') || this.#firstVersion,
      dismissed: store.dismissed.all(),
      isDialogOpen: store.isDialogOpen,
    });
    patch(this.#bar, [versionNode(view, () => this.openDialog()), view.pill && this.#pill(view.pill)]);
    this.#news = view.news;
    if (isAdmin) this.#showToast();
  }

  #pill(pill: Pill): VNode {
    const t = texts();
    const open = () => this.openDialog();
    const button = (label: string, press: () => void, look = 'pill', title: string | null = null) =>
      h('button', { key: pill.kind, type: 'button', class: look, title, onclick: press }, label);
    switch (pill.kind) {
      case 'updating': {
        const [word, counted] = pill.isRollback
          ? [t.rollingBack, t.rollingBackPercent]
          : [t.updating, t.updatingPercent];
        const { percent, place } = pill;
        const label = place
          ? t.updatingStep(place.at + 1, place.versions.length)
          : percent === null
            ? word
            : counted(percent);
        return pill.isButton ? button(label, open) : h('span', { key: pill.kind, class: 'pill' }, label);
      }
      case 'failed':
        return button(pill.isRollback ? t.rollbackFailed : t.updateFailed, open, 'pill bad');
      case 'reload':
        return button(t.reloadFor(pill.version), () => location.reload());
      case 'recalled': {
        const { version, to, why } = pill;
        return button(joined(t.recalled(version), to && t.updateTo(to)), open, 'pill bad', why);
      }
      case 'urgent':
        return button(pill.to ? t.securityUpdateTo(pill.to) : t.securityUpdate, open, 'pill', pill.why);
      case 'available':
        return button(t.updateTo(pill.to), open);
    }
  }

  #showToast(): void {
    const { status } = this.store.state;
    if (handover === undefined) handover = takeHandover(() => sessionStorage);
    if (handover && status?.run?.id === handover.run && status.run.outcome === 'updated') {
      // Jobs created during the update are only known now; jobs created later did not wait for it.
      const now = status.reason?.jobs?.length ?? 0;
      this.#handover = { ...handover, queued: Math.max(handover.queued, now) };
      handover = null;
      this.hostPage.arrived = status.version;
    }
    const news = this.#news;
    if (status && (this.#handover || news))
      this.#toast.show(status, { queued: this.#handover?.queued ?? 0, news }, this.wording);
    // Closed in another tab.
    else this.#toast.hide();
  }

  #closeToast(): void {
    this.#handover = null;
    this.hostPage.arrived = null;
    if (this.#news) this.store.dismiss(this.#news.id);
    this.hostPage.update();
    this.draw();
    this.focus();
  }
}

function versionNode({ version, isButton }: NoticeView, open: () => void): VNode | null {
  const { openDialog, product } = texts();
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
